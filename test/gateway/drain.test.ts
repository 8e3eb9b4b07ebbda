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
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const heard = await listen(stage.url, session);
    const underWay = ask(stage, session, call);
    const atServer = await stage.nextCall('db');
    // A connection that is there already: a new one is not taken any more.
    const kept = request(stage.url, { method: 'POST' });
    kept.on('error', () => undefined);
    const closed = stage.http.close(2_000);
    const refused = stage.gateway.during(async () => 'new');
    await expect(refused).rejects.toMatchObject({ code: 'SHUTTING_DOWN', retryable: true });
    await expect(fetch(new URL('/healthz', stage.url))).rejects.toThrow();
    expect(stage.gateway.callsInFlight).toBe(1);
    atServer.answer(pong);
    expect(await underWay).toContain('pong');
    await closed;
    // The stream ends as one does; it is not cut.
    expect(await heard.next()).toEqual({ done: true, value: undefined });
    kept.destroy();
  });

  it("refuses a call on an open session's connection and states the reason", async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const socket = connect(Number(stage.url.port), stage.url.hostname);
    let heard = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk;
    });
    const say = (id: number): void => {
      const body = JSON.stringify({ ...call, id });
      const headers = [
        `host: ${stage.url.host}`,
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
    const atServer = await stage.nextCall('db');
    const refused = new Promise<void>((resolve) => {
      const during = stage.gateway.during.bind(stage.gateway);
      stage.gateway.during = (work) => during(work).finally(resolve);
    });
    const closed = stage.http.close(2_000);
    say(8);
    await refused;
    expect(stage.sessions.of('db').calls).toHaveLength(1);
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
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const underWay = ask(stage, session, call);
    const atServer = await stage.nextCall('db');
    const closed = stage.http.close(2_000);
    // More than the buffers of a socket hold.
    const text = 'long '.repeat(1_500_000);
    atServer.answer({ content: [{ type: 'text', text }] });
    expect(JSON.parse(await underWay)).toMatchObject({ result: { content: [{ text }] } });
    await closed;
  });

  it('does not wait for a client that leaves before its call is done', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const leaving = request(stage.url, {
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
    const atServer = await stage.nextCall('db');
    leaving.destroy();
    // Answered after the end of the other connection was seen.
    await ask(stage, session, { jsonrpc: '2.0', id: 8, method: 'ping' });
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    atServer.answer(pong);
    await ask(stage, session, { jsonrpc: '2.0', id: 9, method: 'ping' });
    // Time stands still: nothing but the end of all answers lets it close.
    await stage.http.close(2_000);
    expect(stage.gateway.callsInFlight).toBe(0);
  });

  it.each(lines)(
    'cancels calls after its time limit and notifies the server and client (%s)',
    async (line) => {
      const stage = await gatewayStage();
      const client = await join(stage, line);
      const underWay = client.call('db__query');
      const atServer = await stage.nextCall('db');
      const closed = stage.http.close(2_000);
      const isEarly = await Promise.race([closed.then(() => 'closed'), stage.advance(1_999)]);
      expect(isEarly).not.toBe('closed');
      await stage.advance(1);
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
    const stage = await stdioStage(era);
    const answer = stage.ask('tools/call', { name: 'db__query' });
    await stage.nextCall('db');
    await stage.leave();
    expect(await answer).toMatchObject({
      result: { isError: true, _meta: { 'mcp-troupe/error': { code: 'SHUTTING_DOWN' } } },
    });
  });
});
