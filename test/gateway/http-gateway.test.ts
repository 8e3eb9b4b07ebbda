import { describe, expect, it } from 'vitest';

import type { ScriptedCall } from '../../src/testing/session-script.ts';
import { callFailure, pong, servers, tool } from '../runtime/stage.ts';
import { connect, gatewayStage, join, lines, listen, openSession, post } from './gateway-stage.ts';

/** Settles when this call is cancelled at its server. */
function settling(call: ScriptedCall): Promise<void> {
  return new Promise((resolve) => {
    const fail = call.fail.bind(call);
    call.fail = (failure) => {
      fail(failure);
      resolve();
    };
  });
}

describe.each(lines)('a client over HTTP (%s)', (line) => {
  it("sees all servers' tools under their exposed names", async () => {
    const stage = await gatewayStage();
    const { tools } = await (await join(stage, line)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['db__query', 'web__query']);
  });

  it("gets the server's result", async () => {
    const stage = await gatewayStage();
    const client = await join(stage, line);
    const answer = client.call('db__query', { sql: 'select 1' });
    const call = await stage.nextCall('db');
    expect(call).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    call.answer(pong);
    expect(await answer).toMatchObject(pong);
  });

  it("gets the outcome with a failed call's result", async () => {
    const stage = await gatewayStage();
    const client = await join(stage, line);
    const answer = client.call('db__query');
    (await stage.nextCall('db')).fail(callFailure('crashed', true));
    const result = await answer;
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([
      { type: 'text', text: expect.stringMatching(/^MCP error: query on db: .*\.$/) },
    ]);
    expect(result._meta?.['mcp-troupe/error']).toMatchObject({
      code: 'CRASHED',
      server: 'db',
      tool: 'query',
      retryable: false,
      outcome: 'unknown',
    });
  });

  it('gets a JSON-RPC error for an unknown tool', async () => {
    const stage = await gatewayStage();
    const client = await join(stage, line);
    for (const [name, hint] of [
      ['db__quer', 'query'],
      ['cb__query', 'db__query'],
      ['query', 'tools/list'],
    ] as const) {
      await expect(client.call(name)).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringContaining(hint),
        data: { code: 'TOOL_UNKNOWN', outcome: 'not_executed' },
      });
    }
  });

  it("cancels the server's call when it cancels its request", async () => {
    const stage = await gatewayStage();
    const client = await join(stage, line);
    const stop = new AbortController();
    const answer = client.call('db__query', {}, { signal: stop.signal });
    const refused = expect(answer).rejects.toThrow();
    const call = await stage.nextCall('db');
    const settled = settling(call);
    stop.abort();
    await refused;
    await settled;
    expect(call.isSettled).toBe(true);
  });

  it("receives a call's progress", async () => {
    const stage = await gatewayStage();
    const client = await join(stage, line);
    const heard: unknown[] = [];
    const answer = client.call('db__query', {}, { onprogress: (progress) => heard.push(progress) });
    const call = await stage.nextCall('db');
    call.progress({ progress: 1, total: 2, message: 'half' });
    call.answer(pong);
    await answer;
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });
});

describe('two clients of the gateway', () => {
  it('each get their own responses to 200 interleaved calls with the same ids', async () => {
    const stage = await gatewayStage();
    const echo = (): void => {
      stage.sessions.onCall = (_script, call) => {
        queueMicrotask(() => {
          call.answer({ content: [{ type: 'text', text: String(call.args['word']) }] });
        });
      };
    };
    echo();
    const [one, other] = await Promise.all([openSession(stage.url), openSession(stage.url)]);
    const ask = async (session: string, id: number, word: string): Promise<string> => {
      const params = { name: 'db__query', arguments: { word } };
      const message = { jsonrpc: '2.0', id, method: 'tools/call', params };
      return (await post(stage.url, message, { 'mcp-session-id': session })).text();
    };
    for (let round = 0; round < 10; round += 1) {
      const ids = [...Array(10).keys()].map((each) => round * 10 + each);
      const answers = await Promise.all(
        ids.flatMap((id) => [ask(one, id, `one ${id}.`), ask(other, id, `other ${id}.`)]),
      );
      ids.forEach((id, index) => {
        expect(answers[index * 2]).toContain(`one ${id}.`);
        expect(answers[index * 2 + 1]).toContain(`other ${id}.`);
      });
    }
  });

  it("cannot cancel each other's calls", async () => {
    const stage = await gatewayStage();
    const [one, other] = await Promise.all([openSession(stage.url), openSession(stage.url)]);
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(stage.url, message, { 'mcp-session-id': one });
    const call = await stage.nextCall('db');
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 7 },
    };
    const told = await post(stage.url, cancel, { 'mcp-session-id': other });
    expect(told.status).toBe(202);
    expect(call.isSettled).toBe(false);
    call.answer(pong);
    expect(await (await answer).text()).toContain('pong');
  });
});

describe("the gateway's lists", () => {
  it('notify clients of changes at most once per second', async () => {
    const stage = await gatewayStage({ settings: servers({ db: 'db' }) });
    const heard = await listen(stage.url, await openSession(stage.url));
    const change = async (name: string): Promise<void> => {
      stage.sessions.of('db').list([tool(name)]);
      await stage.settle();
    };
    const changed = { value: { method: 'notifications/tools/list_changed' } };
    await change('one');
    expect(await heard.next()).toMatchObject(changed);
    for (const name of ['two', 'three', 'four']) await change(name);
    const second = heard.next();
    const isEarly = await Promise.race([second, stage.settle().then(() => 'nothing yet')]);
    expect(isEarly).toBe('nothing yet');
    await stage.advance(1_000);
    expect(await second).toMatchObject(changed);
    const third = heard.next();
    await stage.advance(5_000);
    await change('five');
    expect(await third).toMatchObject(changed);
  });

  it('notify clients of what a refresh finds', async () => {
    const stage = await gatewayStage({ settings: servers({ db: 'db' }) });
    stage.obedient = new Set();
    const heard = await listen(stage.url, await openSession(stage.url));
    const refreshed = stage.troupe.refresh('db');
    await stage.settle();
    stage.sessions.of('db').list([tool('other')]);
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/tools/list_changed' },
    });
    expect(await refreshed).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it('notify a client of earlier changes when it opens a stream', async () => {
    const stage = await gatewayStage({ settings: servers({ db: 'db' }) });
    const session = await openSession(stage.url);
    stage.sessions.of('db').list([tool('other')]);
    await stage.settle();
    const heard = await listen(stage.url, session);
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/tools/list_changed' },
    });
  });

  it('initially wait briefly for starting servers', async () => {
    const stage = await gatewayStage({ obedient: ['db'] });
    const waiting = stage.gateway.firstLists('tools');
    const opening = openSession(stage.url);
    const isEarly = await Promise.race([waiting.then(() => 'early'), stage.advance(4_999)]);
    expect(isEarly).not.toBe('early');
    await stage.advance(1);
    await waiting;
    const session = await opening;
    const ask = async (): Promise<string> => {
      const message = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
      return (await post(stage.url, message, { 'mcp-session-id': session })).text();
    };
    expect(await ask()).toContain('db__query');
    expect(await ask()).not.toContain('web__query');
    stage.sessions.of('web').open();
    stage.sessions.of('web').list([tool('query')]);
    await stage.settle();
    expect(await ask()).toContain('web__query');
  });

  it('resolve as soon as the starting servers have listed their tools', async () => {
    const stage = await gatewayStage({ obedient: ['db'] });
    const waiting = stage.gateway.firstLists('tools');
    stage.sessions.of('web').open();
    stage.sessions.of('web').list([tool('query')]);
    await waiting;
    expect(stage.troupe.tools()).toHaveLength(2);
  });

  it('are empty when no server is allowed, and calls fail with the reason', async () => {
    const stage = await gatewayStage({ allow: [] });
    const client = await connect(stage);
    expect((await client.listTools()).tools).toEqual([]);
    const { isError, _meta } = await client.callTool({ name: 'db__query', arguments: {} });
    expect(isError).toBe(true);
    expect(_meta?.['mcp-troupe/error']).toMatchObject({ code: 'NOT_ALLOWED', server: 'db' });
  });

  it("omit a folder's server until it is approved", async () => {
    const stage = await gatewayStage({
      settings: servers({}),
      projectSettings: servers({ db: 'db' }),
    });
    const client = await connect(stage);
    const { _meta } = await client.callTool({ name: 'db__query', arguments: {} });
    expect(_meta?.['mcp-troupe/error']).toMatchObject({ code: 'PENDING_APPROVAL' });
    stage.troupe.send({ type: 'approval.grant', server: 'db' });
    await stage.settle();
    expect((await client.listTools({}, { cacheMode: 'refresh' })).tools).toHaveLength(1);
  });
});

const inputSchema = {
  type: 'object' as const,
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};

async function beginWithHeader() {
  const stage = await gatewayStage();
  stage.tools.set('db', [tool('query', { inputSchema }), tool('run.now', { inputSchema })]);
  stage.sessions.of('db').notify();
  await stage.settle();
  const call = (
    args: object,
    headers: Readonly<Record<string, string>>,
    name = 'db__query',
  ): Promise<Response> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const params = { name, arguments: args, _meta };
    return post(
      stage.url,
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...headers,
      },
    );
  };
  return { stage, call };
}

describe("a call whose server wants an argument as a header of the gateway's request", () => {
  it('is refused before it reaches the server if the header is missing or wrong', async () => {
    const { stage, call } = await beginWithHeader();
    for (const headers of [
      {},
      { 'mcp-param-region': 'west' },
      { 'mcp-param-region': '=?base64?ZWFzdA?=' },
      { 'mcp-param-region': '=?base64?ZW!zdA==?=' },
    ]) {
      // Clients see `run.now` under a longer name; its own is accepted, too.
      for (const name of ['db__query', 'db__run.now']) {
        const response = await call({ region: 'east' }, headers, name);
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ id: 7, error: { code: -32_020 } });
      }
    }
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('reaches the server if the header agrees, or neither has the argument', async () => {
    const { stage, call } = await beginWithHeader();
    for (const [args, headers] of [
      [{ region: 'east' }, { 'mcp-param-region': 'east' }],
      [{ region: 'east' }, { 'mcp-param-region': '=?base64?ZWFzdA==?=' }],
      [{}, {}],
    ] as const) {
      const response = call(args, headers);
      (await stage.nextCall('db')).answer(pong);
      expect(await (await response).json()).toMatchObject({ result: pong });
    }
  });
});
