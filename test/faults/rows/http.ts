/** G: HTTP servers, and the network to them. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Expectation } from '../expectation.ts';
import type { HttpPeer } from '../http-peer.ts';
import { eachOf, type Row, type Rows } from '../row.ts';
import type { CallEnd, Stage } from '../stage.ts';
import type { TcpProxy } from '../tcp-proxy.ts';
import { until } from '../until.ts';
import { httpAnswerRows } from './http-answers.ts';
import { backingOff, faultIn, readyHttp, readyServer, seenOf, tallyOf } from './one-server.ts';

/** A row that disturbs one call through a proxy; the next call must succeed. */
function disturbed(
  inject: string,
  expect: Expectation,
  call: (stage: Stage, proxy: TcpProxy, peer: HttpPeer) => Promise<CallEnd>,
): Row {
  return {
    inject,
    expect: { ...expect, next: true },
    async run(stage) {
      const peer = await stage.http('ok');
      const proxy = await stage.proxy(peer.port);
      stage.start({ bad: { ...proxy.entry, timeoutMs: 5_000 } });
      await stage.reaches('bad', 'ready');
      const seen = seenOf(stage, await call(stage, proxy, peer));
      proxy.toxic = { kind: 'none' };
      proxy.reset();
      // A call on a connection whose reset is still on its way would be lost.
      await pause(50);
      const { isOk: next } = await stage.call('bad', 'echo', {}, 10_000);
      return { ...seen, next };
    },
  };
}

const lost = { code: 'STREAM_LOST', outcome: 'unknown', callMs: { atMost: 1_500 } } as const;

const network: Rows = {
  'F100/refused': {
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
  'F100/flap': {
    inject: 'h:flap, killed and started again under calls',
    expect: { state: 'ready', settled: 60, twice: 0, lost: 0, ranAnyway: 0 },
    async run(stage) {
      const peer = await stage.http('ok');
      await readyServer(stage, peer.with({ timeoutMs: 4_000 }));
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
      const { state } = await stage.rests('bad', 'ready');
      return { state, ...tallyOf(ends, peer.log) };
    },
  },
  'F100/blackhole': disturbed(
    'p:blackhole during a call (timeoutMs 1000)',
    { code: 'TIMEOUT', outcome: 'unknown', callMs: { atMost: 2_000 } },
    (stage, proxy) => {
      proxy.toxic = { kind: 'blackhole' };
      return stage.call('bad', 'echo', {}, 1_000);
    },
  ),
  'F100/half-open': disturbed(
    'p:blackhole while no call is in flight: the other side vanishes silently',
    {
      state: 'ready',
      code: ['TIMEOUT', 'STREAM_LOST', 'UNAVAILABLE'],
      callMs: { atMost: 2_000 },
    },
    async (stage, proxy) => {
      proxy.toxic = { kind: 'blackhole' };
      await pause(500);
      return stage.call('bad', 'echo', {}, 1_000);
    },
  ),
  'F100/reset': disturbed(
    'p:reset of all connections during a call',
    lost,
    async (stage, proxy, peer) => {
      const running = stage.call('bad', 'slow', { ms: 3_000 });
      await peer.log.nth('tools/call');
      proxy.reset();
      return running;
    },
  ),
  'F100/slice': disturbed(
    'p:slice, 3 bytes at a time',
    { isOk: true, text: 'grüße 🦉', state: 'ready' },
    (stage, proxy) => {
      proxy.toxic = { kind: 'slice', bytes: 3 };
      return stage.call('bad', 'echo', { text: 'grüße 🦉' });
    },
  ),
  'F100/cut': disturbed('p:reset after 40 bytes of an answer', lost, (stage, proxy) => {
    proxy.reset();
    proxy.toxic = { kind: 'reset', afterBytes: 40 };
    return stage.call('bad', 'echo');
  }),
  'F103/keepalive': {
    inject: 'h:keepalive-reset, 10 calls on stale connections',
    // A tool call that the server may have read must not be repeated; none was read here.
    expect: { settled: 10, twice: 0, lost: 0, ranAnyway: 0, state: 'ready' },
    async run(stage) {
      const peer = await readyHttp(stage, 'keepalive-reset');
      const ends = [];
      for (let n = 0; n < 10; n += 1) {
        ends.push({ n, end: await stage.call('bad', 'echo', { n }, 4_000) });
        await pause(20);
      }
      const { state } = await stage.rests('bad', 'ready');
      return { state, ...tallyOf(ends, peer.log) };
    },
  },
};

/** A row that starts the HTTP server it describes, and reports the first state that lasts. */
function rested(inject: string, expect: Expectation): Row {
  const { mode, args } = faultIn(inject);
  return {
    inject,
    expect,
    async run(stage) {
      const peer = await stage.http(mode, args);
      stage.start({ bad: peer.with({ connectTimeoutMs: 3_000 }) });
      const status = await stage.reaches('bad', 'ready', 'authRequired', 'backingOff', 'failed');
      const inits = peer.log.count('initialize');
      return { ...stage.seen(status), era: status.era, inits, action: status.action };
    },
  };
}

const parked: Rows = {
  ...eachOf(['F104/401', 'F109/403'], (name) => [
    name,
    {
      inject: `h:${name.slice(5)}`,
      expect: {
        state: 'authRequired',
        code: 'AUTH_REQUIRED',
        action: 'troupe login bad',
        requests: { atMost: 2 },
        later: 0,
        callCode: 'AUTH_REQUIRED',
      },
      async run(stage) {
        const peer = await stage.http(name.slice(5));
        stage.start({ bad: peer });
        const status = await stage.reaches('bad', 'authRequired', 'backingOff', 'failed');
        const requests = peer.log.all().length;
        await pause(1_500);
        const later = peer.log.all().length - requests;
        const { code: callCode } = await stage.call('bad', 'echo');
        return { ...stage.seen(status), action: status.action, requests, later, callCode };
      },
    },
  ]),
  'F104/401-after': {
    inject: 'h:401-after a call, then signed in',
    expect: {
      state: 'authRequired',
      callCode: 'AUTH_REQUIRED',
      outcome: 'not_executed',
      later: 'ready',
    },
    async run(stage) {
      const peer = await readyHttp(stage, '401-after');
      const { code: callCode, outcome } = await stage.call('bad', 'echo');
      const status = await stage.rests('bad', 'authRequired');
      await peer.kill();
      await peer.revive(['ok']);
      stage.troupe.send({ type: 'auth.completed', server: 'bad' });
      const { state: later } = await stage.rests('bad', 'ready');
      return { ...stage.seen(status), callCode, outcome, later };
    },
  },
  'F109/scope-loop': {
    inject: 'h:403-scope-loop, a call',
    expect: { code: 'AUTH_REQUIRED', outcome: 'unknown', calls: { atMost: 2 } },
    async run(stage) {
      const peer = await readyHttp(stage, '403-scope-loop');
      const seen = seenOf(stage, await stage.call('bad', 'echo'));
      return { ...seen, calls: peer.log.count('tools/call') };
    },
  },
  F111: {
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
  F112: {
    inject: 'h:404-transient without a session',
    expect: { isOk: false, state: 'ready', next: true, inits: 1 },
    async run(stage) {
      const peer = await readyHttp(stage, '404-transient');
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
  'F113/503-after': {
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
  'F113/500': rested('h:500', { ...backingOff, code: 'UNAVAILABLE' }),
};

const eras: Rows = {
  'F123/legacy-only': rested('h:ok', { state: 'ready', era: 'legacy' }),
  'F123/modern-only': rested('h:modern-only', { state: 'ready', era: 'modern', inits: 0 }),
  'F123/405': rested('h:405-discover', { state: 'ready', era: 'legacy' }),
  'F123/500': rested('h:500-discover', { state: 'ready', era: 'legacy', inits: 1 }),
  'F18/http': rested('h:modern-bad-version', {
    state: 'failed',
    reason: 'versionUnsupported',
    code: 'VERSION_UNSUPPORTED',
    inits: 0,
  }),
  'F123/changes': {
    inject: 'a modern server is replaced by a legacy one',
    expect: { before: 'modern', after: 'legacy', isOk: true },
    async run(stage) {
      const peer = await stage.http('modern-only');
      stage.start({ bad: peer });
      const { era: before } = await stage.reaches('bad', 'ready');
      await peer.kill();
      await peer.revive(['stateful']);
      stage.troupe.send({ type: 'server.restart', server: 'bad' });
      await until(() => stage.status('bad').era === 'legacy', 'the other era');
      const { era: after } = await stage.rests('bad', 'ready');
      const { isOk } = await stage.call('bad', 'echo');
      return { before, after, isOk };
    },
  },
};

export const httpRows: Rows = {
  ...network,
  ...parked,
  ...httpAnswerRows,
  ...eras,
};
