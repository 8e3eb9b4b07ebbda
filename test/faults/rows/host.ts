/** J: the host and its clock. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Seen } from '../expectation.ts';
import type { HttpPeer } from '../http-peer.ts';
import type { Row, Rows } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { readyServer } from './one-server.ts';

/** Blocks the event loop. */
function stall(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const sleeping: Row = {
  inject: 'SIGSTOP to troupe up for 4 s under 4 servers, p:blackhole on one',
  expect: {
    state: 'ready ready ready ready',
    restarts: { atMost: 1 },
    wakeMs: { atMost: 30_000 },
    samePids: true,
  },
  async run(stage) {
    const peer = await stage.http('ok');
    const proxy = await stage.proxy(peer.port);
    const servers = { a: stage.stdio('ok'), b: stage.stdio('ok'), c: peer, d: { ...proxy.entry } };
    const up = stage.up(servers);
    const isReady = ({ servers: all }: { servers: readonly { state: string }[] }): boolean =>
      all.length === 4 && all.every(({ state }) => state === 'ready');
    const before = await up.when(isReady, 'all servers');
    up.child.kill('SIGSTOP');
    proxy.toxic = { kind: 'blackhole' };
    await pause(4_000);
    proxy.toxic = { kind: 'none' };
    proxy.reset();
    const from = performance.now();
    up.child.kill('SIGCONT');
    const after = await up.when(isReady, 'all servers after the sleep', 30_000);
    const wakeMs = Math.round(performance.now() - from);
    const pids = (all: typeof after): string => all.servers.map(({ pid = 0 }) => pid).join(' ');
    const restarts = after.servers.reduce((sum, { restarts: count }) => sum + count, 0);
    up.child.kill('SIGTERM');
    await up.ended;
    return {
      state: after.servers.map(({ state }) => state).join(' '),
      restarts,
      wakeMs,
      samePids: pids(before) === pids(after),
    };
  },
};

const stalls: Rows = {
  'F160/stdio': {
    inject: 'the host stalls 2 s in a listener (timeoutMs 1000)',
    expect: { isOk: true, state: 'ready', others: 5 },
    isAlone: true,
    run: (stage) => stalledCall(stage, stage.stdio('ok')),
  },
  'F160/http': {
    inject: 'the host stalls 2 s in a listener (timeoutMs 1000)',
    expect: { isOk: true, state: 'ready', others: 5 },
    isAlone: true,
    run: async (stage) => stalledCall(stage, await stage.http('ok')),
  },
};

/** Stalls while responses are on their way, which must be read before the deadline is checked. */
async function stalledCall(stage: Stage, peer: Peer | HttpPeer): Promise<Seen> {
  await readyServer(stage, peer);
  await stage.call('bad', 'echo');
  const calls = Array.from({ length: 6 }, () => stage.call('bad', 'slow', { ms: 100 }, 1_000));
  // Long enough to send them, too short for a response.
  await pause(40);
  stall(2_000);
  const [first, ...others] = await Promise.all(calls);
  return {
    isOk: first?.isOk,
    code: first?.code,
    others: others.filter(({ isOk }) => isOk).length,
    state: stage.status('bad').state,
  };
}

const listeners: Row = {
  inject: 'listeners of every event throw',
  // Each throw causes a warning, which is expected here.
  expect: { state: 'ready', isOk: true, hasThrown: true },
  async run(stage) {
    let thrown = 0;
    const fail = (): never => {
      thrown += 1;
      throw new Error('a bug of the host');
    };
    stage.expectWarning(/A listener of/u);
    const troupe = stage.start({ bad: stage.stdio('noise') });
    for (const name of ['status.changed', 'tools.changed', 'server.log', 'reconciled'] as const) {
      troupe.on(name, fail);
    }
    await stage.reaches('bad', 'ready');
    const { isOk } = await stage.call('bad', 'echo');
    troupe.send({ type: 'server.restart', server: 'bad' });
    await until(() => stage.status('bad').restarts === 1, 'the restart');
    const { state } = await stage.rests('bad', 'ready');
    return { state, isOk, hasThrown: thrown > 3 };
  },
};

const output: Row = {
  inject: 'troupe up, whose output is no longer read',
  expect: { hasStarted: true, exitCode: 0, left: 0 },
  async run(stage) {
    const up = stage.up({ bad: stage.stdio('ok'), crowd: stage.stdio('grandchild') });
    await up.printed(/servers: 2/u);
    await up.when(({ servers }) => servers.every(({ state }) => state === 'ready'), 'all servers');
    const hasStarted = stage.processes().length === 3;
    up.child.stdout?.destroy();
    up.child.stderr?.destroy();
    // The next line cannot be written.
    const [pid] = stage.processes();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    const { exitCode } = await up.ended;
    const left = await stage.leftOver(3_000);
    return { hasStarted, exitCode: exitCode ?? undefined, left };
  },
};

export const hostRows: Rows = { F159: sleeping, ...stalls, F162: listeners, F163: output };
