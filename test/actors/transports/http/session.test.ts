/** Sessions with servers that misbehave over HTTP. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it, vi } from 'vitest';

import type { ServerSpec } from '../../../../src/domain/server-spec.ts';
import {
  type HttpFixture,
  type HttpMode,
  startHttpFixture,
} from '../../../fixtures/remote/http-server.ts';
import {
  type Bench,
  type BenchOptions,
  callOptions,
  createBench,
  unwritable,
} from '../../session/bench.ts';

let bench: Bench | undefined;
let server: HttpFixture | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  bench?.stop();
  await server?.close();
  server = undefined;
});

function spec(
  url: string,
  more: { era?: 'auto' | 'legacy' | 'modern'; headers?: Record<string, string> } = {},
): ServerSpec {
  return { type: 'http', url, headers: {}, era: 'legacy', ...more };
}

function start(of: ServerSpec, options: BenchOptions = {}): Bench {
  bench = createBench(of)(options);
  bench.send('session.open');
  return bench;
}

async function opened(mode: HttpMode = 'ok'): Promise<{ bench: Bench; server: HttpFixture }> {
  server = await startHttpFixture();
  const session = start(spec(server.url));
  await session.next('session.opened');
  await server.arrived('GET');
  server.mode = mode;
  return { bench: session, server };
}

async function failureOf(of: ServerSpec, options: BenchOptions = {}) {
  return (await start(of, options).next('session.closed')).failure;
}

function call(of: Bench, tool = 'echo') {
  return of.handle().callTool(tool, {}, callOptions());
}

describe('opening an HTTP session', () => {
  it.each(['legacy', 'auto'] as const)('reports a refused connection (%s)', async (era) => {
    server = await startHttpFixture();
    const { url } = server;
    await server.close();
    const { host, origin, pathname } = new URL(url);
    expect(await failureOf(spec(`${url}?key=hunter2`, { era }))).toEqual({
      kind: 'unavailable',
      message: `The request to ${origin}${pathname} failed: connect ECONNREFUSED ${host}.`,
      causes: expect.arrayContaining([expect.objectContaining({ code: 'ECONNREFUSED' })]),
    });
  });

  it.each(['legacy', 'auto'] as const)(
    "reports that all of a host's addresses refuse the connection (%s)",
    async (era) => {
      server = await startHttpFixture();
      const url = server.url.replace('127.0.0.1', 'localhost');
      await server.close();
      const failure = await failureOf(spec(url, { era }));
      expect(failure).toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(
          /The request to http:\/\/localhost:.* failed: .*ECONNREFUSED/u,
        ),
      });
    },
  );

  it.each([
    ['401', 'legacy', { kind: 'authRequired' }],
    ['401', 'auto', { kind: 'authRequired' }],
    ['403', 'legacy', { kind: 'authRequired' }],
    ['429', 'legacy', { kind: 'rateLimited', retryAfterMs: 7_000 }],
    ['500', 'legacy', { kind: 'unavailable' }],
    ['500', 'auto', { kind: 'unavailable' }],
    ['html', 'legacy', { kind: 'protocol' }],
    ['html', 'auto', { kind: 'protocol' }],
    ['accepted-all', 'legacy', { kind: 'protocol' }],
  ] as const)('fails with the right kind on %s (%s)', async (mode, era, failure) => {
    server = await startHttpFixture(mode);
    expect(await failureOf(spec(server.url, { era }))).toMatchObject(failure);
  });

  it('does not follow a redirect to another origin', async () => {
    const elsewhere: string[] = [];
    const other: Server = createServer((request, response) => {
      elsewhere.push(String(request.url));
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    server = await startHttpFixture('redirect');
    server.redirectTo = `http://127.0.0.1:${(other.address() as AddressInfo).port}/steal`;
    const failure = await failureOf(spec(server.url, { headers: { 'X-Key': 'k' } }));
    other.close();
    expect(failure).toMatchObject({
      kind: 'transport',
      code: 'REDIRECT_BLOCKED',
      message: expect.stringContaining('not followed'),
    });
    expect(elsewhere).toEqual([]);
  });

  it.each([
    ['ftp://example.com/', 'must begin with http'],
    ['not a url', 'not a valid URL'],
    ['http://user:hunter2@127.0.0.1/', 'user name or password'],
  ])('refuses the address %s without showing it', async (url, words) => {
    const failure = await failureOf(spec(url));
    expect(failure).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(words) });
    expect(failure?.message).not.toContain('hunter2');
  });

  it('sends headers with their variables resolved and hides them in messages', async () => {
    const failure = await failureOf(
      spec('http://127.0.0.1:9/', { headers: { 'X-Key': 'a\n${KEY}' } }),
      {
        env: { KEY: 'top-secret' },
      },
    );
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('"X-Key"'),
    });
    expect(JSON.stringify(failure)).not.toContain('top-secret');
  });

  it('falls back to the old handshake and remembers it', async () => {
    server = await startHttpFixture();
    const session = start(spec(server.url, { era: 'auto' }));
    expect(await session.next('session.opened')).toMatchObject({ era: 'legacy' });
    expect(session.verdicts.get('g1')).toEqual({ kind: 'legacy' });
    expect(session.lines).toEqual([]);
  });
});

describe('calls in an HTTP session', () => {
  it.each([
    ['cut-stream', { reason: 'streamLost', written: true }],
    ['end-stream', { reason: 'streamLost', written: true }],
    ['reset-call', { reason: 'streamLost', written: true }],
    ['accepted', { reason: 'badResponse', written: true }],
    ['html', { reason: 'badResponse', written: true }],
    ['huge-body', { reason: 'badResponse', written: true }],
    ['huge-answer', { reason: 'resultTooLarge', written: true }],
    ['huge-event', { reason: 'resultTooLarge', written: true }],
    ['deep-answer', { reason: 'resultTooLarge', written: true }],
    ['404-method', { reason: 'serverError', written: true, rpcCode: -32601 }],
    ['redirect', { reason: 'redirectBlocked', written: false }],
    ['500', { reason: 'unavailable', written: true }],
    ['429', { reason: 'rateLimited', written: false, retryAfterMs: 7_000 }],
    ['403', { reason: 'authRequired', written: true }],
  ] as const)(
    'fail promptly with the right reason after %s and leave the session open',
    async (mode, failure) => {
      const session = await opened(mode);
      expect(await call(session.bench)).toMatchObject({ failure });
      session.server.mode = 'ok';
      expect(await call(session.bench)).toHaveProperty('result');
    },
  );

  it.each(unwritable)(
    'are not sent when the arguments are %s and leave the session open',
    async (_what, args) => {
      const { bench: session, server: fixture } = await opened();
      const given = args as Readonly<Record<string, unknown>>;
      const outcome = await session.handle().callTool('echo', given, callOptions());
      expect(outcome).toMatchObject({ failure: { reason: 'invalidArguments', written: false } });
      expect(fixture.seen).not.toContain('POST tools/call');
      expect(await call(session)).toHaveProperty('result');
    },
  );

  it.each([
    ['404-session', { reason: 'sessionMissing', written: false }],
    ['401', { reason: 'authRequired', written: false }],
    // Neither a status that is defined for it nor an error of JSON-RPC proves that nothing ran.
    ['400-session', { reason: 'sessionMissing', written: true }],
    ['rpc-32001', { reason: 'sessionMissing', written: true }],
  ] as const)('fail after %s and end the session', async (mode, failure) => {
    const session = await opened(mode);
    expect(await call(session.bench)).toMatchObject({ failure });
    const { reason: kind } = failure;
    expect((await session.bench.next('session.closed')).failure).toMatchObject({ kind });
  });

  it.each([
    ['502-html', 'The server answered with status 502 (Bad Gateway).'],
    ['404-once', 'The server answered with status 404 (Not Found).'],
    ['404-method', 'Method not found'],
  ] as const)('explain %s without the HTML in its body', async (mode, message) => {
    server = await startHttpFixture('no-session-id');
    const session = start(spec(server.url));
    await session.next('session.opened');
    server.mode = mode;
    expect(await call(session)).toMatchObject({ failure: { message } });
  });

  it.each(['slow-call', 'quiet-stream'] as const)(
    'end at the server when aborted and affect no other call (%s)',
    async (mode) => {
      const session = await opened(mode);
      const brokenOff = 'POST tools/call broken off';
      const handle = session.bench.handle();
      const other = new AbortController();
      const patient = handle.callTool('echo', {}, callOptions({ signal: other.signal }));
      await session.server.arrived('POST tools/call');
      const late = handle.callTool('echo', {}, callOptions({ timeoutMs: 100 }));
      expect(await late).toMatchObject({ failure: { reason: 'timeout', written: true } });
      await session.server.arrived(brokenOff);
      await session.server.arrived('POST notifications/cancelled');
      expect(session.server.seen.filter((name) => name === brokenOff)).toHaveLength(1);
      const again = session.server.arrivedAgain(brokenOff);
      other.abort();
      expect(await patient).toMatchObject({ failure: { reason: 'cancelled', written: true } });
      await again;
      session.server.mode = 'ok';
      expect(await call(session.bench)).toHaveProperty('result');
      expect(session.bench.story).not.toContain('session.closed');
    },
  );

  it.each(['slow-call', 'quiet-stream'] as const)(
    'trigger no probe when cancelled (%s)',
    async (mode) => {
      const session = await opened(mode);
      const controller = new AbortController();
      const { signal } = controller;
      const given = session.bench.handle().callTool('echo', {}, callOptions({ signal }));
      await session.server.arrived('POST tools/call');
      controller.abort();
      expect(await given).toHaveProperty('failure');
      await session.server.arrived('POST tools/call broken off');
      session.server.mode = 'ok';
      expect(await call(session.bench)).toHaveProperty('result');
      expect(session.server.seen).not.toContain('POST ping');
    },
  );

  // Node 20 keeps a joined signal for as long as one of its sources exists.
  it('leave no listener on a signal that outlives them', async () => {
    const { bench: session } = await opened();
    const join = vi.spyOn(AbortSignal, 'any');
    for (let count = 0; count < 5; count += 1)
      expect(await call(session)).toMatchObject({ result: {} });
    const joined = join.mock.calls.flatMap(([signals]) => [...signals]);
    expect(joined).toHaveLength(new Set(joined).size);
  });

  it('fail when the server is gone and end the session', async () => {
    const session = await opened();
    await session.server.kill();
    const outcome = await call(session.bench);
    expect(outcome).toHaveProperty('failure');
    expect((await session.bench.next('session.closed')).failure).toMatchObject({
      kind: 'transport',
    });
  });
});

describe('an HTTP session without an id', () => {
  it.each(['404-once', '404-method', '400-session'] as const)(
    'survives a %s response to one call',
    async (mode) => {
      server = await startHttpFixture('no-session-id');
      const session = start(spec(server.url));
      await session.next('session.opened');
      server.mode = mode;
      expect(await call(session)).toMatchObject({ failure: { written: true } });
      server.mode = 'no-session-id';
      expect(await call(session)).toHaveProperty('result');
      expect(session.story).not.toContain('session.closed');
    },
  );
});

describe("an HTTP session's id", () => {
  it.each(['bad-session-id', 'long-session-id'] as const)('is refused: %s', async (mode) => {
    server = await startHttpFixture(mode);
    expect(await failureOf(spec(server.url))).toMatchObject({
      kind: 'protocol',
      message: expect.stringContaining('visible ASCII'),
    });
  });

  it('is the first one that the server sends', async () => {
    const session = await opened();
    await call(session.bench);
    expect(session.server.headers['mcp-session-id']).toBe('session-1');
  });
});

describe('a response stream', () => {
  it('is resumed where it broke off if the server supports resumption', async () => {
    const session = await opened('resumable');
    expect(await call(session.bench)).toHaveProperty('result');
    expect(session.server.seen.filter((name) => name === 'POST tools/call')).toHaveLength(1);
    expect(session.server.seen).toContain('GET resume');
  });
});

describe("an HTTP session's notification stream", () => {
  const changed = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });

  it('announces changed tools and carries the session id', async () => {
    const session = await opened();
    expect(session.server.headers).toMatchObject({ 'mcp-session-id': 'session-1' });
    session.server.push(`data: ${changed}\n\n`);
    await session.bench.next('session.notified');
  });

  it('is requested once the handshake is complete', async () => {
    const { server: peer } = await opened();
    await peer.arrived('GET');
    const requests = ['POST notifications/initialized', 'GET'];
    expect(peer.seen.filter((name) => requests.includes(name))).toEqual(requests);
  });

  it('is optional', async () => {
    server = await startHttpFixture('news-405');
    const session = start(spec(server.url));
    await session.next('session.opened');
    await server.arrived('GET');
    expect(await call(session)).toHaveProperty('result');
    expect(server.seen.filter((name) => name === 'GET')).toHaveLength(1);
    expect(session.lines).toEqual([]);
  });

  it('triggers a new list when it is reopened after a disconnect', async () => {
    const session = await opened();
    session.server.cutStreams();
    await session.server.arrivedAgain('GET');
    expect(await session.bench.next('session.notified')).toBeDefined();
  });

  it('is reopened after a temporary refusal, from the last event', async () => {
    server = await startHttpFixture('news-busy');
    const session = start(spec(server.url));
    await session.next('session.opened');
    await server.arrived('GET');
    server.mode = 'ok';
    await server.arrivedAgain('GET');
    server.push(`id: 7\ndata: ${changed}\n\n`);
    await session.next('session.notified');
    server.cutStreams();
    await server.arrivedAgain('GET');
    expect(server.headers['last-event-id']).toBe('7');
  });
});

describe("an HTTP session's end", () => {
  it('is reported promptly after the server is killed', async () => {
    const session = await opened();
    session.bench.holdTimers();
    await session.server.kill();
    const { failure } = await session.bench.next('session.closed');
    expect(failure?.kind).toBe('transport');
  });

  it('is not caused by a broken event stream alone', async () => {
    const session = await opened();
    session.server.cutStreams();
    await session.server.arrived('POST ping');
    expect(await call(session.bench)).toHaveProperty('result');
    expect(session.bench.story).not.toContain('session.closed');
  });

  it('deletes the session at the server', async () => {
    const session = await opened();
    session.bench.send('session.close');
    expect((await session.bench.next('session.closed')).failure).toBeUndefined();
    expect(session.server.seen.at(-1)).toBe('DELETE');
  });

  it('does not wait for a server that never answers the DELETE', async () => {
    const session = await opened('silent-delete');
    session.bench.send('session.close');
    const askedAt = performance.now();
    await session.bench.next('session.closed');
    expect(performance.now() - askedAt).toBeLessThan(1_500);
  });
});
