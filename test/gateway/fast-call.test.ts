import { describe, expect, it } from 'vitest';

import type { ScriptedCall } from '../../src/testing/session-script.ts';
import { callFailure, pong } from '../runtime/stage.ts';
import { connect, type GatewayStage, gatewayStage, openSession, post } from './gateway-stage.ts';

type Extra = Readonly<Record<string, unknown>>;

/** A parameter that means nothing, for which the SDK has to look at the request itself. */
const aside = { 'example.org/aside': true };

/** A session, and what it posts. */
async function client(stage: GatewayStage) {
  const session = await openSession(stage.url);
  const send = (message: Extra): Promise<Response> =>
    post(stage.url, { jsonrpc: '2.0', ...message }, { 'mcp-session-id': session });
  return {
    session,
    send,
    call: (id: number, extra: Extra = {}) =>
      send({ id, method: 'tools/call', params: { name: 'db__query', ...extra } }),
  };
}

/** The messages of an answer, in whichever form it came. */
async function messagesOf(response: Response): Promise<readonly unknown[]> {
  const text = await response.text();
  if (response.headers.get('content-type') === 'application/json') return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown);
}

function aborted(call: ScriptedCall): Promise<void> {
  return new Promise((resolve) => {
    const fail = call.fail.bind(call);
    call.fail = (failure) => {
      fail(failure);
      resolve();
    };
  });
}

describe.each([
  ['directly', {}],
  ['by the SDK', aside],
])("a session's call handled %s", (_way, extra: Extra) => {
  it("returns its server's result", async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const answer = call(7, { ...extra, arguments: { sql: 'select 1' } });
    const atServer = await stage.nextCall('db');
    expect(atServer).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    atServer.answer(pong);
    expect(await messagesOf(await answer)).toEqual([{ jsonrpc: '2.0', id: 7, result: pong }]);
  });

  it('returns an error for an unknown name and reaches no server', async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const [message] = await messagesOf(await call(7, { ...extra, name: 'db__quer' }));
    expect(message).toMatchObject({ id: 7, error: { code: -32_602 } });
  });

  it('runs once and reports the outcome when it fails', async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const answer = call(7, extra);
    (await stage.nextCall('db')).fail(callFailure('crashed', true));
    expect(await messagesOf(await answer)).toMatchObject([
      { id: 7, result: { isError: true, _meta: { 'mcp-troupe/error': { code: 'CRASHED' } } } },
    ]);
    expect(stage.gateway.callsInFlight).toBe(0);
  });

  it('gets no response when its client cancels it', async () => {
    const stage = await gatewayStage();
    const { call, send } = await client(stage);
    const answer = call(7, extra);
    const atServer = await stage.nextCall('db');
    const end = aborted(atServer);
    const params = { requestId: 7 };
    expect((await send({ method: 'notifications/cancelled', params })).status).toBe(202);
    await end;
    // Its stream ends as well, so that the session is idle and can be forgotten.
    expect(await messagesOf(await answer)).toEqual([]);
    await (await send({ id: 8, method: 'ping' })).text();
    expect(stage.gateway.callsInFlight).toBe(0);
  });

  it('is cancelled with its session', async () => {
    const stage = await gatewayStage();
    const { call, session } = await client(stage);
    const answer = call(7, extra);
    const end = aborted(await stage.nextCall('db'));
    const headers = { authorization: `Bearer ${'a'.repeat(43)}`, 'mcp-session-id': session };
    expect((await fetch(stage.url, { method: 'DELETE', headers })).status).toBe(200);
    await end;
    expect(await messagesOf(await answer)).toEqual([]);
  });

  it('sends its progress before its result', async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const answer = call(7, { ...extra, _meta: { progressToken: 'far' } });
    const atServer = await stage.nextCall('db');
    atServer.progress({ progress: 1, total: 2 });
    atServer.progress({ progress: 2, total: 2 });
    atServer.answer(pong);
    expect(await messagesOf(await answer)).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'far', progress: 1 } },
      { method: 'notifications/progress', params: { progressToken: 'far', progress: 2 } },
      { id: 7, result: pong },
    ]);
  });

  it("sends its server's log lines before its result", async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const answer = call(7, extra);
    const atServer = await stage.nextCall('db');
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    atServer.answer(pong);
    expect(await messagesOf(await answer)).toMatchObject([
      { method: 'notifications/message', params: { data: 'working' } },
      { id: 7, result: pong },
    ]);
  });

  it('returns every kind of content', async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const result = {
      content: [
        { type: 'text', text: 'a picture', annotations: { audience: ['user'] } },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      ],
      structuredContent: { pictures: 1 },
    };
    const answer = call(7, extra);
    (await stage.nextCall('db')).answer(result);
    expect(await messagesOf(await answer)).toMatchObject([{ id: 7, result }]);
  });
});

describe('a call without notifications', () => {
  it('is answered with a single uncached JSON document in its session', async () => {
    const stage = await gatewayStage();
    const { call, session } = await client(stage);
    const answer = call(7);
    (await stage.nextCall('db')).answer(pong);
    const { status, headers } = await answer;
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json',
      'mcp-session-id': session,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  it('becomes a stream when there are notifications and does not run again', async () => {
    const stage = await gatewayStage();
    const { call } = await client(stage);
    const answer = call(7);
    const atServer = await stage.nextCall('db');
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    expect((await answer).headers.get('content-type')).toBe('text/event-stream');
    atServer.answer(pong);
    await (await answer).text();
    const next = call(7);
    const second = await stage.nextCall('db');
    second.answer({ content: [{ type: 'text', text: 'another' }] });
    expect(await messagesOf(await next)).toMatchObject([
      { id: 7, result: { content: [{ text: 'another' }] } },
    ]);
  });

  it('can be cancelled after it becomes a stream', async () => {
    const stage = await gatewayStage();
    const { call, send } = await client(stage);
    const answer = call(7);
    const end = aborted(await stage.nextCall('db'));
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    const { body } = await answer;
    await send({ method: 'notifications/cancelled', params: { requestId: 7 } });
    await end;
    await body?.cancel();
    await (await send({ id: 8, method: 'ping' })).text();
    expect(stage.gateway.callsInFlight).toBe(0);
  });

  it("continues after a modern server's request for input", async () => {
    const stage = await gatewayStage();
    const person = await connect(
      stage,
      'legacy',
      (each) => {
        each.setRequestHandler('elicitation/create', () => ({
          action: 'accept',
          content: { table: 'users' },
        }));
      },
      { elicitation: { form: {} } },
    );
    const answer = person.callTool({ name: 'db__query', arguments: {} });
    const requestedSchema = { type: 'object', properties: { table: { type: 'string' } } };
    const params = { mode: 'form', message: 'Which table?', requestedSchema };
    // Without a state: nothing but the answer tells the second round from the first.
    (await stage.nextCall('db')).answer({
      resultType: 'input_required',
      inputRequests: { table: { method: 'elicitation/create', params } },
    });
    (await stage.nextCall('db')).answer(pong);
    expect(await answer).toMatchObject(pong);
  });

  it('bypasses the SDK only for ordinary requests', async () => {
    const stage = await gatewayStage();
    const { send, call, session } = await client(stage);
    const name = 'db__query';
    for (const params of [{ name: 7 }, { name, arguments: [] }, {}]) {
      const [message] = await messagesOf(await send({ id: 7, method: 'tools/call', params }));
      expect(message).toMatchObject({ id: 7, error: { code: -32_602 } });
    }
    const accept = { 'mcp-session-id': session, accept: 'application/json' };
    const plain = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name } };
    expect((await post(stage.url, plain, accept)).status).toBe(406);
    const version = { 'mcp-session-id': session, 'mcp-protocol-version': '1999-01-01' };
    expect((await post(stage.url, plain, version)).status).toBe(400);
    const answer = call(8);
    (await stage.nextCall('db')).answer(pong);
    expect(await messagesOf(await answer)).toMatchObject([{ id: 8 }]);
  });
});
