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
    const there = await gatewayStage();
    const { tools } = await (await join(there, line)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(['db__query', 'web__query']);
  });

  it("gets the server's result", async () => {
    const there = await gatewayStage();
    const client = await join(there, line);
    const answer = client.call('db__query', { sql: 'select 1' });
    const call = await there.nextCall('db');
    expect(call).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    call.answer(pong);
    expect(await answer).toMatchObject(pong);
  });

  it("gets the outcome with a failed call's result", async () => {
    const there = await gatewayStage();
    const client = await join(there, line);
    const answer = client.call('db__query');
    (await there.nextCall('db')).fail(callFailure('crashed', true));
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
    const there = await gatewayStage();
    const client = await join(there, line);
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
    const there = await gatewayStage();
    const client = await join(there, line);
    const stop = new AbortController();
    const answer = client.call('db__query', {}, { signal: stop.signal });
    const refused = expect(answer).rejects.toThrow();
    const call = await there.nextCall('db');
    const settled = settling(call);
    stop.abort();
    await refused;
    await settled;
    expect(call.isSettled).toBe(true);
  });

  it("receives a call's progress", async () => {
    const there = await gatewayStage();
    const client = await join(there, line);
    const heard: unknown[] = [];
    const answer = client.call('db__query', {}, { onprogress: (progress) => heard.push(progress) });
    const call = await there.nextCall('db');
    call.progress({ progress: 1, total: 2, message: 'half' });
    call.answer(pong);
    await answer;
    expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });
});

describe('two clients of the gateway', () => {
  it('each get their own responses to 200 interleaved calls with the same ids', async () => {
    const there = await gatewayStage();
    const echo = (): void => {
      there.sessions.onCall = (_script, call) => {
        queueMicrotask(() => {
          call.answer({ content: [{ type: 'text', text: String(call.args['word']) }] });
        });
      };
    };
    echo();
    const [one, other] = await Promise.all([openSession(there.url), openSession(there.url)]);
    const ask = async (session: string, id: number, word: string): Promise<string> => {
      const params = { name: 'db__query', arguments: { word } };
      const message = { jsonrpc: '2.0', id, method: 'tools/call', params };
      return (await post(there.url, message, { 'mcp-session-id': session })).text();
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
    const there = await gatewayStage();
    const [one, other] = await Promise.all([openSession(there.url), openSession(there.url)]);
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(there.url, message, { 'mcp-session-id': one });
    const call = await there.nextCall('db');
    const cancel = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 7 },
    };
    const told = await post(there.url, cancel, { 'mcp-session-id': other });
    expect(told.status).toBe(202);
    expect(call.isSettled).toBe(false);
    call.answer(pong);
    expect(await (await answer).text()).toContain('pong');
  });
});

describe("the gateway's lists", () => {
  it('notify clients of changes at most once per second', async () => {
    const there = await gatewayStage({ settings: servers({ db: 'db' }) });
    const heard = await listen(there.url, await openSession(there.url));
    const change = async (name: string): Promise<void> => {
      there.sessions.of('db').list([tool(name)]);
      await there.settle();
    };
    const changed = { value: { method: 'notifications/tools/list_changed' } };
    await change('one');
    expect(await heard.next()).toMatchObject(changed);
    for (const name of ['two', 'three', 'four']) await change(name);
    const second = heard.next();
    const isEarly = await Promise.race([second, there.settle().then(() => 'nothing yet')]);
    expect(isEarly).toBe('nothing yet');
    await there.advance(1_000);
    expect(await second).toMatchObject(changed);
    const third = heard.next();
    await there.advance(5_000);
    await change('five');
    expect(await third).toMatchObject(changed);
  });

  it('notify clients of what a refresh finds', async () => {
    const there = await gatewayStage({ settings: servers({ db: 'db' }) });
    there.obedient = new Set();
    const heard = await listen(there.url, await openSession(there.url));
    const refreshed = there.troupe.refresh('db');
    await there.settle();
    there.sessions.of('db').list([tool('other')]);
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/tools/list_changed' },
    });
    expect(await refreshed).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it('notify a client of earlier changes when it opens a stream', async () => {
    const there = await gatewayStage({ settings: servers({ db: 'db' }) });
    const session = await openSession(there.url);
    there.sessions.of('db').list([tool('other')]);
    await there.settle();
    const heard = await listen(there.url, session);
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/tools/list_changed' },
    });
  });

  it('initially wait briefly for starting servers', async () => {
    const there = await gatewayStage({ obedient: ['db'] });
    const waiting = there.gateway.firstLists('tools');
    const opening = openSession(there.url);
    const isEarly = await Promise.race([waiting.then(() => 'early'), there.advance(4_999)]);
    expect(isEarly).not.toBe('early');
    await there.advance(1);
    await waiting;
    const session = await opening;
    const ask = async (): Promise<string> => {
      const message = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
      return (await post(there.url, message, { 'mcp-session-id': session })).text();
    };
    expect(await ask()).toContain('db__query');
    expect(await ask()).not.toContain('web__query');
    there.sessions.of('web').open();
    there.sessions.of('web').list([tool('query')]);
    await there.settle();
    expect(await ask()).toContain('web__query');
  });

  it('resolve as soon as the starting servers have listed their tools', async () => {
    const there = await gatewayStage({ obedient: ['db'] });
    const waiting = there.gateway.firstLists('tools');
    there.sessions.of('web').open();
    there.sessions.of('web').list([tool('query')]);
    await waiting;
    expect(there.troupe.tools()).toHaveLength(2);
  });

  it('are empty when no server is allowed, and calls fail with the reason', async () => {
    const there = await gatewayStage({ allow: [] });
    const client = await connect(there);
    expect((await client.listTools()).tools).toEqual([]);
    const { isError, _meta } = await client.callTool({ name: 'db__query', arguments: {} });
    expect(isError).toBe(true);
    expect(_meta?.['mcp-troupe/error']).toMatchObject({ code: 'NOT_ALLOWED', server: 'db' });
  });

  it("omit a folder's server until it is approved", async () => {
    const there = await gatewayStage({
      settings: servers({}),
      projectSettings: servers({ db: 'db' }),
    });
    const client = await connect(there);
    const { _meta } = await client.callTool({ name: 'db__query', arguments: {} });
    expect(_meta?.['mcp-troupe/error']).toMatchObject({ code: 'PENDING_APPROVAL' });
    there.troupe.send({ type: 'approval.grant', server: 'db' });
    await there.settle();
    expect((await client.listTools({}, { cacheMode: 'refresh' })).tools).toHaveLength(1);
  });
});

const inputSchema = {
  type: 'object' as const,
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};

async function beginWithHeader() {
  const there = await gatewayStage();
  there.tools.set('db', [tool('query', { inputSchema }), tool('run.now', { inputSchema })]);
  there.sessions.of('db').notify();
  await there.settle();
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
      there.url,
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...headers,
      },
    );
  };
  return { there, call };
}

describe("a call whose server wants an argument as a header of the gateway's request", () => {
  it('is refused before it reaches the server if the header is missing or wrong', async () => {
    const { there, call } = await beginWithHeader();
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
    expect(there.sessions.of('db').calls).toEqual([]);
  });

  it('reaches the server if the header agrees, or neither has the argument', async () => {
    const { there, call } = await beginWithHeader();
    for (const [args, headers] of [
      [{ region: 'east' }, { 'mcp-param-region': 'east' }],
      [{ region: 'east' }, { 'mcp-param-region': '=?base64?ZWFzdA==?=' }],
      [{}, {}],
    ] as const) {
      const response = call(args, headers);
      (await there.nextCall('db')).answer(pong);
      expect(await (await response).json()).toMatchObject({ result: pong });
    }
  });
});
