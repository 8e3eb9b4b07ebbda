/** E: calls that fail, hang, flood or come at a bad moment. */

import { setTimeout as pause } from 'node:timers/promises';

import type { ServerState } from '../../../src/index.ts';
import type { Expectation } from '../expectation.ts';
import type { Row, Rows } from '../row.ts';
import type { CallEnd, Entry, Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { besideCalls, called, faultIn, readyServer, seenOf, tallyOf } from './one-server.ts';

const times = <Value>(count: number, make: (n: number) => Value): Value[] =>
  Array.from({ length: count }, (_, n) => make(n));

const dying: Rows = {
  'F62/crash-on-call': {
    inject: 's:crash-on-call, five others in flight',
    expect: {
      state: 'backingOff',
      codes: 'CRASHED',
      outcomes: 'unknown',
      settled: 6,
      lateMs: { atMost: 250 },
    },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('crash-on-call'));
      const others = times(5, () => stage.call('bad', 'slow', {}, 8_000));
      await log.nth('tools/call', 5);
      const ends = await Promise.all([...others, stage.call('bad', 'echo', {}, 8_000)]);
      const settledAt = Date.now();
      const [exit] = log.all('exit');
      const { state } = await stage.reaches('bad', 'backingOff');
      return {
        state,
        codes: [...new Set(ends.map(({ code }) => code))].join(' '),
        outcomes: [...new Set(ends.map(({ outcome }) => outcome))].join(' '),
        settled: ends.length,
        lateMs: settledAt - (exit?.at ?? 0),
      };
    },
  },
  'F62/crash-after': {
    inject: 's:crash-after --n 1, between calls',
    expect: { first: true, next: true, starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('crash-after', ['--n', '1']));
      const { isOk: first } = await stage.call('bad', 'echo');
      await stage.reaches('bad', 'backingOff');
      const { isOk: next } = await stage.call('bad', 'echo');
      return { first, next, starts: log.count('start') };
    },
  },
  F64: {
    inject: 's:crash-first-life-call',
    expect: { code: 'CRASHED', outcome: 'unknown', next: true, effects: 1, starts: 2 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('crash-first-life-call'));
      const { code, outcome } = await stage.call('bad', 'echo');
      const { isOk: next } = await stage.call('bad', 'echo');
      return { code, outcome, next, effects: log.count('effect'), starts: log.count('start') };
    },
  },
  F76: {
    inject: 's:crash-after --n 10, 100 calls with reconnects',
    expect: { settled: 100, twice: 0, lost: 0, ranAnyway: 0 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('crash-after', ['--n', '10']));
      const calls = await Promise.all(
        times(100, async (n) => {
          await pause(n * 30);
          return { n, end: await stage.call('bad', 'echo', { n }, 12_000) };
        }),
      );
      return tallyOf(calls, log);
    },
  },
};

/** Opens the circuit with five failing calls. */
async function opened(stage: Stage, peer: Peer): Promise<void> {
  await readyServer(stage, peer);
  for (let n = 0; n < 5; n += 1) await stage.call('bad', 'echo', {}, 2_000);
  await until(() => stage.status('bad').circuit === 'open', 'the circuit to open');
}

const circuit: Rows = {
  F66: called('s:progress-forever (timeoutMs 800)', {
    code: 'TIMEOUT',
    outcome: 'unknown',
    callMs: { atMost: 1_500 },
    state: 'ready',
  }),
  F68: {
    inject: 's:fail-every-other, 20 calls',
    expect: { circuit: 'closed', failed: 10, state: 'ready' },
    async run(stage) {
      await readyServer(stage, stage.stdio('fail-every-other'));
      const ends: CallEnd[] = [];
      for (let n = 0; n < 20; n += 1) ends.push(await stage.call('bad', 'echo'));
      const { state, circuit: after } = stage.status('bad');
      return { state, circuit: after, failed: ends.filter(({ isOk }) => !isOk).length };
    },
  },
  F69: {
    inject: 's:fail-first-calls --n 5, then 50 callers',
    expect: {
      refused: 50,
      codes: 'CIRCUIT_OPEN',
      hasWait: true,
      slowestMs: { atMost: 50 },
      probes: 1,
      next: true,
      circuit: 'closed',
    },
    speed: 20,
    async run(stage) {
      const peer = stage.stdio('fail-first-calls');
      await opened(stage, peer);
      const listsBefore = peer.log.count('tools/list');
      const callsBefore = peer.log.count('tools/call');
      const ends = await Promise.all(times(50, () => stage.call('bad', 'echo')));
      await until(() => stage.status('bad').circuit === 'closed', 'the circuit to close');
      const probes = peer.log.count('tools/list') - listsBefore;
      const refused = 50 - (peer.log.count('tools/call') - callsBefore);
      const { isOk: next } = await stage.call('bad', 'echo');
      return {
        refused,
        codes: [...new Set(ends.map(({ code }) => code))].join(' '),
        hasWait: ends.every(({ retryAfterMs = 0 }) => retryAfterMs > 0),
        slowestMs: Math.max(...ends.map(({ ms }) => ms)),
        probes,
        next,
        circuit: stage.status('bad').circuit,
      };
    },
  },
  F70: {
    inject: 's:hang-later-tools at the probe',
    expect: { reopened: true, code: 'CIRCUIT_OPEN', probes: { atLeast: 1 } },
    speed: 20,
    async run(stage) {
      const peer = stage.stdio('hang-later-tools');
      await opened(stage, peer);
      await until(() => stage.status('bad').circuit === 'halfOpen', 'the probe');
      const from = performance.now();
      const { code } = await stage.call('bad', 'echo');
      await until(() => stage.status('bad').circuit === 'open', 'the circuit to open again', 3_000);
      const probeMs = Math.round(performance.now() - from);
      return { reopened: true, code, probeMs, probes: peer.log.count('tools/list') - 1 };
    },
  },
};

const crowds: Rows = {
  F71: {
    inject: '1,000 calls at once to s:counts-at-work',
    expect: {
      mostAtWork: 64,
      done: 128,
      overloaded: 872,
      slowestRefusalMs: { atMost: 500 },
      othersP99Ms: { atMost: 250 },
    },
    isAlone: true,
    async run(stage) {
      const peer = stage.stdio('counts-at-work', ['--ms', '300']);
      const { log } = await readyServer(stage, peer, { good: stage.stdio('ok') });
      return besideCalls(stage, async () => {
        const ends = await Promise.all(times(1_000, () => stage.call('bad', 'echo')));
        const refused = ends.filter(({ code }) => code === 'OVERLOADED');
        return {
          mostAtWork: Math.max(...log.all('at-work').map(({ n = 0 }) => n)),
          done: ends.filter(({ isOk }) => isOk).length,
          overloaded: refused.length,
          slowestRefusalMs: Math.max(...refused.map(({ ms }) => ms)),
        };
      });
    },
  },
  F72: {
    inject: 's:server-requests --n 1000 during a call',
    expect: {
      isOk: true,
      answers: 1_000,
      granted: 0,
      // So many at once are a flood, which is over a second later.
      state: ['ready', 'degraded'],
      grownMb: { atMost: 64 },
    },
    async run(stage) {
      const peer = stage.stdio('server-requests', ['--n', '1000']);
      await readyServer(stage, peer);
      const grown = stage.measureMemory();
      const { isOk } = await stage.call('bad', 'echo', {}, 10_000);
      const { log } = peer;
      const refusals = log.all('answer').filter(({ error }) => error === -32_601).length;
      return {
        isOk,
        answers: log.count('answer'),
        refusals,
        granted: log.count('granted'),
        state: stage.status('bad').state,
        grownMb: grown(),
      };
    },
  },
  F73: called('s:input-required-loop (2026-07-28)', {
    isOk: false,
    code: ['INPUT_REQUIRED', 'BAD_RESPONSE'],
    calls: { atMost: 10 },
    state: 'ready',
    callMs: { atMost: 3_000 },
  }),
};

const contents: Rows = {
  'F74/traversal': called('s:result-traversal', { state: 'ready', isOk: true }),
  // The process of every row reports a polluted prototype.
  'F74/proto': called('s:result-proto', { state: 'ready' }),
  // A result belongs to the caller, escapes included; only what is shown to users is cleaned.
  'F74/ansi': called('s:result-ansi', { state: 'ready', isOk: true }),
  'F74/bad-content': called('s:result-bad-content', { state: 'ready', isOk: true, text: 'good' }),
  // One odd field withholds nothing else of the answer.
  'F74/odd-fields': called('s:result-odd-fields', { state: 'ready', isOk: true, text: 'good' }),
  'F74/no-result': called('s:result-not-an-object', {
    state: 'ready',
    code: 'BAD_RESPONSE',
    outcome: 'executed',
  }),
};

/** A row that calls its server in one of its states, which `act` may bring about. */
function callIn(
  state: ServerState,
  inject: string,
  expect: Expectation,
  more: Entry = {},
  act?: (stage: Stage) => void,
): Row {
  const { mode, args, timeoutMs = 10_000 } = faultIn(inject);
  return {
    inject: `call while ${state}, ${inject}`,
    expect,
    async run(stage) {
      stage.start({ bad: stage.stdio(mode, args, more) });
      if (act !== undefined) {
        await stage.reaches('bad', 'ready');
        act(stage);
      }
      await stage.rests('bad', state);
      return seenOf(stage, await stage.call('bad', 'echo', { text: 'hi' }, timeoutMs));
    },
  };
}

const refused = { isOk: false, outcome: 'not_executed', callMs: { atMost: 700 } } as const;
const connecting = { ...refused, code: 'CONNECTING' };
const stop = ({ troupe }: Stage): void => troupe.send({ type: 'server.stop', server: 'bad' });

const moments: Rows = {
  'F75/connecting': callIn('connecting', 's:hang-init (timeoutMs 400)', connecting),
  'F75/connects': callIn('connecting', 's:slow-init --ms 500', { isOk: true, text: 'hi' }),
  'F75/loading': callIn('loadingTools', 's:hang-tools (timeoutMs 400)', connecting),
  'F75/backing-off': callIn('backingOff', 's:exit-1 (timeoutMs 50)', {
    ...refused,
    code: 'BACKING_OFF',
  }),
  'F75/failed': callIn(
    'failed',
    's:exit-1',
    { ...refused, code: 'FAILED', state: 'failed' },
    { maxAttempts: 1 },
  ),
  'F75/stopped': callIn('stopped', 's:ok', { ...refused, code: 'STOPPED' }, {}, stop),
  'F75/stopping': callIn(
    'stopping',
    's:slow-exit --ms 500',
    { ...refused, code: 'STOPPED' },
    {},
    stop,
  ),
  'F75/dormant': callIn(
    'dormant',
    's:ok',
    { isOk: true, text: 'hi', state: 'ready' },
    { startup: 'lazy' },
  ),
  'F75/shutting-down': callIn(
    'stopping',
    's:slow-exit --ms 500',
    { ...refused, code: 'SHUTTING_DOWN' },
    {},
    ({ troupe }) => void troupe.stop(),
  ),
  'F75/disabled': callIn(
    'disabled',
    's:ok',
    { ...refused, code: 'DISABLED', state: 'disabled' },
    { enabled: false },
  ),
};

export const callRows: Rows = {
  ...dying,
  ...circuit,
  ...crowds,
  ...contents,
  ...moments,
};
