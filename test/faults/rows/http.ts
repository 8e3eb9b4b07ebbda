/** G: HTTP servers, and the network in between. */

import type { Expectation, Seen } from '../expectation.ts';
import { pause } from '../pause.ts';
import type { AnyRow, Row } from '../row.ts';
import type { Stage } from '../stage.ts';
import { until } from '../until.ts';
import { httpAnswerRows } from './http-answers.ts';
import { backingOff, seenOf } from './one-server.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Starts a server behind a proxy, and settles when it is ready. */
async function proxied(stage: Stage, mode = 'ok') {
  const peer = await stage.http(mode);
  const proxy = await stage.proxy(peer.port);
  stage.start({ bad: { ...proxy.entry, timeoutMs: 5_000 } });
  await stage.reaches('bad', 'ready');
  return { peer, proxy };
}

const network: readonly Row[] = [
  {
    id: 'F100',
    variant: 'refused',
    inject: 'p:refuse from the start',
    expect: { ...backingOff, code: 'UNAVAILABLE', says: /ECONNREFUSED/u, later: 'ready' },
    async run(stage) {
      const peer = await stage.http('ok');
      const proxy = await stage.proxy(peer.port);
      await proxy.refuse();
      stage.start({ bad: proxy.entry });
      const status = await stage.reaches('bad', 'backingOff', 'failed');
      await proxy.accept();
      const { state: later } = await stage.rests('bad', 'ready', 'failed');
      return { ...stage.seen(status), later };
    },
  },
  {
    id: 'F100',
    variant: 'flap',
    inject: 'h:flap, killed and started again under calls',
    expect: { state: 'ready', settled: 60, twice: 0, lost: 0, ranAnyway: 0 },
    async run(stage) {
      const peer = await stage.http('ok');
      stage.start({ bad: peer.with({ timeoutMs: 4_000 }) });
      await stage.reaches('bad', 'ready');
      const calls = Array.from({ length: 60 }, async (_, n) => {
        await pause(n * 50);
        return { n, end: await stage.call('bad', 'echo', { n }) };
      });
      for (let life = 0; life < 2; life += 1) {
        await pause(600);
        await peer.kill();
        await pause(300);
        await peer.revive();
      }
      const ends = await Promise.all(calls);
      const effects = peer.log.all('effect').map(({ n = -1 }) => n);
      const ran = new Set(effects);
      const { state } = await stage.rests('bad', 'ready');
      return {
        state,
        settled: ends.length,
        isOk: ends.filter(({ end }) => end.isOk).length,
        twice: effects.length - ran.size,
        lost: ends.filter(({ n, end }) => end.isOk && !ran.has(n)).length,
        ranAnyway: ends.filter(({ n, end }) => end.outcome === 'not_executed' && ran.has(n)).length,
      };
    },
  },
  {
    id: 'F100',
    variant: 'blackhole',
    inject: 'p:blackhole during a call (timeoutMs 1000)',
    expect: { code: 'TIMEOUT', outcome: 'unknown', callMs: { atMost: 2_000 }, next: true },
    async run(stage) {
      const { proxy } = await proxied(stage);
      proxy.toxic = { kind: 'blackhole' };
      const seen = seenOf(stage, await stage.call('bad', 'echo', {}, 1_000));
      proxy.toxic = { kind: 'none' };
      proxy.reset();
      const { isOk: next } = await stage.call('bad', 'echo', {}, 10_000);
      return { ...seen, next };
    },
  },
  {
    id: 'F100',
    variant: 'half-open',
    inject: 'p:blackhole and no call: the other side is gone in silence',
    expect: {
      state: 'ready',
      code: ['TIMEOUT', 'STREAM_LOST', 'UNAVAILABLE'],
      callMs: { atMost: 2_000 },
    },
    async run(stage) {
      const { proxy } = await proxied(stage);
      proxy.toxic = { kind: 'blackhole' };
      await pause(500);
      return seenOf(stage, await stage.call('bad', 'echo', {}, 1_000));
    },
  },
  {
    id: 'F100',
    variant: 'reset',
    inject: 'p:reset of all connections during a call',
    expect: { code: 'STREAM_LOST', outcome: 'unknown', callMs: { atMost: 1_500 }, next: true },
    async run(stage) {
      const { peer, proxy } = await proxied(stage);
      const running = stage.call('bad', 'slow', { ms: 3_000 });
      await peer.log.nth('tools/call');
      proxy.reset();
      const seen = seenOf(stage, await running);
      const { isOk: next } = await stage.call('bad', 'echo', {}, 10_000);
      return { ...seen, next };
    },
  },
  {
    id: 'F100',
    variant: 'slice',
    inject: 'p:slice, 3 bytes at a time',
    expect: { isOk: true, isExact: true, state: 'ready' },
    async run(stage) {
      const { proxy } = await proxied(stage);
      proxy.toxic = { kind: 'slice', bytes: 3 };
      const { isOk, text } = await stage.call('bad', 'echo', { text: 'grüße 🦉' });
      return { isOk, isExact: text === 'grüße 🦉', state: stage.status('bad').state };
    },
  },
  {
    id: 'F100',
    variant: 'cut',
    inject: 'p:reset after 40 bytes of an answer',
    expect: { code: 'STREAM_LOST', outcome: 'unknown', callMs: { atMost: 1_500 } },
    async run(stage) {
      const { proxy } = await proxied(stage);
      proxy.reset();
      proxy.toxic = { kind: 'reset', afterBytes: 40 };
      return seenOf(stage, await stage.call('bad', 'echo'));
    },
  },
  {
    id: 'F103',
    variant: 'keepalive',
    inject: 'h:keepalive-reset, 10 calls on stale connections',
    // A tool call that may have been read must not be sent again; none was read here.
    expect: { settled: 10, twice: 0, lost: 0, ranAnyway: 0, state: 'ready' },
    async run(stage) {
      const peer = await stage.http('keepalive-reset');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const ends = [];
      for (let n = 0; n < 10; n += 1) {
        ends.push(await stage.call('bad', 'echo', { n }, 4_000));
        await pause(20);
      }
      const effects = peer.log.all('effect').map(({ n = -1 }) => n);
      const ran = new Set(effects);
      const { state } = await stage.rests('bad', 'ready');
      return {
        state,
        settled: ends.length,
        isOk: ends.filter(({ isOk }) => isOk).length,
        twice: effects.length - ran.size,
        lost: ends.filter(({ isOk }, n) => isOk && !ran.has(n)).length,
        ranAnyway: ends.filter(({ outcome }, n) => outcome === 'not_executed' && ran.has(n)).length,
      };
    },
  },
];

/** Starts one mode, and tells where it comes to rest and what it was asked on the way. */
async function restOf(
  stage: Stage,
  mode: string,
  args: readonly string[] = [],
  more: Entry = {},
): Promise<Seen> {
  const peer = await stage.http(mode, args);
  stage.start({ bad: peer.with({ connectTimeoutMs: 3_000, ...more }) });
  const status = await stage.reaches('bad', 'ready', 'authRequired', 'backingOff', 'failed');
  const inits = peer.log.count('initialize');
  return { ...stage.seen(status), era: status.era, inits, action: status.action };
}

const parked: readonly Row[] = [
  ...[
    { id: 'F104', mode: '401' },
    { id: 'F109', mode: '403' },
  ].map(
    ({ id, mode }): Row => ({
      id,
      variant: mode,
      inject: `h:${mode}`,
      expect: {
        state: 'authRequired',
        code: 'AUTH_REQUIRED',
        action: /log in/u,
        requests: { atMost: 2 },
        later: 0,
        callCode: 'AUTH_REQUIRED',
      },
      async run(stage) {
        const peer = await stage.http(mode);
        stage.start({ bad: peer });
        const status = await stage.reaches('bad', 'authRequired', 'backingOff', 'failed');
        const requests = peer.log.all().length;
        await pause(1_500);
        const later = peer.log.all().length - requests;
        const { code: callCode } = await stage.call('bad', 'echo');
        return { ...stage.seen(status), action: status.action, requests, later, callCode };
      },
    }),
  ),
  {
    id: 'F104',
    variant: '401-after',
    inject: 'h:401-after a call, then signed in',
    expect: {
      state: 'authRequired',
      callCode: 'AUTH_REQUIRED',
      outcome: 'not_executed',
      later: 'ready',
    },
    async run(stage) {
      const peer = await stage.http('401-after');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const { code: callCode, outcome } = await stage.call('bad', 'echo');
      const status = await stage.rests('bad', 'authRequired');
      await peer.kill();
      await peer.revive(['ok']);
      stage.troupe.send({ type: 'auth.completed', server: 'bad' });
      const { state: later } = await stage.rests('bad', 'ready');
      return { ...stage.seen(status), callCode, outcome, later };
    },
  },
  {
    id: 'F109',
    variant: 'scope-loop',
    inject: 'h:403-scope-loop, a call',
    expect: { code: 'AUTH_REQUIRED', outcome: 'unknown', calls: { atMost: 2 } },
    async run(stage) {
      const peer = await stage.http('403-scope-loop');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const seen = seenOf(stage, await stage.call('bad', 'echo'));
      return { ...seen, calls: peer.log.count('tools/call') };
    },
  },
  {
    id: 'F111',
    inject: 'h:404-session-loop',
    expect: { state: ['backingOff', 'suspended'], inits: { atMost: 3 } },
    speed: 4,
    async run(stage) {
      const peer = await stage.http('404-session-loop');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'backingOff', 'suspended');
      // Ten seconds of the troupe.
      await pause(2_500);
      return { ...stage.seen(stage.status('bad')), inits: peer.log.count('initialize') };
    },
  },
  {
    id: 'F112',
    inject: 'h:404-transient without a session',
    expect: { isOk: false, state: 'ready', next: true, inits: 1 },
    async run(stage) {
      const peer = await stage.http('404-transient');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const seen = seenOf(stage, await stage.call('bad', 'echo'));
      const { isOk: next } = await stage.call('bad', 'echo');
      return {
        ...seen,
        next,
        state: stage.status('bad').state,
        inits: peer.log.count('initialize'),
      };
    },
  },
  {
    id: 'F113',
    variant: '503-after',
    inject: 'h:503-after, Retry-After: 3',
    expect: {
      ...backingOff,
      code: ['UNAVAILABLE', 'RATE_LIMITED'],
      waitMs: { atLeast: 2_500 },
      later: 'ready',
    },
    async run(stage) {
      const peer = await stage.http('503-after', ['--n', '1']);
      stage.start({ bad: peer });
      const status = await stage.reaches('bad', 'backingOff', 'ready');
      const waitMs = Date.parse(status.nextAttemptAt ?? status.since) - Date.now();
      const { state: later } = await stage.rests('bad', 'ready');
      return { ...stage.seen(status), waitMs, later };
    },
  },
  {
    id: 'F113',
    variant: '500',
    inject: 'h:500',
    expect: { ...backingOff, code: 'UNAVAILABLE' },
    run: (stage) => restOf(stage, '500'),
  },
];

const eras: readonly Row[] = [
  ...(
    [
      ['legacy-only', 'ok', { state: 'ready', era: 'legacy' }],
      ['modern-only', 'modern-only', { state: 'ready', era: 'modern', inits: 0 }],
      ['405', '405-discover', { state: 'ready', era: 'legacy' }],
      ['500', '500-discover', { ...backingOff, code: 'UNAVAILABLE', inits: 0 }],
    ] as readonly (readonly [string, string, Expectation])[]
  ).map(
    ([variant, mode, expect]): Row => ({
      id: 'F123',
      variant,
      inject: `h:${mode}`,
      expect,
      run: (stage) => restOf(stage, mode),
    }),
  ),
  {
    id: 'F18',
    variant: 'http',
    inject: 'h:modern-bad-version',
    expect: {
      state: 'failed',
      reason: 'versionUnsupported',
      code: 'VERSION_UNSUPPORTED',
      inits: 0,
    },
    run: (stage) => restOf(stage, 'modern-bad-version'),
  },
  {
    id: 'F123',
    variant: 'changes',
    inject: 'a modern server is replaced by a legacy one',
    expect: { before: 'modern', after: 'legacy', isOk: true },
    async run(stage) {
      const peer = await stage.http('modern-only');
      stage.start({ bad: peer });
      const { era: before } = await stage.reaches('bad', 'ready');
      await peer.kill();
      await peer.revive(['ok']);
      stage.troupe.send({ type: 'server.restart', server: 'bad' });
      await until(() => stage.status('bad').era === 'legacy', 'the other era');
      const { era: after } = await stage.rests('bad', 'ready');
      const { isOk } = await stage.call('bad', 'echo');
      return { before, after, isOk };
    },
  },
];

const absent: readonly AnyRow[] = [
  ...[
    'issuer-mismatch',
    'resource-mismatch',
    'metadata-hang',
    'token-hang',
    'token-html',
    'token-bad',
  ].map((kind) => ({ id: 'F108', variant: kind, inject: `h:401-${kind}`, absent: 'needs OAuth' })),
  {
    id: 'F104',
    variant: 'forever',
    inject: 'h:401-forever, signing in again and again',
    absent: 'needs OAuth',
  },
];

export const httpRows: readonly AnyRow[] = [
  ...network,
  ...parked,
  ...httpAnswerRows,
  ...eras,
  ...absent,
];
