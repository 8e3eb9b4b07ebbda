import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import { pong } from '../runtime/stage.ts';
import { readOpenMetrics } from '../support/open-metrics.ts';
import {
  type GatewayStage,
  gatewayStage,
  listen,
  openSession,
  post,
  token,
} from './gateway-stage.ts';

type Stage = Pick<GatewayStage, 'url'>;

/** A connection by hand, and all that it heard until it was closed. */
interface Line {
  readonly socket: Socket;
  readonly heard: () => string;
  readonly closed: Promise<string>;
}

async function dial({ url }: Stage): Promise<Line> {
  const socket = connectSocket(Number(url.port), url.hostname);
  onTestFinished(() => void socket.destroy());
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => void socket.on('close', () => resolve(text)));
  await once(socket, 'connect');
  return { socket, heard: () => text, closed };
}

/** Says a little after each answer to another client, which never waits for it, until the line is closed. */
async function trickle(stage: Stage, { socket, closed }: Line, piece: string): Promise<string> {
  const session = await openSession(stage.url);
  while (!socket.destroyed) {
    socket.write(piece);
    const { status } = await post(stage.url, ping, { 'mcp-session-id': session });
    expect(status).toBe(200);
  }
  return closed;
}

function head({ url }: Stage, headers: Readonly<Record<string, string | number>>): string {
  const all = {
    host: url.host,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n`;
}

async function counted({ url }: Stage, family: string): Promise<Readonly<Record<string, number>>> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(new URL('/metrics', url), { headers })).text();
  const samples = readOpenMetrics(text).get(`mcp_troupe_${family}`)?.samples ?? [];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['status'] ?? '', value]));
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const call = (id: number, more: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'db__query', ...more },
});
const quick = { headersMs: 300, requestMs: 600, checkEveryMs: 50 };

describe('a client that sends its request byte by byte', () => {
  it('is disconnected and counted while sending headers, without delaying other clients', async () => {
    const stage = await gatewayStage({ http: { limits: quick } });
    const line = await dial(stage);
    line.socket.write(`POST /mcp HTTP/1.1\r\nhost: ${stage.url.host}\r\n`);
    expect(await trickle(stage, line, 'x-drop: 1\r\n')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await counted(stage, 'refusals')).toEqual({ 408: 1 });
  });

  it('is disconnected and counted while sending a body without reaching a server', async () => {
    const stage = await gatewayStage({ http: { limits: quick } });
    const line = await dial(stage);
    line.socket.write(`${head(stage, { 'content-length': 10_000 })}{"jsonrpc":"2.0"`);
    expect(await trickle(stage, line, ' ')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await counted(stage, 'refusals')).toEqual({ 408: 1 });
    expect(stage.gateway.callsInFlight).toBe(0);
  });

  it('is disconnected when it continues after a refusal', async () => {
    const stage = await gatewayStage({ http: { limits: quick } });
    const line = await dial(stage);
    line.socket.write(head(stage, { authorization: 'Bearer none', 'content-length': 10_000 }));
    expect(await trickle(stage, line, ' ')).toMatch(/^HTTP\/1\.1 401 /);
    expect(await counted(stage, 'refusals')).toMatchObject({ 401: 1 });
  });
});

describe('a request over HTTP', () => {
  const maxBody = 16 * 1_048_576;
  /** A body of so many bytes that asks for nothing but an answer. */
  const ofLength = (bytes: number): string => {
    const empty = JSON.stringify({ ...ping, params: { x: '' } });
    return JSON.stringify({ ...ping, params: { x: 'x'.repeat(bytes - empty.length) } });
  };

  it('may have a body of at most 16 MB, with or without a declared length', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const ask = async (bytes: number, isDeclared: boolean): Promise<string> => {
      const line = await dial(stage);
      const body = ofLength(bytes);
      expect(Buffer.byteLength(body)).toBe(bytes);
      const length = isDeclared ? { 'content-length': bytes } : { 'transfer-encoding': 'chunked' };
      line.socket.write(head(stage, { 'mcp-session-id': session, connection: 'close', ...length }));
      // Sends no body that is too long: its unread rest could cut the answer short.
      const isTooLong = bytes > maxBody;
      if (isDeclared && !isTooLong) line.socket.write(body);
      if (!isDeclared)
        line.socket.write(`${bytes.toString(16)}\r\n${body}${isTooLong ? '' : '\r\n0\r\n\r\n'}`);
      return (await line.closed).slice(0, 12);
    };
    for (const isDeclared of [true, false]) {
      expect(await ask(maxBody, isDeclared)).toBe('HTTP/1.1 200');
      expect(await ask(maxBody + 1, isDeclared)).toBe('HTTP/1.1 413');
    }
    expect(await counted(stage, 'refusals')).toEqual({ 413: 2 });
  });

  it('may be nested at most 256 levels deep', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const ask = async (levels: number): Promise<number> => {
      // The message and its parameters are two of them.
      const x = `${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}`;
      const body = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${x}}}`;
      return (await post(stage.url, body, { 'mcp-session-id': session })).status;
    };
    expect([await ask(256), await ask(257)]).toEqual([200, 400]);
  });

  it('may be a batch of at most 64 messages', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const ask = async (count: number): Promise<number> => {
      const batch = Array.from({ length: count }, (_, id) => ({ ...ping, id }));
      const answer = await post(stage.url, batch, { 'mcp-session-id': session });
      await answer.text();
      return answer.status;
    };
    expect([await ask(64), await ask(65), await ask(200_000)]).toEqual([200, 400, 400]);
  });

  it('may have headers of at most 16 KB', async () => {
    const stage = await gatewayStage();
    const ask = async (bytes: number): Promise<string> => {
      const line = await dial(stage);
      const more = { connection: 'close', 'content-length': 2 };
      const usual = head(stage, { ...more, 'x-long': '' }).length;
      line.socket.write(`${head(stage, { ...more, 'x-long': 'x'.repeat(bytes - usual) })}{}`);
      return (await line.closed).slice(0, 12);
    };
    expect(await ask(16_000)).toBe('HTTP/1.1 400');
    expect(await counted(stage, 'refusals')).toEqual({});
    expect(await ask(16_500)).toBe('HTTP/1.1 431');
    expect(await counted(stage, 'refusals')).toEqual({ 431: 1 });
  });
});

describe('clients that do not read their responses', () => {
  const megabyte = 'x'.repeat(1_048_576);
  // So that log lines, which are easily made, stand for what may not be dropped.
  const everything = 1_000_000_000;
  const wantAll = async (stage: GatewayStage, session: string): Promise<void> => {
    const message = {
      jsonrpc: '2.0',
      id: 2,
      method: 'logging/setLevel',
      params: { level: 'debug' },
    };
    await (await post(stage.url, message, { 'mcp-session-id': session })).text();
  };
  /** Opens a stream and reads nothing but its beginning. */
  const listenWithoutReading = async (stage: GatewayStage, session: string): Promise<Line> => {
    const line = await dial(stage);
    const wanted = head(stage, { 'mcp-session-id': session }).replace('POST', 'GET');
    line.socket.write(wanted);
    await once(line.socket, 'data');
    line.socket.pause();
    return line;
  };

  it('lose log lines without delaying other clients', async () => {
    const stage = await gatewayStage();
    const [slow, quickOne] = [await openSession(stage.url), await openSession(stage.url)];
    await wantAll(stage, slow);
    await wantAll(stage, quickOne);
    const unread = await listenWithoutReading(stage, slow);
    const heard = await listen(stage.url, quickOne);
    for (let count = 0; count < 32; count += 1) {
      stage.sessions.of('db').say({ level: 'info', data: `${count} ${megabyte}` });
      const { params } = (await heard.next()).value as { params: { data: string } };
      expect(params.data.startsWith(`${count} `)).toBe(true);
    }
    expect(await counted(stage, 'unread_answers')).toEqual({ '': 0 });
    // A few megabytes are in the sockets of both sides.
    expect((await counted(stage, 'dropped_notes'))['']).toBeGreaterThan(8);
    expect(unread.socket.destroyed).toBe(false);
  });

  it('still get the response after the lost log lines', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const line = await dial(stage);
    const body = JSON.stringify(call(7));
    const sent = { 'mcp-session-id': session, connection: 'close', 'content-length': body.length };
    line.socket.write(head(stage, sent) + body);
    const asked = await stage.nextCall('db');
    stage.sessions.of('db').say({ level: 'info', data: 'begun' });
    await once(line.socket, 'data');
    line.socket.pause();
    for (let count = 0; count < 64; count += 1) {
      stage.sessions.of('db').say({ level: 'info', data: megabyte });
      await new Promise(setImmediate);
    }
    asked.answer({ content: [{ type: 'text', text: 'the answer' }] });
    line.socket.resume();
    const heard = await line.closed;
    expect(heard).toContain('the answer');
    expect(heard.length).toBeLessThan(24 * megabyte.length);
    expect((await counted(stage, 'dropped_notes'))['']).toBeGreaterThan(40);
  });

  it('are disconnected beyond the limit, without delaying other clients', async () => {
    const stage = await gatewayStage({
      http: { limits: { noteBytes: everything, unsentBytes: 8_388_608 } },
    });
    const [slow, quickOne] = [await openSession(stage.url), await openSession(stage.url)];
    await wantAll(stage, slow);
    await wantAll(stage, quickOne);
    const unread = await listenWithoutReading(stage, slow);
    const heard = await listen(stage.url, quickOne);
    for (let count = 0; count < 32; count += 1) {
      stage.sessions.of('db').say({ level: 'info', data: `${count} ${megabyte}` });
      const { params } = (await heard.next()).value as { params: { data: string } };
      expect(params.data.startsWith(`${count} `)).toBe(true);
    }
    expect(await counted(stage, 'unread_answers')).toEqual({ '': 1 });
    unread.socket.resume();
    expect((await unread.closed).length).toBeLessThan(32 * megabyte.length);
    expect((await post(stage.url, ping, { 'mcp-session-id': slow })).status).toBe(200);
  });

  it('stay within the shared limit regardless of their number', async () => {
    const limits = {
      noteBytes: everything,
      unsentBytes: 33_554_432,
      unsentTotalBytes: 33_554_432,
    };
    const stage = await gatewayStage({ http: { limits } });
    const sessions = await Promise.all([1, 2, 3].map(() => openSession(stage.url)));
    for (const session of sessions) await wantAll(stage, session);
    for (const session of sessions) await listenWithoutReading(stage, session);
    const reader = await openSession(stage.url);
    await wantAll(stage, reader);
    const heard = await listen(stage.url, reader);
    // None of them alone comes near the bound of one.
    for (let count = 0; count < 26; count += 1) {
      stage.sessions.of('db').say({ level: 'info', data: megabyte });
      await heard.next();
    }
    const cut = (await counted(stage, 'unread_answers'))[''] ?? 0;
    expect(cut).toBeGreaterThanOrEqual(1);
    expect(cut).toBeLessThan(3);
  });
});

describe('the session of a legacy client', () => {
  it('is forgotten half an hour after its last request, but not during a stream', async () => {
    const stage = await gatewayStage();
    const [idle, listening] = [await openSession(stage.url), await openSession(stage.url)];
    await listen(stage.url, listening);
    const statusOf = async (session: string): Promise<number> =>
      (await post(stage.url, ping, { 'mcp-session-id': session })).status;
    await stage.advance(1_000_000);
    expect(await statusOf(idle)).toBe(200);
    await stage.advance(1_799_999);
    expect(await statusOf(idle)).toBe(200);
    await stage.advance(1_800_000);
    expect([await statusOf(idle), await statusOf(listening)]).toEqual([404, 200]);
  });
});

describe('a legacy client that disappears during a call', () => {
  it.each(['without', 'with'])(
    'loses its session and has its call cancelled (%s progress)',
    async (how) => {
      const stage = await gatewayStage();
      const session = await openSession(stage.url);
      const line = await dial(stage);
      const more = how === 'with' ? { _meta: { progressToken: 'p' } } : {};
      const body = JSON.stringify(call(7, more));
      const length = { 'content-length': body.length };
      line.socket.write(`${head(stage, { 'mcp-session-id': session, ...length })}${body}`);
      const atServer = await stage.nextCall('db');
      if (how === 'with') {
        atServer.progress({ progress: 1 });
        await once(line.socket, 'data');
      }
      line.socket.destroy();
      // The gateway has noticed when it has answered what was asked later.
      await post(stage.url, ping, { 'mcp-session-id': await openSession(stage.url) });
      expect(atServer.isSettled).toBe(false);
      await stage.advance(121_000);
      expect(atServer.isSettled).toBe(true);
      expect(stage.gateway.callsInFlight).toBe(0);
      expect((await post(stage.url, ping, { 'mcp-session-id': session })).status).toBe(404);
    },
  );
});

describe('two clients of the same server', () => {
  it('get progress only for their own calls, even with equal ids and tokens', async () => {
    const stage = await gatewayStage();
    const ask = async (session: string): Promise<string> => {
      const message = call(7, { _meta: { progressToken: 7 } });
      return (await post(stage.url, message, { 'mcp-session-id': session })).text();
    };
    const one = ask(await openSession(stage.url));
    const first = await stage.nextCall('db');
    const other = ask(await openSession(stage.url));
    const second = await stage.nextCall('db');
    for (let count = 1; count <= 3; count += 1) {
      first.progress({ progress: count, message: 'of one' });
      second.progress({ progress: count, message: 'of the other' });
    }
    first.answer({ content: [{ type: 'text', text: 'one' }] });
    second.answer({ content: [{ type: 'text', text: 'the other' }] });
    expect((await one).match(/of one|of the other/g)).toEqual(Array(3).fill('of one'));
    expect((await other).match(/of one|of the other/g)).toEqual(Array(3).fill('of the other'));
  });

  it('receive log lines only if they have a call in progress there or requested logs', async () => {
    const stage = await gatewayStage();
    const ask = async (session: string, name: string): Promise<string> => {
      const message = { ...call(7), params: { name } };
      return (await post(stage.url, message, { 'mcp-session-id': session })).text();
    };
    const one = ask(await openSession(stage.url), 'db__query');
    const first = await stage.nextCall('db');
    const other = ask(await openSession(stage.url), 'web__query');
    const second = await stage.nextCall('web');
    stage.sessions.of('db').say({ level: 'info', data: 'of db' });
    stage.sessions.of('web').say({ level: 'info', data: 'of web' });
    first.answer(pong);
    second.answer(pong);
    expect((await one).match(/of db|of web/g)).toEqual(['of db']);
    expect((await other).match(/of db|of web/g)).toEqual(['of web']);
  });
});
