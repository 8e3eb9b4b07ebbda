/** Sessions over WebSocket. */

import { afterEach, describe, expect, it } from 'vitest';

import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { startWsFixture, type WsFixture, type WsMode } from '../../fixtures/remote/ws-server.ts';
import {
  type Bench,
  type BenchOptions,
  callOptions,
  createBench,
  unwritable,
} from '../session/bench.ts';

let bench: Bench | undefined;
let server: WsFixture | undefined;

afterEach(async () => {
  bench?.stop();
  await server?.close();
  server = undefined;
});

function start(url: string, more: Partial<ServerSpec> = {}, options: BenchOptions = {}): Bench {
  const spec = { type: 'ws', url, headers: {}, era: 'legacy', ...more } as ServerSpec;
  bench = createBench(spec)(options);
  bench.send('session.open');
  return bench;
}

async function opened(mode: WsMode = 'ok'): Promise<{ bench: Bench; server: WsFixture }> {
  server = await startWsFixture();
  const session = start(server.url);
  await session.next('session.opened');
  server.mode = mode;
  return { bench: session, server };
}

const call = (of: Bench, tool = 'echo') => of.handle().callTool(tool, { a: 1 }, callOptions());

describe('opening a session over WebSocket', () => {
  it.each([
    ['refused', { kind: 'unavailable', httpStatus: 503, retryAfterMs: 7_000 }],
    ['log-in', { kind: 'authRequired', httpStatus: 401 }],
    ['redirect', { kind: 'transport', httpStatus: 302, code: 'REDIRECT_BLOCKED' }],
    ['no-subprotocol', { kind: 'protocol' }],
  ] as const)('fails with the right kind on %s', async (mode, failure) => {
    server = await startWsFixture(mode);
    const closed = await start(server.url).next('session.closed');
    expect(closed.failure).toMatchObject(failure);
  });

  it('reports a refused connection without secrets from the URL', async () => {
    server = await startWsFixture();
    await server.close();
    const { failure } = await start(`${server.url}?key=hunter2`).next('session.closed');
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^The request to ws:.*ECONNREFUSED/),
    });
    expect(failure?.message).not.toContain('hunter2');
  });

  it('refuses metadata service addresses', async () => {
    const { failure } = await start('ws://169.254.169.254/').next('session.closed');
    expect(failure).toMatchObject({ kind: 'unavailable', code: 'ADDRESS_BLOCKED' });
  });

  it.each([
    ['http://127.0.0.1/', 'must begin with ws://'],
    ['ws://user:hunter2@127.0.0.1/', 'user name or password'],
  ])('refuses the address %s', async (url, words) => {
    const { failure } = await start(url).next('session.closed');
    expect(failure).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(words) });
    expect(failure?.message).not.toContain('hunter2');
  });

  it('offers the subprotocol without compression and sends the configured headers', async () => {
    server = await startWsFixture();
    const env = { KEY: 'k1' };
    const session = start(server.url, { headers: { 'X-Key': '${KEY}' } }, { env });
    await session.next('session.opened');
    expect(server.headers).toMatchObject({ 'x-key': 'k1', 'sec-websocket-protocol': 'mcp' });
    expect(server.headers['sec-websocket-extensions']).toBeUndefined();
  });

  it.each(['ok', 'silent-before-init'] as const)(
    'falls back to the old handshake with the server in mode %s',
    async (mode) => {
      server = await startWsFixture(mode);
      const session = start(server.url, { era: 'auto' });
      expect(await session.next('session.opened')).toMatchObject({ era: 'legacy' });
    },
  );

  it('ends when it is closed during the handshake', async () => {
    server = await startWsFixture('silent-before-init');
    const session = start(server.url, { era: 'auto' });
    await server.arrived('silence');
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
  });
});

describe('a session over WebSocket', () => {
  it('fails a call whose response is nested too deeply and stays open', async () => {
    const session = await opened('deep-answer');
    expect(await call(session.bench)).toMatchObject({ failure: { reason: 'resultTooLarge' } });
    session.server.mode = 'ok';
    expect(await call(session.bench)).toHaveProperty('result');
  });

  it.each(['noise', 'binary'] as const)('ignores %s and logs one notice', async (mode) => {
    const session = await opened(mode);
    for (const _ of [1, 2]) expect(await call(session.bench)).toHaveProperty('result');
    expect(session.bench.lines).toEqual(['sent something that is not an MCP message']);
  });

  it('fails only the call whose response exceeds 16 MB', async () => {
    const session = await opened('huge-answer');
    const slow = call(session.bench, 'slow');
    await session.server.arrived('tools/call');
    expect(await call(session.bench)).toEqual({
      failure: {
        reason: 'resultTooLarge',
        written: true,
        message: 'The server sent an answer of more than 16 MB.',
      },
    });
    session.server.mode = 'ok';
    expect(await call(session.bench)).toHaveProperty('result');
    session.bench.send('session.close');
    expect(await slow).toMatchObject({ failure: { reason: 'cancelled' } });
  });

  it('ends when a message exceeds 64 MB', async () => {
    const session = await opened('endless-answer');
    expect(await call(session.bench)).toMatchObject({ failure: { written: true } });
    expect((await session.bench.next('session.closed')).failure?.kind).toBe('protocol');
  });

  it('ends immediately on invalid UTF-8, even if the server keeps the connection open', async () => {
    const session = await opened('unreadable');
    const before = performance.now();
    expect(await call(session.bench)).toMatchObject({ failure: { written: true } });
    const { at, failure } = await session.bench.next('session.closed');
    expect(failure).toMatchObject({ kind: 'protocol', message: expect.stringContaining('UTF-8') });
    // The package would have waited for half a minute.
    expect(at - before).toBeLessThan(4_000);
  });

  it.each([
    [1001, 'transport', 'going away: see you'],
    [1011, 'transport', 'internal error'],
    [3000, 'authRequired', 'code 3000'],
    [4999, 'transport', 'code 4999'],
  ] as const)('ends with code %i as %s', async (code, kind, words) => {
    const session = await opened();
    const slow = call(session.bench, 'slow');
    await session.server.arrived('tools/call');
    session.server.closeClients(code, words.includes('see you') ? 'see you' : undefined);
    const { failure } = await session.bench.next('session.closed');
    expect(failure).toMatchObject({ kind });
    expect(failure?.message.replace('(', '').replace(')', '')).toContain(words);
    expect(await slow).toHaveProperty('failure.written', true);
  });

  it('is lost when the server is killed', async () => {
    const session = await opened();
    const slow = call(session.bench, 'slow');
    await session.server.arrived('tools/call');
    await session.server.kill();
    expect((await session.bench.next('session.closed')).failure?.kind).toBe('transport');
    expect(await slow).toMatchObject({ failure: { reason: 'streamLost', written: true } });
  });

  it('sends a close frame', async () => {
    const session = await opened();
    session.bench.send('session.close');
    await session.bench.next('session.closed');
    await session.server.arrived('close');
    expect(session.server.closeCodes).toEqual([1000]);
  });

  it.each(unwritable)('does not send arguments that are %s and stays open', async (_what, args) => {
    const session = await opened();
    const given = args as Readonly<Record<string, unknown>>;
    const outcome = await session.bench.handle().callTool('echo', given, callOptions());
    expect(outcome).toMatchObject({ failure: { reason: 'invalidArguments', written: false } });
    expect(await call(session.bench)).toHaveProperty('result');
  });
});
