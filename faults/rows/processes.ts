/** F: the life of a process and its end. */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

import type { Seen } from '../expectation.ts';
import { leftOver } from '../marked-processes.ts';
import { pause } from '../pause.ts';
import type { AnyRow, Row } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { hostEndRows } from './host-ends.ts';
import { readyServer, seenOf } from './one-server.ts';

/** Stops a server that is ready, and tells how long that took and who is left. */
async function stopOf(stage: Stage, peer: Peer): Promise<Seen> {
  await readyServer(stage, peer);
  const before = stage.processes().length;
  const from = performance.now();
  stage.troupe.send({ type: 'server.stop', server: 'bad' });
  const { state } = await stage.rests('bad', 'stopped');
  const stopMs = Math.round(performance.now() - from);
  const left = (await leftOver(stage.mark, 200)).length;
  return { state, before, left, stopMs };
}

const gone = { state: 'stopped', left: 0 } as const;

function stateFile(stage: Stage): string {
  return path.join(stage.folder, 'state');
}

function written(stage: Stage): string {
  return existsSync(stateFile(stage)) ? readFileSync(stateFile(stage), 'utf8') : 'nothing';
}

const stubborn: readonly Row[] = [
  {
    id: 'F77',
    inject: 's:ignore-term',
    expect: { ...gone, order: 'stdin-end signal', stopMs: { atMost: 1_800 } },
    speed: 4,
    async run(stage) {
      const peer = stage.stdio('ignore-term');
      const seen = await stopOf(stage, peer);
      const order = peer.log.all().filter(({ event }) => ['stdin-end', 'signal'].includes(event));
      return { ...seen, order: order.map(({ event }) => event).join(' ') };
    },
  },
  {
    id: 'F78',
    inject: 's:slow-exit --ms 1500',
    expect: { ...gone, written: 'flushed' },
    async run(stage) {
      const seen = await stopOf(stage, stage.stdio('slow-exit', ['--state', stateFile(stage)]));
      return { ...seen, written: written(stage) };
    },
  },
  {
    id: 'F79',
    inject: 's:term-only',
    expect: { ...gone, written: 'term' },
    speed: 4,
    async run(stage) {
      const seen = await stopOf(stage, stage.stdio('term-only', ['--state', stateFile(stage)]));
      return { ...seen, written: written(stage) };
    },
  },
  {
    id: 'F80',
    variant: 'grandchild',
    inject: 's:grandchild that holds our pipes',
    expect: { ...gone, before: 2 },
    speed: 4,
    run: (stage) => stopOf(stage, stage.stdio('grandchild')),
  },
  {
    id: 'F80',
    variant: 'fork-many',
    inject: 's:fork-many --n 20',
    expect: { ...gone, before: 21 },
    speed: 4,
    run: (stage) => stopOf(stage, stage.stdio('fork-many', ['--n', '20'])),
  },
  {
    id: 'F80',
    variant: 'crash',
    inject: 's:grandchild-holds-pipes, the server dies',
    expect: { code: 'CRASHED', outcome: 'unknown', callMs: { atMost: 250 }, left: 0 },
    async run(stage) {
      await readyServer(stage, stage.stdio('grandchild-holds-pipes', [], { restart: 'never' }));
      const seen = seenOf(stage, await stage.call('bad', 'echo'));
      return { ...seen, left: (await leftOver(stage.mark, 1_000)).length };
    },
  },
  {
    id: 'F81',
    inject: 's:grandchild-setsid',
    expect: { state: 'stopped', leftOrTold: true },
    speed: 4,
    async run(stage) {
      const seen = await stopOf(stage, stage.stdio('grandchild-setsid'));
      const left = (await leftOver(stage.mark, 1_000)).length;
      const isTold = stage.remarks.some((line) => /left|process \d+/u.test(line));
      return { ...seen, left, leftOrTold: left === 0 || isTold };
    },
  },
  {
    id: 'F83',
    inject: 'sh -c "node server; true", the shape of npx',
    expect: { ...gone, before: 2 },
    speed: 4,
    run: (stage) => stopOf(stage, launcher(stage)),
  },
];

function launcher(stage: Stage): Peer {
  const { entry } = stage.stdio('ok');
  const [script] = entry['args'] as [string];
  return stage.program('/bin/sh', ['-c', `"${process.execPath}" "${script}" ignore-term; true`]);
}

const sick: readonly Row[] = [
  {
    id: 'F86',
    variant: 'call',
    inject: 's:stop-self (timeoutMs 400), then a stop',
    expect: { code: 'TIMEOUT', outcome: 'unknown', stopped: 'stopped', left: 0 },
    speed: 4,
    async run(stage) {
      await readyServer(stage, stage.stdio('stop-self'));
      const seen = seenOf(stage, await stage.call('bad', 'echo', {}, 400));
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state } = await stage.rests('bad', 'stopped');
      return { ...seen, stopped: state, left: (await leftOver(stage.mark, 200)).length };
    },
  },
  {
    id: 'F87',
    inject: 's:deaf, 1,000 calls of 64 KB (timeoutMs 1500)',
    expect: { overloaded: 920, timedOut: 80, grownMb: { atMost: 128 }, stopped: 'stopped' },
    isAlone: true,
    speed: 4,
    async run(stage) {
      await readyServer(stage, stage.stdio('deaf'));
      const text = 'x'.repeat(65_536);
      const grown = stage.measureMemory();
      const ends = await Promise.all(
        Array.from({ length: 1_000 }, () => stage.call('bad', 'echo', { text }, 1_500)),
      );
      const count = (...codes: string[]): number =>
        ends.filter(({ code = '' }) => codes.includes(code)).length;
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state: stopped } = await stage.rests('bad', 'stopped');
      // Who was still in line when the time was up has not been sent.
      const timedOut =
        count('TIMEOUT', 'CONNECTING', 'TIMEOUT_WAITING', 'CIRCUIT_OPEN', 'OVERLOADED') -
        count('OVERLOADED');
      return { overloaded: count('OVERLOADED'), timedOut, grownMb: grown(), stopped };
    },
  },
  {
    id: 'F89',
    inject: 's:close-stdin while it lives, then 20 calls',
    expect: { state: 'backingOff', code: 'UNAVAILABLE', settled: 20, remarks: { atMost: 2 } },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('close-stdin'));
      await log.nth('closed');
      const ends = await Promise.all(
        Array.from({ length: 20 }, () => stage.call('bad', 'slow', {}, 2_000)),
      );
      const status = await stage.reaches('bad', 'backingOff');
      const { says, ...seen } = stage.seen(status);
      return { ...seen, says, settled: ends.length, remarks: stage.remarks.length };
    },
  },
  {
    id: 'F90',
    variant: 'flood',
    inject: 's:stderr-flood --mb 100',
    expect: {
      state: 'ready',
      grownMb: { atMost: 64 },
      othersP99Ms: { atMost: 250 },
      remarks: { atMost: 3_000 },
    },
    isAlone: true,
    async run(stage) {
      const bad = stage.stdio('stderr-flood', ['--mb', '100'], { startup: 'lazy' });
      stage.start({ good: stage.stdio('ok'), bad });
      await stage.reaches('good', 'ready');
      const endCalling = stage.keepCalling('good');
      const grown = stage.measureMemory();
      stage.troupe.send({ type: 'server.start', server: 'bad' });
      const { state } = await stage.reaches('bad', 'ready', 'backingOff');
      const remarks = stage.remarks.length;
      return { state, grownMb: grown(), remarks, othersP99Ms: await endCalling() };
    },
  },
  {
    id: 'F90',
    variant: 'no-newline',
    inject: 's:stderr-no-newline, 4 MB',
    expect: { code: 'CRASHED', longest: { atMost: 2_000 }, tailBytes: { atMost: 65_536 } },
    async run(stage) {
      await readyServer(stage, stage.stdio('stderr-no-newline'));
      const { code } = await stage.call('bad', 'echo');
      const { lastError } = await stage.reaches('bad', 'backingOff');
      const tail = lastError?.stderrTail ?? [];
      const longest = Math.max(0, ...tail.map(({ length }) => length));
      return { code, longest, lines: tail.length, tailBytes: tail.join('').length };
    },
  },
  {
    id: 'F90',
    variant: 'secrets',
    inject: 's:stderr-secrets, forged lines and escapes',
    expect: { leaks: 0, escapes: 0, unattributed: 0, lines: { atLeast: 2 } },
    async run(stage) {
      process.env['FAULTS_SECRET'] = 'hunter2-hunter2';
      const env = { API_KEY: '${FAULTS_SECRET}' };
      await readyServer(stage, stage.stdio('stderr-secrets', [], { env }));
      await stage.call('bad', 'echo');
      const { lastError } = await stage.reaches('bad', 'backingOff');
      const lines = [...stage.remarks, ...(lastError?.stderrTail ?? []), lastError?.message ?? ''];
      const count = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length;
      return {
        leaks: count(/hunter2/u),
        // oxlint-disable-next-line no-control-regex -- these are what must not be there
        escapes: count(/[\u0000-\u001f\u007f-\u009f\u202e]/u),
        unattributed: stage.remarks.filter((line) => !line.startsWith('bad: ')).length,
        lines: stage.remarks.length,
      };
    },
  },
  ...[
    { variant: 'cpu', mode: 'cpu-spin', code: 'TIMEOUT' },
    { variant: 'memory', mode: 'mem-hog', code: undefined },
  ].map(
    ({ variant, mode, code }): Row => ({
      id: 'F91',
      variant,
      inject: `s:${mode} (timeoutMs 1000)`,
      expect: {
        ...(code === undefined ? {} : { code }),
        othersP99Ms: { atMost: 250 },
        stopped: 'stopped',
      },
      isAlone: true,
      speed: 4,
      async run(stage) {
        await readyServer(stage, stage.stdio(mode), { good: stage.stdio('ok') });
        await stage.reaches('good', 'ready');
        const endCalling = stage.keepCalling('good');
        const { code: seenCode, outcome } = await stage.call('bad', 'echo', {}, 1_000);
        const othersP99Ms = await endCalling();
        stage.troupe.send({ type: 'server.stop', server: 'bad' });
        const { state: stopped } = await stage.rests('bad', 'stopped');
        return { code: seenCode, outcome, othersP99Ms, stopped };
      },
    }),
  ),
  {
    id: 'F92',
    inject: 's:write-after-eof',
    expect: gone,
    run: (stage) => stopOf(stage, stage.stdio('write-after-eof')),
  },
];

/** Stops a server in one of its states: it must end at once, and nothing may start afterwards. */
function stopIn(variant: string, inject: string, prepare: (stage: Stage) => Promise<Peer>): Row {
  return {
    id: 'F95',
    variant,
    inject,
    expect: { state: 'stopped', left: 0, laterStarts: 0, stopMs: { atMost: 1_500 } },
    speed: 4,
    async run(stage) {
      const peer = await prepare(stage);
      const from = performance.now();
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state } = await stage.rests('bad', 'stopped');
      const stopMs = Math.round(performance.now() - from);
      const starts = peer.log.count('start');
      // Six seconds of the troupe: longer than any backoff of the first attempts.
      await pause(1_500);
      const laterStarts = peer.log.count('start') - starts;
      return { state, stopMs, laterStarts, left: stage.processes().length };
    },
  };
}

const stopped: readonly Row[] = [
  stopIn('connecting', 'stop while s:hang-init connects', async (stage) => {
    const peer = stage.stdio('hang-init');
    stage.start({ bad: peer });
    await peer.log.nth('initialize');
    return peer;
  }),
  stopIn('loading', 'stop while s:hang-tools lists', async (stage) => {
    const peer = stage.stdio('hang-tools');
    stage.start({ bad: peer });
    await peer.log.nth('tools/list');
    return peer;
  }),
  stopIn('backing-off', 'stop while s:exit-1 backs off', async (stage) => {
    const peer = stage.stdio('exit-1');
    stage.start({ bad: peer });
    await stage.reaches('bad', 'backingOff');
    return peer;
  }),
  stopIn('half-open', 'stop while the circuit probes s:hang-later-tools', async (stage) => {
    const peer = await readyServer(stage, stage.stdio('hang-later-tools'));
    for (let n = 0; n < 5; n += 1) await stage.call('bad', 'echo');
    await until(() => stage.status('bad').circuit === 'halfOpen', 'the probe');
    return peer;
  }),
  {
    id: 'F96',
    inject: 'two reconnects at once',
    expect: { state: 'ready', starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('ok'));
      const again = [stage.troupe.restartAndWait('bad'), stage.troupe.restartAndWait('bad')];
      const statuses = await Promise.all(again);
      const [first, second] = statuses.map(({ pid }) => pid);
      return { state: statuses[0]?.state, starts: log.count('start'), isSame: first === second };
    },
  },
  {
    id: 'F97',
    inject: 'two stops of the troupe at once, s:slow-exit',
    expect: { leftAtFirst: 0, leftAtSecond: 0 },
    async run(stage) {
      const args = ['--state', stateFile(stage), '--ms', '600'];
      await readyServer(stage, stage.stdio('slow-exit', args));
      const stopping = [stage.troupe.stop(), stage.troupe.stop()].map(async (stop) => {
        await stop;
        return stage.processes().length;
      });
      const [leftAtFirst, leftAtSecond] = await Promise.all(stopping);
      return { leftAtFirst, leftAtSecond };
    },
  },
  {
    id: 'F98',
    inject: 'stop of the troupe during a backoff',
    expect: { stopMs: { atMost: 300 } },
    async run(stage) {
      stage.start({ bad: stage.stdio('exit-1') });
      await stage.reaches('bad', 'backingOff');
      return { stopMs: await stage.stop() };
    },
  },
  {
    id: 'F99',
    inject: 'start after a stop',
    expect: { state: 'ready', isOk: true, starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('ok'));
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      await stage.rests('bad', 'stopped');
      stage.troupe.send({ type: 'server.start', server: 'bad' });
      const { state } = await stage.rests('bad', 'ready');
      const { isOk } = await stage.call('bad', 'echo');
      return { state, isOk, starts: log.count('start') };
    },
  },
];

const registry: Row = {
  id: 'F94',
  inject: 'a registry of earlier runs naming a live foreign pid',
  expect: { isAlive: true, state: 'ready' },
  async run(stage) {
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
    stage.cleanUp(() => void stranger.kill('SIGKILL'));
    const first = stage.up({ bad: stage.stdio('ok') });
    await first.when(({ servers }) => servers[0]?.state === 'ready', 'the server');
    const pid = stage.processes()[0];
    first.child.kill('SIGKILL');
    await first.ended;
    await leftOver(stage.mark, 5_000);
    // Whatever was written down about that process now speaks of the stranger.
    const state = path.join(stage.folder, 'state');
    if (pid !== undefined && stranger.pid !== undefined) renumber(state, pid, stranger.pid);
    const second = stage.up({ bad: stage.stdio('ok') });
    const { servers } = await second.when((it) => it.servers[0]?.state === 'ready', 'the server');
    return {
      isAlive: stranger.exitCode === null && stranger.signalCode === null,
      state: servers[0]?.state,
    };
  },
};

function renumber(folder: string, from: number, to: number): void {
  execFileSync('sh', [
    '-c',
    `find "$0" -type f -exec sed -i 's/\\b${from}\\b/${to}/g' {} +`,
    folder,
  ]);
}

export const processRows: readonly AnyRow[] = [
  ...stubborn,
  ...hostEndRows,
  ...sick,
  {
    id: 'F86',
    variant: 'health',
    inject: 's:stop-self',
    absent: 'needs health checks of a ready server',
  },
  registry,
  ...stopped,
];
