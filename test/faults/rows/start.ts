/** A: the start of a stdio server. */

import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Seen } from '../expectation.ts';
import { eachOf, type Rows } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { backingOff, soon, started } from './one-server.ts';
import { scarcityRows } from './scarcity.ts';

/** Starts a bad server beside a good one, which must not be affected. */
async function besideGood(stage: Stage, bad: Peer | { readonly entry: object }): Promise<Seen> {
  const good = stage.stdio('ok');
  stage.start({ bad: { ...bad.entry }, good });
  const status = await stage.reaches('bad', 'backingOff', 'failed', 'blocked');
  await stage.reaches('good', 'ready');
  const call = await stage.call('bad', 'echo', {}, 1);
  const { code: callCode, outcome } = call;
  return { ...stage.seen(status), callCode, outcome };
}

const missing: Rows = {
  F01: {
    inject: 'command: no-such-command',
    expect: {
      state: 'failed',
      reason: 'notStartable',
      code: 'UNAVAILABLE',
      says: /no-such-command.*not found on PATH/u,
      callCode: ['FAILED', 'CONNECTING'],
      outcome: 'not_executed',
    },
    run: (stage) => besideGood(stage, { entry: { command: 'no-such-command' } }),
  },
  'F02/not-executable': {
    inject: 'command: a file without the right to execute',
    expect: { ...backingOff, code: 'UNAVAILABLE', says: /not executable/u },
    run(stage) {
      const file = path.join(stage.folder, 'server.sh');
      writeFileSync(file, '#!/bin/sh\n');
      chmodSync(file, 0o644);
      return besideGood(stage, { entry: { command: file } });
    },
  },
  'F02/folder': {
    inject: 'command: a folder',
    expect: { ...backingOff, code: 'UNAVAILABLE', says: /not executable/u },
    run: (stage) => besideGood(stage, { entry: { command: stage.folder } }),
  },
  'F03/known': {
    inject: 'cwd: /no/such',
    expect: {
      state: 'blocked',
      reason: 'invalidConfig',
      code: 'INVALID_CONFIG',
      says: /\/no\/such/u,
    },
    run: (stage) => besideGood(stage, stage.stdio('ok', [], { cwd: '/no/such' })),
  },
  'F03/vanishes': {
    inject: 'cwd: a folder that is gone at a restart',
    // The folder existed when the settings were read; the next attempt must report that it is gone.
    expect: { ...backingOff, code: 'UNAVAILABLE', says: /working folder.*gone.*does not exist/u },
    async run(stage) {
      const cwd = path.join(stage.folder, 'gone');
      mkdirSync(cwd);
      stage.start({ bad: stage.stdio('ok', [], { cwd: '${FAULT_CWD:-' + cwd + '}' }) });
      await stage.reaches('bad', 'ready');
      rmSync(cwd, { recursive: true });
      stage.troupe.send({ type: 'server.restart', server: 'bad' });
      return stage.seen(await stage.reaches('bad', 'backingOff', 'failed', 'blocked'));
    },
  },
};

const leaving: Rows = {
  F07: started('s:exit-0', { ...backingOff, code: 'CRASHED', exitCode: 0, settledMs: soon }),
  F08: started(
    's:exit-1',
    {
      ...backingOff,
      code: 'CRASHED',
      exitCode: 1,
      lastWords: 'the key is [redacted]',
      settledMs: soon,
    },
    { env: { API_KEY: '${FAULTS_SECRET}' } },
  ),
  F09: started('s:segv', {
    ...backingOff,
    code: 'CRASHED',
    signal: 'SIGSEGV',
    says: /SIGSEGV/u,
    settledMs: soon,
  }),
  F10: started('s:hang-init (connectTimeoutMs 500)', {
    ...backingOff,
    code: 'TIMEOUT',
    alive: 0,
    settledMs: { atMost: 3_500 },
  }),
  'F11/cold': {
    inject: 's:slow-init --ms 1500',
    expect: { state: 'ready', pending: 'bad', readyMs: { atMost: 1_000 }, tools: 2 },
    async run(stage) {
      const troupe = stage.start({ bad: stage.stdio('slow-init', ['--ms', '1500']) });
      const { pending, elapsedMs } = await troupe.ready();
      const status = await stage.reaches('bad', 'ready');
      const tools = troupe.tools().length;
      return { ...stage.seen(status), pending: pending.join(' '), readyMs: elapsedMs, tools };
    },
  },
  F12: {
    inject: 's:flaky-start --n 3',
    expect: { state: 'ready', starts: 4, toolChanges: 1, gapsOk: true },
    async run(stage) {
      // With a known era, because a server that exits during the era probe restarts immediately.
      const peer = stage.stdio('flaky-start', ['--n', '3'], { era: 'legacy' });
      stage.start({ bad: peer });
      const status = await stage.reaches('bad', 'ready', 'failed');
      const starts = peer.log.all('start').map(({ at }) => at);
      const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
      // Full jitter below 0.5, 1 and 2 s, never below 0.1 s; a start itself takes a while.
      const bounds = [500, 1_000, 2_000];
      const gapsOk = gaps.every((gap, index) => gap >= 100 && gap < (bounds[index] ?? 0) + 1_500);
      const toolChanges = stage.toolChanges.length;
      return {
        ...stage.seen(status),
        starts: starts.length,
        gaps: gaps.join(' '),
        gapsOk,
        toolChanges,
      };
    },
  },
  'F14/auto': {
    inject: 's:clean-exit-after-ready',
    expect: { state: 'failed', reason: 'restartNever', starts: 1 },
    async run(stage) {
      const peer = stage.stdio('clean-exit-after-ready');
      stage.start({ bad: peer });
      const status = await stage.reaches('bad', 'failed', 'backingOff', 'dormant', 'stopped');
      return { ...stage.seen(status), starts: peer.log.count('start') };
    },
  },
  'F14/always': {
    inject: 's:clean-exit-after-ready, restart: always',
    expect: { state: 'ready', starts: 2 },
    async run(stage) {
      const peer = stage.stdio('clean-exit-after-ready', [], { restart: 'always' });
      stage.start({ bad: peer });
      await stage.reaches('bad', 'backingOff', 'failed');
      const status = await stage.rests('bad', 'ready', 'failed');
      return { ...stage.seen(status), starts: peer.log.count('start') };
    },
  },
  'F15/waiting': {
    inject: '100 servers whose handshake waits 0.2 s',
    expect: { ready: 100, readyMs: { atMost: 20_000 } },
    isAlone: true,
    run: (stage) => manyStarts(stage, 100, { SLOW: '0.2' }),
  },
  'F15/working': {
    inject: '40 servers whose handshake works 0.2 s, slots.local: 3',
    // At least three start each second, because permits lapse; on a busy machine a start takes up
    // to four seconds.
    expect: { ready: 40, mostAtOnce: { atMost: 12 } },
    isAlone: true,
    run: (stage) => manyStarts(stage, 40, { WORK: '250000' }, { slots: { local: 3 } }),
  },
};

async function manyStarts(
  stage: Stage,
  count: number,
  env: object,
  mcp: object = {},
): Promise<Seen> {
  const from = performance.now();
  const peers = Array.from({ length: count }, () => stage.least({ env }));
  const troupe = stage.start(Object.fromEntries(peers.map((peer, n) => [`s${n}`, peer])), { mcp });
  const ready = (): number =>
    troupe.snapshot().servers.filter(({ state }) => state === 'ready').length;
  await until(() => ready() === count, `${count} ready servers`, 50_000);
  const readyMs = Math.round(performance.now() - from);
  return { ready: ready(), readyMs, ...mostStartingAtOnce(peers) };
}

/** The highest number of concurrent starts, and its time. */
function mostStartingAtOnce(peers: readonly Peer[]): Seen {
  const steps = peers
    .flatMap(({ log }) => [...log.all('start'), ...log.all('initialized')])
    // At the same time, an end comes before a start.
    .sort((a, b) => a.at - b.at || (a.event === 'start' ? 1 : -1));
  let now = 0;
  let mostAtOnce = 0;
  let afterMs = 0;
  for (const { event, at } of steps) {
    now += event === 'start' ? 1 : -1;
    if (now > mostAtOnce) afterMs = at - (steps[0]?.at ?? 0);
    mostAtOnce = Math.max(mostAtOnce, now);
  }
  return { mostAtOnce, afterMs };
}

const unsupported = {
  state: 'failed',
  reason: 'versionUnsupported',
  code: 'VERSION_UNSUPPORTED',
} as const;

const handshakes: Rows = {
  F16: started('s:exit-on-discover', {
    state: 'ready',
    starts: { atMost: 2 },
    era: 'legacy',
    settledMs: { atMost: 4_000 },
  }),
  F17: {
    inject: 's:hang-discover, then a restart',
    expect: { state: 'ready', firstMs: { atMost: 4_000 }, discovers: 1, starts: 2 },
    async run(stage) {
      const peer = stage.stdio('hang-discover');
      const from = performance.now();
      const troupe = stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const firstMs = Math.round(performance.now() - from);
      const status = await troupe.restartAndWait('bad');
      const discovers = peer.log.count('server/discover');
      return { ...stage.seen(status), firstMs, discovers, starts: peer.log.count('start') };
    },
  },
  'F18/stdio': {
    ...started('s:discover-no-common', { ...unsupported, inits: 0, starts: 1 }),
    // On a busy machine the probe could time out, and `initialize` would rightly follow.
    speed: 0.1,
  },
  'F18/late': started('s:discover-late', {
    state: 'ready',
    era: 'modern',
    inits: 1,
    starts: 1,
    settledMs: { atMost: 4_000 },
  }),
  ...eachOf(['"1900-01-01"', '"2099-01-01"', '""', '5'], (version) => [
    `F19/${version.replaceAll('"', '') || 'empty'}`,
    started(`s:init-version-unknown --version ${version}`, unsupported),
  ]),
  F20: started('s:init-no-tools', { state: ['ready', 'failed'], tools: 0, starts: 1 }),
  'F21/error': started('s:init-error', { ...backingOff, says: /not today/u, settledMs: soon }),
  'F21/wrong-shape': started('s:init-wrong-shape (connectTimeoutMs 10000)', {
    ...backingOff,
    code: 'BAD_RESPONSE',
    settledMs: { atMost: 2_000 },
  }),
  'F21/twice': started('s:init-twice', { state: 'ready', restarts: 0, settledMs: soon }),
};

export const startRows: Rows = {
  ...missing,
  ...scarcityRows,
  ...leaving,
  ...handshakes,
};
