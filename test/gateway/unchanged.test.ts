/** What passes the gateway without a change, seen by clients that are not of the SDK. */

import { describe, expect, it } from 'vitest';

import { type GatewayStage, gatewayStage, openSession, post } from './gateway-stage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Sends requests in one era, without an SDK that checks the answers. */
async function asker(
  { url }: Pick<GatewayStage, 'url'>,
  era: 'legacy' | 'modern',
  own: Fields = {},
) {
  const session = era === 'legacy' ? await openSession(url, own) : undefined;
  return async (method: string, params: Fields = {}): Promise<Fields> => {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': own,
    };
    const modern = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
    };
    const response = await post(
      url,
      {
        jsonrpc: '2.0',
        id: 7,
        method,
        params: session === undefined ? { ...params, _meta: envelope } : params,
      },
      session === undefined ? modern : { 'mcp-session-id': session },
    );
    const text = await response.text();
    const data = text.startsWith('{') ? text : (/^data: (\{.*)$/mu.exec(text)?.[1] ?? '{}');
    return JSON.parse(data) as Fields;
  };
}

describe.each(['legacy', 'modern'] as const)('for a client of the %s era', (era) => {
  it('content of an unknown type and with unknown keys is the result of the call', async () => {
    const there = await gatewayStage();
    const ask = await asker(there, era);
    const answer = ask('tools/call', { name: 'db__query', arguments: {} });
    const content = [
      { type: 'hologram', points: [1, 2], _meta: { a: 1 } },
      { type: 'text', text: 'beside it', tone: 'dry' },
    ];
    (await there.nextCall('db')).answer({ content, extent: 3 });
    expect(await answer).toMatchObject({ id: 7, result: { content, extent: 3 } });
  });
});
