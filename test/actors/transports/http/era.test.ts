/** How the era of a remote server is found out when its answer to the probe says nothing. */

import { afterEach, describe, expect, it } from 'vitest';
import type { ServerSpec } from '../../../../src/domain/server-spec.ts';
import { createClient } from '../../../../src/protocol/mcp-client.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import {
  rpcError,
  type ScriptedAnswer,
  type ScriptedHttp,
  startScriptedHttp,
} from '../../../fixtures/remote/scripted-http.ts';
import { ScriptedTransport } from '../../../fixtures/scripted-transport.ts';
import { turn } from '../../../support/turn.ts';
import { type Bench, createBench } from '../../session/bench.ts';

let bench: Bench | undefined;
let server: ScriptedHttp | undefined;

afterEach(async () => {
  bench?.stop();
  await server?.close();
});

/** Starts a session with a server that answers the probe like this. */
async function start(answer: ScriptedAnswer, toInitialize?: ScriptedAnswer): Promise<Bench> {
  server = await startScriptedHttp(({ method }) => {
    if (method === 'server/discover') return answer;
    return method === 'initialize' ? toInitialize : undefined;
  });
  const spec: ServerSpec = { type: 'http', url: server.url, headers: {}, era: 'auto' };
  bench = createBench(spec)();
  bench.send('session.open');
  return bench;
}

const typed = (type: string, text: string): ScriptedAnswer => ({
  status: 200,
  headers: { 'content-type': type },
  text,
});
const denied = (status: number, challenge?: string): ScriptedAnswer => ({
  status,
  headers: challenge === undefined ? {} : { 'www-authenticate': challenge },
});

describe("a remote server's era", () => {
  it.each<[string, ScriptedAnswer]>([
    ['an empty 200', { status: 200 }],
    ['a 202', { status: 202 }],
    ['a 204', { status: 204 }],
    ['a text', typed('text/plain', 'ok')],
    ['a page', typed('text/html', '<h1>Hello</h1>')],
    ['JSON that is no answer', typed('application/json', '{}')],
    ['broken JSON', typed('application/json', '{')],
    [
      'an error without an id',
      typed('application/json', '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":""}}'),
    ],
    ['an empty stream', typed('text/event-stream', '')],
    ['status 500', { status: 500, text: 'oops' }],
    ['status 502', { status: 502 }],
    ['status 401 without a challenge', denied(401)],
    ['status 403 without a challenge', denied(403)],
    ['status 401 with a challenge of another kind', denied(401, 'Basic realm="x"')],
    ['a cut connection', 'reset'],
  ])('is legacy after %s, with one initialize in the same attempt', async (_, answer) => {
    const session = await start(answer);
    expect(await session.next('session.opened')).toMatchObject({ era: 'legacy' });
    expect(server?.seen.slice(0, 2)).toEqual(['server/discover', 'initialize']);
    expect(session.verdicts.get('g1')).toEqual({ kind: 'legacy' });
  });

  it.each<[string, ScriptedAnswer, string]>([
    ['a challenge', denied(401, 'Bearer'), 'authRequired'],
    ['a request to wait', { status: 429, headers: { 'retry-after': '7' } }, 'rateLimited'],
  ])('stays open after %s, without initialize', async (_, answer, kind) => {
    const session = await start(answer);
    expect((await session.next('session.closed')).failure).toMatchObject({ kind });
    expect(server?.seen).toEqual(['server/discover']);
  });

  it('is not remembered when initialize fails too', async () => {
    const page = typed('text/html', '<h1>Hello</h1>');
    const session = await start(page, page);
    expect((await session.next('session.closed')).failure).toMatchObject({ kind: 'protocol' });
    expect(session.verdicts.get('g1')).toBeUndefined();
  });

  it('is modern if a slow server refuses initialize and answers a second probe', async () => {
    const transport = new ScriptedTransport();
    transport.answer = () => undefined;
    const clock = new VirtualClock();
    const within = { clock, ms: 2_000 };
    const client = createClient({ mode: 'auto', hasChannel: false, within }, () => {});
    const connected = client.connect(transport);
    await turn();
    clock.advanceBy(2_000);
    await turn();
    const [, greeting] = transport.sent;
    const error = { code: -32_601, message: 'Method not found' };
    transport.receive({ jsonrpc: '2.0', id: greeting?.id, error });
    await turn();
    const methods = transport.sent.map(({ method }) => method);
    expect(methods).toEqual(['server/discover', 'initialize', 'server/discover']);
    const result = {
      supportedVersions: ['2026-07-28'],
      capabilities: {},
      resultType: 'complete',
    };
    transport.receive({ jsonrpc: '2.0', id: transport.sent[2]?.id, result });
    await connected;
    expect(client.getProtocolEra()).toBe('modern');
  });

  it('is modern if initialize is refused with a status after an unreadable answer', async () => {
    let probes = 0;
    const self = { supportedVersions: ['2026-07-28'], capabilities: {}, resultType: 'complete' };
    server = await startScriptedHttp((message) => {
      if (message.method === 'initialize') return rpcError(message, -32_601, 'no', 400);
      if (message.method !== 'server/discover') return undefined;
      probes += 1;
      if (probes === 1) return { status: 503 };
      return typed(
        'application/json',
        JSON.stringify({ jsonrpc: '2.0', id: message.id, result: self }),
      );
    });
    bench = createBench({ type: 'http', url: server.url, headers: {}, era: 'auto' })();
    bench.send('session.open');
    expect(await bench.next('session.opened')).toMatchObject({ era: 'modern' });
  });

  it('is legacy after two seconds of silence', async () => {
    const session = await start('hang');
    expect(await session.next('session.opened')).toMatchObject({ era: 'legacy' });
  });
});
