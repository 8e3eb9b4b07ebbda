/** Which connections an HTTP session makes, keeps and refuses. */

import { createServer } from 'node:net';

import { describe, expect, it } from 'vitest';
import { describeError } from '../../../../actors/transports/connection/failure.ts';
import { rangeOf } from '../../../../actors/transports/http/addresses.ts';
import { announcedIdleMs } from '../../../../actors/transports/http/sockets.ts';
import { startDeadline } from '../../../../src/domain/clock.ts';
import { classifyFailure } from '../../../../src/policies/failures/classify.ts';
import { realClock } from '../../../../src/runtime/real-clock.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { turn } from '../../../support/turn.ts';
import { echo, errorOf, type GuardedFetch, guarded, peer, resolverOf } from './bench.ts';

async function post({ fetch }: GuardedFetch, url: string): Promise<string> {
  const text = await (await fetch(url, { method: 'POST', body: '{}' })).text();
  // The connection is free again in the next turn.
  await turn();
  return text;
}

describe('connections', () => {
  it('are reused, with one added for each concurrent request', async () => {
    const server = await peer(echo);
    const one = guarded(server.origin);
    for (let count = 0; count < 5; count += 1) await post(one, server.origin);
    expect(server.connections()).toBe(1);
    await Promise.all([
      post(one, server.origin),
      post(one, server.origin),
      post(one, server.origin),
    ]);
    expect(server.connections()).toBe(3);
  });

  it('are all kept after as many concurrent requests as the limit allows', async () => {
    const server = await peer(echo);
    const one = guarded(server.origin);
    const burst = () => Promise.all(Array.from({ length: 64 }, () => post(one, server.origin)));
    await burst();
    await turn();
    await burst();
    expect(server.connections()).toBe(64);
  });

  it.each([
    ['four seconds', 0, 4_000],
    ['one second less than the server announced', 3_000, 2_000],
    ['at most a minute', 600_000, 60_000],
  ])('are kept idle for %s', async (_what, announcedMs, keptMs) => {
    const clock = new VirtualClock();
    const server = await peer(echo, announcedMs);
    const one = guarded(server.origin, { clock });
    await post(one, server.origin);
    clock.advanceBy(keptMs - 1);
    await post(one, server.origin);
    expect(server.connections()).toBe(1);
    clock.advanceBy(keptMs);
    await server.quiet();
    await post(one, server.origin);
    expect(server.connections()).toBe(2);
  });

  it('are not kept when the server announces too short a time', async () => {
    const server = await peer(echo, 1_000);
    const one = guarded(server.origin);
    await post(one, server.origin);
    await post(one, server.origin);
    expect(server.connections()).toBe(2);
  });

  it.each([
    ['timeout=5', 4_000],
    ['max=100, timeout=30', 29_000],
    ['Timeout = "7"', 6_000],
    ['timeout=1', 0],
    ['timeout=0', 0],
    ['timeout=99999', 60_000],
    ['timeout=soon', 4_000],
    ['max=7', 4_000],
  ])('are kept as announced by %s for %i ms', (header, keptMs) => {
    expect(announcedIdleMs(header)).toBe(keptMs);
  });

  it('end with the session, idle or not, and none is opened afterwards', async () => {
    const clock = new VirtualClock();
    const server = await peer((request, response) => {
      if (request.url === '/held') response.writeHead(200).flushHeaders();
      else echo(request, response);
    });
    const one = guarded(server.origin, { clock });
    const held = await one.fetch(`${server.origin}/held`);
    await post(one, server.origin);
    expect(clock.pendingCount).toBe(1);
    const reading = errorOf(held.text());
    one.close();
    expect(await reading).toBeInstanceOf(TypeError);
    await server.quiet();
    expect(clock.pendingCount).toBe(0);
    const error = await errorOf(one.fetch(server.origin));
    expect(error.message).toBe(
      `The request to ${server.origin}/ failed: the session is closed (CONNECTION_CLOSED).`,
    );
    expect(server.connections()).toBe(2);
  });

  it('have deadlines that do not keep the process alive', () => {
    let handle: unknown;
    const clock = {
      ...realClock,
      setTimeout: (callback: () => void, ms: number) =>
        (handle = realClock.setTimeout(callback, ms)),
    };
    const stop = startDeadline(clock, 60_000, () => {});
    expect((handle as NodeJS.Timeout).hasRef()).toBe(false);
    stop();
  });
});

/** Answers the first request of each connection, and resets the connection at its second. */
async function resetting(): Promise<{
  readonly origin: string;
  readonly seen: string[];
  close(): Promise<void>;
}> {
  const seen: string[] = [];
  const server = createServer((socket) => {
    let count = 0;
    socket.on('error', () => {});
    socket.on('data', (data) => {
      seen.push(String(data).split(' ')[0] ?? '');
      count += 1;
      if (count > 1) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

describe('a connection that the server closes as a request is sent', () => {
  it.each(['GET', 'DELETE'])('is replaced for a %s, which may run twice', async (method) => {
    const server = await resetting();
    const one = guarded(server.origin);
    await post(one, server.origin);
    expect(await (await one.fetch(server.origin, { method })).text()).toBe('ok');
    expect(server.seen).toEqual(['POST', method, method]);
    one.close();
    await server.close();
  });

  it('fails a POST, which the server may have run', async () => {
    const server = await resetting();
    const one = guarded(server.origin);
    await post(one, server.origin);
    const error = await errorOf(post(one, server.origin));
    expect(error.cause).toMatchObject({ code: 'ECONNRESET' });
    expect(server.seen).toEqual(['POST', 'POST']);
    one.close();
    await server.close();
  });

  it('fails a GET on a new connection', async () => {
    const seen: string[] = [];
    const server = await peer((request) => {
      seen.push(String(request.method));
      request.socket.resetAndDestroy();
    });
    const error = await errorOf(guarded(server.origin).fetch(server.origin));
    expect(error.cause).toMatchObject({ code: 'ECONNRESET' });
    expect(seen).toEqual(['GET']);
  });
});

describe('an address', () => {
  it.each([
    [
      'forbidden',
      '169.254.169.254 169.254.0.1 fe80::1 fe80::1%eth0 fd00:ec2::254 100.100.100.200 224.0.0.1',
    ],
    [
      'forbidden',
      '255.255.255.255 ff02::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 nonsense',
    ],
    [
      'loopback',
      '127.0.0.1 127.9.9.9 0.0.0.0 ::1 :: ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::',
    ],
    [
      'private',
      '10.0.0.1 172.31.255.255 192.168.1.1 100.64.0.1 fc00::1 fd12::1 fec0::1 ::ffff:10.0.0.1 2001::1',
    ],
    [
      'public',
      '1.1.1.1 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:1.1.1.1 64:ff9b::101:101 2002:101:101::1',
    ],
  ] as const)('is classified as %s: %s', (range, addresses) => {
    for (const address of addresses.split(' '))
      expect([address, rangeOf(address)]).toEqual([address, range]);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data?token=t',
    'http://0xa9fea9fe/',
    'http://2852039166/',
    'http://[::ffff:169.254.169.254]/',
    'http://[fe80::1]/',
  ])('is refused if it belongs to a metadata service: %s', async (url) => {
    const error = await errorOf(guarded(url).fetch(url));
    expect(error.message).toMatch(
      /^The request to http:.* failed: connecting to .* is not allowed \(ERR_ADDRESS_BLOCKED\)\.$/u,
    );
    expect(error.message).not.toContain('token');
    expect(classifyFailure({ ...describeError(error, []), phase: 'ready' }).kind).toBe(
      'unavailable',
    );
  });

  it('is refused when a name resolves to it, even if the name resolved elsewhere before', async () => {
    const server = await peer(echo);
    const home = server.origin.replace('127.0.0.1', 'rebind.test');
    const names: Record<string, string[]> = { 'rebind.test': ['127.0.0.1'] };
    const clock = new VirtualClock();
    const one = guarded(home, { clock, resolve: resolverOf(names) });
    await post(one, home);
    names['rebind.test'] = ['169.254.169.254'];
    clock.advanceBy(4_000);
    await server.quiet();
    const error = await errorOf(post(one, home));
    expect(error.cause).toMatchObject({
      code: 'ERR_ADDRESS_BLOCKED',
      message: 'connecting to rebind.test (169.254.169.254) is not allowed',
    });
  });

  it('is used if it is allowed, even when the name resolves to forbidden ones too', async () => {
    const server = await peer(echo);
    const home = server.origin.replace('127.0.0.1', 'both.test');
    const resolve = resolverOf({ 'both.test': ['fe80::1', '127.0.0.1'] });
    expect(await post(guarded(home, { resolve }), home)).toContain('both.test');
  });

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'http://user:hunter2@127.0.0.1/'])(
    'is refused if it is not plain HTTP: %s',
    async (url) => {
      const error = await errorOf(guarded('http://127.0.0.1/').fetch(url));
      expect(error.cause).toMatchObject({ code: 'ERR_ADDRESS_BLOCKED' });
      expect(error.message).not.toContain('hunter2');
    },
  );
});

describe('an origin from the server', () => {
  const names = {
    'home.test': ['127.0.0.1'],
    'near.test': ['127.0.0.1'],
    'lan.test': ['10.1.1.1'],
  };

  it('may be as local as the server, but no more local', async () => {
    const server = await peer(echo);
    const at = (name: string): string => server.origin.replace('127.0.0.1', name);
    const one = guarded(at('home.test'), { resolve: resolverOf(names) });
    expect(await errorOf(post(one, at('near.test')))).toMatchObject({
      cause: { code: 'ERR_ADDRESS_BLOCKED' },
    });
    expect(server.connections()).toBe(0);
    await post(one, at('home.test'));
    await post(one, at('near.test'));
    expect(server.connections()).toBe(2);
    expect(await errorOf(post(one, at('lan.test')))).toMatchObject({
      cause: { code: 'ERR_ADDRESS_BLOCKED' },
    });
    expect(await errorOf(post(one, 'http://169.254.169.254/'))).toMatchObject({
      cause: { code: 'ERR_ADDRESS_BLOCKED' },
    });
  });
});
