/** F: processes and their ends. */

import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Expectation, Seen } from '../expectation.ts';
import type { Row, Rows } from '../row.ts';
import type { CallEnd, Peer, Stage } from '../stage.ts';
import { hostEndRows } from './host-ends.ts';
import { besideCalls, faultIn, readyServer, seenOf } from './one-server.ts';
import { stopRows } from './stops.ts';

/** Stops a ready server and reports the order of its steps, the time and the processes left over. */
async function stopOf(stage: Stage, peer: Peer): Promise<Seen> {
  await readyServer(stage, peer);
  const before = stage.processes().length;
  const from = performance.now();
  stage.troupe.send({ type: 'server.stop', server: 'bad' });
  const { state } = await stage.rests('bad', 'stopped');
  const stopMs = Math.round(performance.now() - from);
  const left = await stage.leftOver(200);
  const steps = peer.log.all().map(({ event }) => event);
  const order = steps.filter((event) => ['stdin-end', 'signal'].includes(event)).join(' ');
  const file = path.join(stage.folder, 'state');
  const written = existsSync(file) ? readFileSync(file, 'utf8') : 'nothing';
  return { state, before, left, stopMs, order, written };
}

const gone = { state: 'stopped', left: 0 } as const;

/** A row that stops the server it describes. */
function stopping(inject: string, expect: Expectation, speed = 1): Row {
  const { mode, args } = faultIn(inject);
  const run = (stage: Stage): Promise<Seen> => stopOf(stage, stage.stdio(mode, args));
  return { inject, expect: { ...gone, ...expect }, speed, run };
}

const stubborn: Rows = {
  F77: stopping('s:ignore-term', { order: 'stdin-end signal', stopMs: { atMost: 1_800 } }, 4),
  F78: stopping('s:slow-exit --ms 1500', { written: 'flushed' }),
  F79: stopping('s:term-only', { written: 'term' }, 4),
  'F80/grandchild': stopping('s:grandchild that holds our pipes', { before: 2 }, 4),
  'F80/fork-many': stopping('s:fork-many --n 20', { before: 21 }, 4),
  'F80/crash': {
    inject: 's:grandchild-holds-pipes, the server dies',
    expect: { code: 'CRASHED', outcome: 'unknown', callMs: { atMost: 250 }, left: 0 },
    async run(stage) {
      await readyServer(stage, stage.stdio('grandchild-holds-pipes', [], { restart: 'never' }));
      const seen = seenOf(stage, await stage.call('bad', 'echo'));
      return { ...seen, left: await stage.leftOver(1_000) };
    },
  },
  F81: {
    inject: 's:grandchild-setsid',
    expect: { state: 'stopped', leftOrTold: true },
    speed: 4,
    async run(stage) {
      const seen = await stopOf(stage, stage.stdio('grandchild-setsid'));
      const left = await stage.leftOver(1_000);
      const isTold = stage.warnings.some((line) => /left|process \d+/u.test(line));
      return { ...seen, left, leftOrTold: left === 0 || isTold };
    },
  },
  F83: {
    inject: 'sh -c "node server; true", the shape of npx',
    expect: { ...gone, before: 2 },
    speed: 4,
    run: (stage) => stopOf(stage, launcher(stage)),
  },
};

function launcher(stage: Stage): Peer {
  const { entry } = stage.stdio('ok');
  const [script] = entry['args'] as [string];
  return stage.program('/bin/sh', ['-c', `"${process.execPath}" "${script}" ignore-term; true`]);
}

const sick: Rows = {
  'F86/call': {
    inject: 's:stop-self (timeoutMs 400), then a stop',
    expect: { code: 'TIMEOUT', outcome: 'unknown', stopped: 'stopped', left: 0 },
    speed: 4,
    async run(stage) {
      await readyServer(stage, stage.stdio('stop-self'));
      const seen = seenOf(stage, await stage.call('bad', 'echo', {}, 400));
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state } = await stage.rests('bad', 'stopped');
      return { ...seen, stopped: state, left: await stage.leftOver(200) };
    },
  },
  'F86/no-ping': {
    inject: 's:no-ping, checked by ping each second',
    expect: { starts: 1, pings: 1, state: 'ready', restarts: 0 },
    async run(stage) {
      const policy = { health: { mode: 'ping', everyMs: 1_000 } };
      const { log } = await readyServer(stage, stage.stdio('no-ping', [], { policy }));
      // One at the start, and one for each check after the first.
      await log.nth('tools/list', 5);
      await stage.reaches('bad', 'ready');
      const [starts, pings] = [log.count('start'), log.count('ping')];
      const { state, restarts } = stage.status('bad');
      return { starts, pings, state, restarts };
    },
  },
  F87: {
    inject: 's:deaf, 1,000 calls of 64 KB (timeoutMs 1500)',
    // Some queued calls are sent when the first ones time out, but no more than it takes to open
    // the circuit.
    expect: {
      refusedAtOnce: 872,
      timedOut: { atMost: 68 },
      unsettled: 0,
      grownMb: { atMost: 128 },
      stopped: 'stopped',
    },
    isAlone: true,
    async run(stage) {
      await readyServer(stage, stage.stdio('deaf'));
      const text = 'x'.repeat(65_536);
      const grown = stage.measureMemory();
      const ends = await Promise.all(
        Array.from({ length: 1_000 }, () => stage.call('bad', 'echo', { text }, 1_500)),
      );
      const count = (isSo: (end: CallEnd) => boolean): number => ends.filter(isSo).length;
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state: stopped } = await stage.rests('bad', 'stopped');
      const refusedAtOnce = count(({ code, ms }) => code === 'OVERLOADED' && ms < 1_000);
      const refusedInLine = count(({ outcome, ms }) => outcome === 'not_executed' && ms >= 1_000);
      const timedOut = count(({ code }) => code === 'TIMEOUT');
      return {
        refusedAtOnce,
        refusedInLine,
        timedOut,
        unsettled: ends.length - refusedAtOnce - refusedInLine - timedOut,
        grownMb: grown(),
        stopped,
      };
    },
  },
  F89: {
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
  'F90/flood': {
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
      return besideCalls(stage, async () => {
        const grown = stage.measureMemory();
        stage.troupe.send({ type: 'server.start', server: 'bad' });
        const { state } = await stage.reaches('bad', 'ready', 'backingOff');
        return { state, grownMb: grown(), remarks: stage.remarks.length };
      });
    },
  },
  'F90/no-newline': {
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
  'F90/secrets': {
    inject: 's:stderr-secrets, forged lines and escapes',
    expect: { leaks: 0, escapes: 0, unattributed: 0, lines: { atLeast: 2 } },
    async run(stage) {
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
  'F91/cpu': hogging('s:cpu-spin (timeoutMs 1000)', { code: 'TIMEOUT' }),
  'F91/memory': hogging('s:mem-hog (timeoutMs 1000)', {}),
  F92: stopping('s:write-after-eof', {}),
};

/** A row whose server uses a whole core or much memory. */
function hogging(inject: string, expect: Expectation): Row {
  const { mode } = faultIn(inject);
  return {
    inject,
    expect: { ...expect, othersP99Ms: { atMost: 250 }, stopped: 'stopped' },
    isAlone: true,
    speed: 4,
    async run(stage) {
      await readyServer(stage, stage.stdio(mode), { good: stage.stdio('ok') });
      const seen = await besideCalls(stage, async () => {
        const { code, outcome } = await stage.call('bad', 'echo', {}, 1_000);
        return { code, outcome };
      });
      stage.troupe.send({ type: 'server.stop', server: 'bad' });
      const { state: stopped } = await stage.rests('bad', 'stopped');
      return { ...seen, stopped };
    },
  };
}

const registry: Row = {
  inject: 'what an earlier run registered names a live foreign pid',
  expect: { isRegistered: true, isStrangerAlive: true, state: 'ready' },
  async run(stage) {
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', detached: true });
    stage.cleanUp(() => void stranger.kill('SIGKILL'));
    const first = stage.up({ bad: stage.stdio('ok') });
    await first.when(({ servers }) => servers[0]?.state === 'ready', 'the server');
    const [pid = 0] = stage.processes();
    const state = path.join(stage.folder, 'state');
    const files = filesBelow(state).filter((file) =>
      new RegExp(`\\b${pid}\\b`, 'u').test(read(file)),
    );
    const texts = files.map(read);
    first.child.kill('SIGKILL');
    await first.ended;
    await stage.leftOver(5_000);
    // Replace the pid in the registry with the stranger's.
    for (const [index, file] of files.entries()) {
      const text = (texts[index] ?? '').replaceAll(
        new RegExp(`\\b${pid}\\b`, 'gu'),
        String(stranger.pid),
      );
      writeFileSync(file, text);
    }
    const second = stage.up({ bad: stage.stdio('ok') });
    const { servers } = await second.when((it) => it.servers[0]?.state === 'ready', 'the server');
    const isStrangerAlive = stranger.exitCode === null && stranger.signalCode === null;
    return { isRegistered: files.length > 0, isStrangerAlive, state: servers[0]?.state };
  },
};

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

export const processRows: Rows = {
  ...stubborn,
  ...hostEndRows,
  ...sick,
  F94: registry,
  ...stopRows,
};
