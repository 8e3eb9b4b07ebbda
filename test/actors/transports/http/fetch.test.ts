/** Requests, answers, aborts and redirects of the fetch of an HTTP session. */

import { createServer as createSecureServer } from 'node:https';

import { describe, expect, it } from 'vitest';

import { describeError } from '../../../../actors/transports/connection/failure.ts';
import type { Answer } from '../../../../actors/transports/http/fetch.ts';
import { classifyFailure } from '../../../../src/policies/failures/classify.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { selfSigned } from '../../../fixtures/remote/self-signed.ts';
import { turn } from '../../../support/turn.ts';
import {
  type Echo,
  echo,
  errorOf,
  guarded,
  listen,
  type Peer,
  peer,
  resolverOf,
  serve,
  untilTestEnds,
} from './bench.ts';

async function echoed(answer: Promise<Answer>): Promise<Echo> {
  return JSON.parse(await (await answer).text()) as Echo;
}

function kindOf(error: unknown): string {
  return classifyFailure({ ...describeError(error, []), phase: 'ready' }).kind;
}

describe('a request', () => {
  it('sends its headers and body', async () => {
    const { origin } = await peer(echo);
    const init = { method: 'POST', headers: { 'X-One': '1' }, body: 'ü' };
    const answer = await echoed(guarded(origin).fetch(origin, init));
    expect(answer).toMatchObject({ method: 'POST', body: 'ü', headers: { 'x-one': '1' } });
    expect(answer.headers['content-length']).toBe('2');
  });

  it('announces its content codings and ignores configured framing headers', async () => {
    const { origin } = await peer(echo);
    const headers = {
      'content-length': '1',
      'transfer-encoding': 'chunked',
      expect: '100-continue',
      te: 'trailers',
    };
    const response = guarded(origin).fetch(origin, { method: 'POST', headers, body: 'whole' });
    const answer = await echoed(response);
    expect(answer.body).toBe('whole');
    expect(answer.headers).toMatchObject({
      accept: '*/*',
      'accept-encoding': 'gzip, deflate, br',
      'content-length': '5',
    });
    expect(Object.keys(answer.headers)).not.toEqual(expect.arrayContaining(['te']));
    expect(answer.headers['expect'] ?? answer.headers['transfer-encoding']).toBeUndefined();
  });
});

describe('a header', () => {
  it('is sent in lower case, trimmed, and joined with its other spellings', async () => {
    const { origin } = await peer(echo);
    const headers = { 'X-One': ' a\t', 'x-one': 'b', Accept: 'text/plain', TE: 'trailers' };
    const answer = await echoed(guarded(origin).fetch(origin, { headers }));
    expect(answer.headers).toMatchObject({ 'x-one': 'a, b', accept: 'text/plain' });
    expect(answer.headers['te']).toBeUndefined();
  });

  it.each([
    ['name', { 'not a name': 'secret' }],
    ['value', { 'x-one': 'secret\nx-two: 2' }],
    ['value outside Latin-1', { 'x-one': 'secret ☃' }],
  ])('is refused without showing its value if it has an invalid %s', async (_, headers) => {
    const { origin } = await peer(echo);
    const error = await errorOf(guarded(origin).fetch(origin, { headers: { ...headers } }));
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).not.toContain('secret');
  });
});

describe('a response', () => {
  it('has a status, body and headers', async () => {
    const { origin } = await peer((_request, response) => {
      response.writeHead(207, 'Many Things', [
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
        ['x-list', 'one'],
        ['x-list', 'two'],
      ]);
      response.end('text');
    });
    const response = await guarded(origin).fetch(`${origin}/a?b=c#d`);
    expect(response).toMatchObject({
      status: 207,
      statusText: 'Many Things',
      ok: true,
      headers: { 'set-cookie': ['a=1', 'b=2'], 'x-list': 'one, two' },
    });
    expect(await response.text()).toBe('text');
  });

  it.each([204, 205, 304])(
    'has no body with status %i and leaves the connection reusable',
    async (status) => {
      const server = await peer((_request, response) => void response.writeHead(status).end());
      const { fetch } = guarded(server.origin);
      for (let count = 0; count < 2; count += 1) {
        const response = await fetch(server.origin);
        expect(response).toMatchObject({ status });
        expect(await response.text()).toBe('');
        await turn();
      }
      expect(server.connections()).toBe(1);
    },
  );

  it('sets the wait before the next request when it refuses one', async () => {
    const { origin } = await peer((_request, response) => {
      response.writeHead(401, { 'retry-after': '7' }).end();
    });
    const session = guarded(origin);
    expect(session.context(401)).toEqual({});
    await session.fetch(origin);
    expect(session.context(401)).toEqual({ retryAfterMs: 7_000 });
    expect(session.context(503)).toEqual({});
  });

  it.each([
    ['is not HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['has endless headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`],
  ])('is a bad response when it %s', async (_what, bytes) => {
    const { origin } = await peer((request) => void request.socket.end(bytes));
    const error = await errorOf(guarded(origin).fetch(origin));
    expect(error.message).toContain(`The request to ${origin}/ failed: `);
    expect(kindOf(error)).toBe('protocol');
  });

  it('fails the request when its status is invalid', async () => {
    const { origin } = await peer(
      (request) => void request.socket.end('HTTP/1.1 999 X\r\ncontent-length: 0\r\n\r\n'),
    );
    const error = await errorOf(guarded(origin).fetch(origin));
    expect(error.message).toContain('status 999');
    expect(kindOf(error)).toBe('transport');
  });
});

describe('an abort', () => {
  const reason = new Error('enough');

  it('sends nothing when it comes before the request', async () => {
    const server = await peer(echo);
    const signal = AbortSignal.abort(reason);
    expect(await errorOf(guarded(server.origin).fetch(server.origin, { signal }))).toBe(reason);
    expect(server.connections()).toBe(0);
  });

  it('ends the request and closes its connection before the response', async () => {
    const controller = new AbortController();
    const server = await peer(() => controller.abort(reason));
    const { fetch } = guarded(server.origin);
    const { signal } = controller;
    expect(await errorOf(fetch(server.origin, { method: 'POST', body: '{}', signal }))).toBe(
      reason,
    );
    await server.quiet();
    expect(server.connections()).toBe(1);
  });

  it.each(['identity', 'gzip'])(
    'ends a slow body (%s) and closes its connection',
    async (coding) => {
      const controller = new AbortController();
      const server = await peer((_request, response) => {
        response.writeHead(200, { 'content-encoding': coding });
        response.flushHeaders();
      });
      const response = await guarded(server.origin).fetch(server.origin, {
        signal: controller.signal,
      });
      const body = errorOf(response.text());
      controller.abort(reason);
      expect(await body).toBe(reason);
      await server.quiet();
    },
  );

  it('may be shared by many requests without a leak warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const { origin } = await peer(echo);
    const { fetch } = guarded(origin);
    const { signal } = new AbortController();
    const asked = Array.from({ length: 30 }, () => fetch(origin, { signal }));
    for (const response of await Promise.all(asked)) await response.text();
    await turn();
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  it('has no effect after the body', async () => {
    const controller = new AbortController();
    const server = await peer(echo);
    const { fetch } = guarded(server.origin);
    const { signal } = controller;
    await (await fetch(server.origin, { signal })).text();
    await turn();
    controller.abort(reason);
    await (await fetch(server.origin)).text();
    expect(server.connections()).toBe(1);
  });
});

describe('a redirect', () => {
  const to = (location: string, status = 307) =>
    peer((request, response) => {
      if (request.url === '/end') echo(request, response);
      else response.writeHead(status, { location }).end('moved');
    });

  it('is returned when a POST may not follow it', async () => {
    const { origin } = await to('http://169.254.169.254/');
    const { signal } = new AbortController();
    const answer = await guarded(origin).post({}, '{}', signal, false);
    expect(answer).toMatchObject({ status: 307, headers: { location: 'http://169.254.169.254/' } });
  });

  it('is followed within the origin with the same method and body', async () => {
    const { origin } = await to('/end');
    const response = await guarded(origin).fetch(`${origin}/start`, { method: 'POST', body: 'hi' });
    expect(JSON.parse(await response.text())).toMatchObject({
      method: 'POST',
      url: '/end',
      body: 'hi',
    });
  });

  it('is refused when it leads to another origin, which receives nothing', async () => {
    const other = await peer(echo);
    const { origin } = await to(`${other.origin}/steal?token=t#f`);
    const init = { method: 'POST', headers: { 'x-key': 'k' }, body: 'secret' };
    const error = await errorOf(guarded(origin).fetch(`${origin}/a?key=hunter2`, init));
    expect(error.message).toBe(
      `The request to ${origin}/a failed: it redirects to ${other.origin}/steal, which is another origin (ERR_REDIRECT_BLOCKED).`,
    );
    expect(error.cause).toMatchObject({ code: 'ERR_REDIRECT_BLOCKED' });
    expect(kindOf(error)).toBe('transport');
    expect(other.connections()).toBe(0);
  });

  it.each([
    ['a redirect loop', '/again', 307, {}, 'more than 5 times'],
    ['a change of method', '/end', 302, { method: 'POST' }, 'to another method'],
    ['a file URL', 'file:///etc/passwd', 307, {}, 'file:///etc/passwd, which is another origin'],
    ['an invalid URL', 'http://', 307, {}, 'to no address'],
  ] as const)('is refused: %s', async (_what, location, status, init, words) => {
    const { origin } = await to(location, status);
    const error = await errorOf(guarded(origin).fetch(origin, init));
    expect(error.message).toContain(words);
  });
});

describe('a failed request', () => {
  it('names only origin and path and keeps the cause', async () => {
    const { origin, close } = await serve(echo);
    await close();
    const error = await errorOf(guarded(origin).fetch(`${origin}/mcp?key=hunter2#x`));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(
      /^The request to http:\/\/127\.0\.0\.1:\d+\/mcp failed: connect ECONNREFUSED/u,
    );
    expect(error.message).not.toContain('hunter2');
    expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
    expect(error).toMatchObject({ wasConnected: false });
    expect(kindOf(error)).toBe('unavailable');
  });

  it('reports an unknown host name', async () => {
    const home = 'http://nowhere.test/';
    const error = await errorOf(guarded(home, { resolve: resolverOf({}) }).fetch(home));
    expect(error.cause).toMatchObject({ code: 'ENOTFOUND' });
    expect(kindOf(error)).toBe('unavailable');
  });

  it('reports a truncated body', async () => {
    const { origin } = await peer((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setImmediate(() => response.destroy());
    });
    const error = await errorOf((await guarded(origin).fetch(origin)).text());
    expect(error.message).toMatch(/^The request to .* failed: aborted/u);
    expect(error.cause).toMatchObject({ code: 'ECONNRESET' });
    expect(error).toMatchObject({ wasConnected: true });
    expect(kindOf(error)).toBe('transport');
  });

  it('sends nothing if it finds no connection within ten seconds', async () => {
    const clock = new VirtualClock();
    const home = 'http://slow.test/';
    const outcome = errorOf(guarded(home, { clock, resolve: () => {} }).fetch(home));
    await turn();
    clock.advanceBy(9_999);
    await turn();
    expect(clock.pendingCount).toBe(1);
    clock.advanceBy(1);
    const error = await outcome;
    expect(error.message).toBe(
      'The request to http://slow.test/ failed: no connection within 10000 ms (ERR_CONNECT_TIMEOUT).',
    );
    expect(kindOf(error)).toBe('unavailable');
    expect(clock.pendingCount).toBe(0);
  });

  it('times out after an hour, while an event stream may stay silent for longer', async () => {
    const clock = new VirtualClock();
    const server = await peer((request, response) => {
      const type = request.url === '/stream' ? 'text/event-stream' : 'application/json';
      response.writeHead(200, { 'content-type': type }).flushHeaders();
    });
    const given = guarded(server.origin, { clock });
    const stream = await given.fetch(`${server.origin}/stream`, { method: 'POST' });
    clock.advanceBy(7_200_000);
    const plain = await given.fetch(server.origin, { method: 'POST' });
    const body = errorOf(plain.text());
    clock.advanceBy(3_600_000);
    expect(kindOf(await body)).toBe('transport');
    expect(clock.pendingCount).toBe(0);
    const reading = errorOf(stream.text());
    given.close();
    const ended = await reading;
    expect(kindOf(ended)).toBe('transport');
    expect(ended.cause).not.toMatchObject({ code: 'ETIMEDOUT' });
  });
});

describe('a request over TLS', () => {
  async function secure(): Promise<Peer> {
    return untilTestEnds(await listen(createSecureServer(selfSigned(), echo), 'https'));
  }

  it('fails for an untrusted certificate', async () => {
    const { origin } = await secure();
    const error = await errorOf(guarded(origin).fetch(origin));
    expect(error.cause).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(kindOf(error)).toBe('transport');
  });

  it('reads the response and keeps the connection', async () => {
    const server = await secure();
    const clock = new VirtualClock();
    const { fetch } = guarded(server.origin, { clock });
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      for (const body of ['one', 'two']) {
        const response = await fetch(server.origin, { method: 'POST', body });
        expect(JSON.parse(await response.text())).toMatchObject({ body });
        await turn();
      }
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(server.connections()).toBe(1);
    // Only the timer of the idle connection runs.
    expect(clock.pendingCount).toBe(1);
  });
});
