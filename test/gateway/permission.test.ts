import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { permissionQuestion } from '../../src/gateway/permission-form.ts';

import { pong, servers } from '../runtime/stage.ts';
import {
  connect,
  type GatewayStage,
  gatewayStage,
  listen,
  openSession,
  post,
} from './gateway-stage.ts';

const asking = servers(
  { db: 'db', web: 'web' },
  { permissions: { ask: [{ server: 'db' }], deny: ['mcp__web__*'] } },
);

interface Form {
  readonly message: string;
  readonly requestedSchema?: unknown;
}

/** A client whose person answers forms as the test says. */
function withPerson(
  stage: GatewayStage,
  mode: 'auto' | 'legacy',
  asked: Form[],
  answer: () => unknown,
): Promise<Client> {
  return connect(
    stage,
    mode,
    (client) => {
      client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params as Form);
        return (await answer()) as { action: 'accept' };
      });
    },
    { elicitation: { form: {} } },
  );
}

const decided = (decision: string) => ({ action: 'accept', content: { decision } });
const query = { name: 'db__query', arguments: { sql: 'select 1' } };
const denied = {
  isError: true,
  _meta: { 'mcp-troupe/error': { code: 'PERMISSION_DENIED', outcome: 'not_executed' } },
};

describe.each(['auto', 'legacy'] as const)('a call that needs permission (%s)', (mode) => {
  it('asks only the user of the client that made it', async () => {
    const stage = await gatewayStage({ settings: asking });
    const asked: Form[] = [];
    const overheard: Form[] = [];
    const one = await withPerson(stage, mode, asked, () => decided('allow'));
    await withPerson(stage, mode, overheard, () => decided('deny'));
    const answer = one.callTool(query);
    (await stage.nextCall('db')).answer(pong);
    expect(await answer).toMatchObject(pong);
    expect(asked).toMatchObject([
      {
        mode: 'form',
        message: 'Allow db to run query?\nArguments: {"sql":"select 1"}',
        requestedSchema: {
          type: 'object',
          properties: {
            decision: {
              type: 'string',
              title: 'Decision',
              oneOf: [
                { const: 'allow', title: 'Allow once' },
                { const: 'allowTool', title: 'Always allow query' },
                { const: 'allowServer', title: 'Always allow every tool of db' },
                { const: 'deny', title: 'Deny' },
              ],
            },
          },
          required: ['decision'],
        },
      },
    ]);
    expect(overheard).toEqual([]);
  });

  it.each([
    ['allow', 2],
    ['allowTool', 1],
    ['allowServer', 1],
  ])('applies the decision %s and prompts %i times in two calls', async (decision, times) => {
    const stage = await gatewayStage({ settings: asking });
    const asked: Form[] = [];
    const client = await withPerson(stage, mode, asked, () => decided(decision));
    for (const _ of [1, 2]) {
      const answer = client.callTool(query);
      (await stage.nextCall('db')).answer(pong);
      await answer;
    }
    expect(asked).toHaveLength(times);
  });

  it.each([
    ['denies', decided('deny')],
    ['declines', { action: 'decline' }],
    ['closes the form', { action: 'cancel' }],
    ['gives another answer', decided('always')],
  ])('is never sent when the user %s', async (_what, said) => {
    const stage = await gatewayStage({ settings: asking });
    const client = await withPerson(stage, mode, [], () => said);
    const result = await client.callTool(query);
    expect(result).toMatchObject(denied);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('is denied immediately for a client without forms, with the rule, its file and a remedy', async () => {
    const stage = await gatewayStage({ settings: asking });
    const client = await connect(stage, mode);
    const result = await client.callTool(query);
    expect(result).toMatchObject(denied);
    const [{ text } = { text: '' }] = result.content as { text: string }[];
    expect(text).toContain(
      'the rule {"server":"db"} in mcp.permissions.ask of /project/troupe.json:',
    );
    expect(text).toContain('"allow": [{"server":"db","tool":"query"}]');
    const other = await client.callTool({ name: 'web__query', arguments: {} });
    expect(other).toMatchObject(denied);
    expect(JSON.stringify(other.content)).toContain(
      'in mcp.permissions.deny of /project/troupe.json:',
    );
  });

  it('is denied when the user takes too long', async () => {
    const stage = await gatewayStage({ settings: asking });
    let show: () => void = () => undefined;
    const isShown = new Promise<void>((resolve) => {
      show = resolve;
    });
    let answer: (said: unknown) => void = () => undefined;
    const client = await withPerson(stage, mode, [], () => {
      show();
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    const result = client.callTool(query);
    await isShown;
    await stage.advance(120_001);
    answer(decided('allow'));
    expect(await result).toMatchObject(denied);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });
});

describe('a call whose client disconnects during a permission prompt', () => {
  it('is never sent', async () => {
    const stage = await gatewayStage({ settings: asking });
    const session = await openSession(stage.url, { elicitation: { form: {} } });
    const headers = { 'mcp-session-id': session };
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: query };
    const answer = await post(stage.url, message, headers);
    const reader = answer.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain('elicitation/create');
    await listen(stage.url, session);
    await fetch(stage.url, {
      method: 'DELETE',
      headers: { ...headers, authorization: `Bearer ${'a'.repeat(43)}` },
    });
    while (!(await reader?.read())?.done);
    await stage.settle();
    expect(stage.gateway.callsInFlight).toBe(0);
    expect(stage.gateway.held.size).toBe(0);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });
});

describe('the form for a call with long arguments', () => {
  it('shows both ends, states how much is missing and advises against allowing it', () => {
    const sql = `${'x'.repeat(10_000)}; drop table users`;
    const request = {
      server: 'db',
      tool: 'query',
      name: 'query',
      arguments: { sql },
      isTrusted: false,
    };
    const { message } = permissionQuestion(request, '2026-01-01T00:00:00.000Z');
    expect(message).toMatch(/\[…6,\d{3} more characters…\]/u);
    expect(message).toContain('; drop table users"}');
    expect(message).toContain('Not all arguments are shown; deny the call');
  });
});
