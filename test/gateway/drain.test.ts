import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';

import { pong } from '../runtime/stage.ts';
import {
  type GatewayStage,
  gatewayStage,
  join,
  lines,
  listen,
  openSession,
  post,
  token,
} from './gateway-stage.ts';
import { stdioStage } from './stdio-stage.ts';

const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'db__query' } };

/** What happened to a connection that was open before: an answer, or its end. */
async function ask({ url }: GatewayStage, session: string, message: object): Promise<string> {
  return (await post(url, message, { 'mcp-session-id': session })).text();
}

describe('a stopping gateway', () => {
  it('finishes requests in progress, refuses new ones and then ends its streams', async () => {
    const there = await gatewayStage();
    const session = await openSession(there.url);
    const heard = await listen(there.url, session);
    const underWay = ask(there, session, call);
    const atServer = await there.nextCall('db');
    // A connection that is there already: a new one is not taken any more.
    const kept = request(there.url, { method: 'POST' });
    kept.on('error', () => undefined);
    const closed = there.http.close(2_000);
    const refused = there.gateway.during(async () => 'new');
    await expect(refused).rejects.toMatchObject({ code: 'SHUTTING_DOWN', retryable: true });
    await expect(fetch(new URL('/healthz', there.url))).rejects.toThrow();
    expect(there.gateway.callsInFlight).toBe(1);
    atServer.answer(pong);
    expect(await underWay).toContain('pong');
    await closed;
    // The stream ends as one does; it is not cut.
    expect(await heard.next()).toEqual({ done: true, value: undefined });
    kept.destroy();
  });

  it("refuses a call on an open session's connection and states the reason", async () => {
    const there = await gatewayStage();
    const session = await openSession(there.url);
    const socket = connect(Number(there.url.port), there.url.hostname);
    let heard = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk;
    });
    const say = (id: number): void => {
      const body = JSON.stringify({ ...call, id });
      const headers = [
        `host: ${there.url.host}`,
        `authorization: Bearer ${token}`,
        'content-type: application/json',
        'accept: application/json, text/event-stream',
        `mcp-session-id: ${session}`,
        `content-length: ${body.length}`,
      ];
      socket.write(`POST /mcp HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
    };
    const ended = once(socket, 'close');
    say(7);
    const atServer = await there.nextCall('db');
    const refused = new Promise<void>((resolve) => {
      const during = there.gateway.during.bind(there.gateway);
      there.gateway.during = (work) => during(work).finally(resolve);
    });
    const closed = there.http.close(2_000);
    say(8);
    await refused;
    expect(there.sessions.of('db').calls).toHaveLength(1);
    atServer.answer(pong);
    await closed;
    await ended;
    const documents = heard
      .split(/HTTP\/1\.1 200 OK\r\n[^]*?\r\n\r\n/)
      .filter((body) => body !== '')
      .map((body) => JSON.parse(body) as { id: number; result: { isError?: boolean } });
    expect(documents).toMatchObject([
      { id: 7, result: pong },
      {
        id: 8,
        result: {
          isError: true,
          content: [{ text: 'MCP error: The gateway is stopping. Reconnect later.' }],
          _meta: { 'mcp-troupe/error': { code: 'SHUTTING_DOWN', outcome: 'not_executed' } },
        },
      },
    ]);
  });

  it('sends a long response completely', async () => {
    const there = await gatewayStage();
    const session = await openSession(there.url);
    const underWay = ask(there, session, call);
    const atServer = await there.nextCall('db');
    const closed = there.http.close(2_000);
    // More than the buffers of a socket hold.
    const text = 'long '.repeat(1_500_000);
    atServer.answer({ content: [{ type: 'text', text }] });
    expect(JSON.parse(await underWay)).toMatchObject({ result: { content: [{ text }] } });
    await closed;
  });

  it('does not wait for a client that leaves before its call is done', async () => {
    const there = await gatewayStage();
    const session = await openSession(there.url);
    const leaving = request(there.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session,
      },
    });
    leaving.on('error', () => undefined);
    leaving.end(JSON.stringify(call));
    const atServer = await there.nextCall('db');
    leaving.destroy();
    // Answered after the end of the other connection was seen.
    await ask(there, session, { jsonrpc: '2.0', id: 8, method: 'ping' });
    there.sessions.of('db').say({ level: 'info', data: 'working' });
    atServer.answer(pong);
    await ask(there, session, { jsonrpc: '2.0', id: 9, method: 'ping' });
    // Time stands still: nothing but the end of all answers lets it close.
    await there.http.close(2_000);
    expect(there.gateway.callsInFlight).toBe(0);
  });

  it.each(lines)(
    'cancels calls after its time limit and notifies the server and client (%s)',
    async (line) => {
      const there = await gatewayStage();
      const client = await join(there, line);
      const underWay = client.call('db__query');
      const atServer = await there.nextCall('db');
      const closed = there.http.close(2_000);
      const isEarly = await Promise.race([closed.then(() => 'closed'), there.advance(1_999)]);
      expect(isEarly).not.toBe('closed');
      await there.advance(1);
      await closed;
      expect(await underWay).toMatchObject({
        isError: true,
        _meta: { 'mcp-troupe/error': { code: 'SHUTTING_DOWN', outcome: 'unknown' } },
      });
      expect(atServer.isSettled).toBe(true);
    },
  );
});

describe.each(['legacy', 'modern'] as const)('a gateway over stdio for a %s client', (era) => {
  it("reports its calls' outcomes when it ends", async () => {
    const there = await stdioStage(era);
    const answer = there.ask('tools/call', { name: 'db__query' });
    await there.nextCall('db');
    await there.leave();
    expect(await answer).toMatchObject({
      result: { isError: true, _meta: { 'mcp-troupe/error': { code: 'SHUTTING_DOWN' } } },
    });
  });
});
