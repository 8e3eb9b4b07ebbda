/** Sessions over HTTP with SSE, and the fallback to it. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import {
  type SseFixture,
  type SseMode,
  startSseFixture,
} from '../../fixtures/remote/sse-server.ts';
import {
  type Bench,
  type BenchOptions,
  callOptions,
  createBench,
  type StartBench,
} from '../session/bench.ts';

let bench: Bench | undefined;
let server: SseFixture | undefined;

afterEach(async () => {
  bench?.stop();
  await server?.close();
  server = undefined;
});

const sse = (url: string, headers: Record<string, string> = {}): ServerSpec => ({
  type: 'sse',
  url,
  headers,
  era: 'auto',
});
const untyped = (url: string): ServerSpec => ({
  type: 'http',
  url,
  headers: {},
  era: 'auto',
  fallback: 'sse',
});

function start(of: ServerSpec | StartBench, options: BenchOptions = {}): Bench {
  bench = (typeof of === 'function' ? of : createBench(of))(options);
  bench.send('session.open');
  return bench;
}

async function opened(mode: SseMode = 'ok'): Promise<{ bench: Bench; server: SseFixture }> {
  server = await startSseFixture();
  const session = start(sse(server.url));
  await session.next('session.opened');
  server.mode = mode;
  return { bench: session, server };
}

const call = (of: Bench, tool = 'echo') => of.handle().callTool(tool, { a: 1 }, callOptions());

describe('opening a session over SSE', () => {
  it.each([
    ['refused', { kind: 'protocol', httpStatus: 404 }],
    ['log-in', { kind: 'authRequired', httpStatus: 401 }],
    ['not-a-stream', { kind: 'protocol' }],
    ['no-address', { kind: 'protocol' }],
    ['elsewhere', { kind: 'unavailable', code: 'ADDRESS_BLOCKED' }],
  ] as const)('fails with the right kind on %s', async (mode, failure) => {
    server = await startSseFixture(mode);
    const closed = await start(sse(server.url)).next('session.closed');
    expect(closed.failure).toMatchObject(failure);
  });

  it('reports a refused connection', async () => {
    server = await startSseFixture();
    await server.close();
    const { failure } = await start(sse(server.url)).next('session.closed');
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('ends when it is closed before the server names its POST endpoint', async () => {
    server = await startSseFixture('no-endpoint');
    const session = start(sse(server.url));
    await server.arrived('GET');
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
  });

  it('retries the current transport after an SSE fallback without a response', async () => {
    server = await startSseFixture('no-endpoint');
    const spec = untyped(server.url);
    const startOne = createBench(spec);
    const policy = { connect: { remoteTimeoutMs: 500 } } as const;
    await start(startOne, { spec, policy }).next('session.closed');
    bench?.stop();
    server.seen.length = 0;
    const again = start(startOne);
    await server.arrived('POST /sse');
    expect(server.seen[0]).toBe('POST /sse');
    again.send('session.close');
    await again.next('session.closed');
  });

  it('does not probe the era and sends headers and the negotiated version', async () => {
    server = await startSseFixture();
    const session = start(sse(server.url, { 'X-Key': '${KEY}' }), { env: { KEY: 'k1' } });
    expect(await session.next('session.opened')).toMatchObject({ era: 'legacy' });
    expect(server.seen).not.toContain('POST server/discover');
    await call(session);
    expect(server.headers).toMatchObject({
      'x-key': 'k1',
      'mcp-protocol-version': expect.stringMatching(/^\d{4}-/u),
    });
  });
});

describe('a session over SSE', () => {
  it.each([
    ['deep-answer', { reason: 'resultTooLarge', written: true }],
    ['post-500', { reason: 'unavailable', written: true }],
    ['reset-post', { reason: 'streamLost', written: true }],
  ] as const)('fails a call promptly after %s and stays open', async (mode, failure) => {
    const session = await opened(mode);
    expect(await call(session.bench)).toMatchObject({ failure });
    session.server.mode = 'ok';
    expect(await call(session.bench)).toHaveProperty('result');
  });

  it('ignores events that are not messages and logs one notice', async () => {
    const session = await opened('noise');
    expect(await call(session.bench)).toHaveProperty('result');
    expect(await call(session.bench)).toHaveProperty('result');
    expect(session.bench.lines).toEqual(['sent an event that is not an MCP message']);
  });

  it('keeps posting to the first endpoint that the server names', async () => {
    const session = await opened();
    session.server.push('event: endpoint\ndata: /elsewhere\n\n');
    expect(await call(session.bench)).toHaveProperty('result');
  });

  it('is lost when the server no longer knows it and reports that the call may have run', async () => {
    const session = await opened('post-404');
    expect(await call(session.bench)).toMatchObject({
      // Only Streamable HTTP defines that status.
      failure: { reason: 'sessionMissing', written: true },
    });
    expect((await session.bench.next('session.closed')).failure?.kind).toBe('sessionMissing');
  });

  it('ends with its stream, which is never reopened', async () => {
    const session = await opened();
    const slow = call(session.bench, 'slow');
    await session.server.arrived('POST tools/call');
    session.bench.holdTimers();
    session.server.cutStreams();
    expect(await slow).toMatchObject({ failure: { reason: 'streamLost', written: true } });
    const { failure } = await session.bench.next('session.closed');
    expect(failure?.kind).toBe('transport');
    expect(session.server.seen.filter((name) => name === 'GET')).toHaveLength(1);
  });

  it('receives tool changes', async () => {
    const session = await opened();
    const news = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    session.server.push(`data: ${JSON.stringify(news)}\n\n`);
    expect(await session.bench.next('session.notified')).toEqual({ type: 'session.notified' });
  });
});

describe('a URL without a transport type', () => {
  it.each([
    [404, 'Cannot POST /sse'],
    [405, ''],
    [400, 'Bad Request'],
  ])(
    'is reached over SSE after status %i and directly over SSE the next time',
    async (status, body) => {
      server = await startSseFixture();
      server.postStatus = status;
      server.postBody = body;
      const startBench = createBench(untyped(server.url));
      const first = start(startBench);
      expect(await first.next('session.opened')).toMatchObject({ era: 'legacy' });
      expect(await call(first)).toHaveProperty('result');
      first.send('session.close');
      await first.next('session.closed');
      const refusedPosts = server.seen.filter((name) => name === 'POST /sse').length;
      expect(refusedPosts).toBeGreaterThan(0);
      const second = start(startBench, { session: 2 });
      await second.next('session.opened');
      expect(server.seen.filter((name) => name === 'POST /sse')).toHaveLength(refusedPosts);
    },
  );

  it('is tried over Streamable HTTP again when SSE stops working', async () => {
    server = await startSseFixture();
    const startBench = createBench(untyped(server.url));
    await start(startBench).next('session.opened');
    bench?.send('session.close');
    await bench?.next('session.closed');
    server.mode = 'refused';
    await start(startBench, { session: 2 }).next('session.closed');
    const before = server.seen.filter((name) => name === 'POST /sse').length;
    await start(startBench, { session: 3 }).next('session.closed');
    expect(server.seen.filter((name) => name === 'POST /sse').length).toBeGreaterThan(before);
  });

  it("reports the first refusal's status when it supports neither transport", async () => {
    server = await startSseFixture('refused');
    const { failure } = await start(untyped(server.url)).next('session.closed');
    expect(failure).toMatchObject({
      httpStatus: 404,
      message: `The server answered with status 404 (Not Found) at ${server.url}.`,
    });
    expect(server.seen.filter((name) => name === 'GET')).toHaveLength(1);
  });

  it.each([
    ['a server error', 500, ''],
    ['a login requirement', 401, ''],
    [
      'a response that only a current server sends',
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}',
    ],
  ])('is not tried over SSE after %s', async (_what, status, body) => {
    server = await startSseFixture();
    server.postStatus = status;
    server.postBody = body;
    await start(untyped(server.url)).next('session.closed');
    expect(server.seen).not.toContain('GET');
  });

  it('is not tried over SSE when the settings name the type', async () => {
    server = await startSseFixture();
    const { url } = server;
    await start({ type: 'http', url, headers: {}, era: 'auto' }).next('session.closed');
    expect(server.seen).not.toContain('GET');
  });
});

describe("an event stream's redirect", () => {
  it('is not followed to another origin', async () => {
    const elsewhere: string[] = [];
    const other = createServer((request, response) => {
      elsewhere.push(String(request.url));
      response.end();
    });
    const redirecting = createServer((_request, response) => {
      const { port } = other.address() as AddressInfo;
      response.writeHead(307, { location: `http://127.0.0.1:${port}/steal` }).end();
    });
    for (const one of [other, redirecting])
      await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
    const { port } = redirecting.address() as AddressInfo;
    const { failure } = await start(sse(`http://127.0.0.1:${port}/sse`)).next('session.closed');
    for (const one of [other, redirecting]) one.close();
    expect(failure).toMatchObject({ code: 'REDIRECT_BLOCKED' });
    expect(elsewhere).toEqual([]);
  });
});
