/** Servers that send endlessly: the effect on their neighbours, and on themselves. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Seen } from '../expectation.ts';
import { eachOf, type Row, type Rows } from '../row.ts';
import type { Stage } from '../stage.ts';

const lines = [
  'one-letter',
  'blank',
  'text',
  'broken-json',
  'pings',
  'batches',
  'answers',
  'questions',
  'notifications',
  'large-notifications',
  'list-changed',
];

// The goal is 50 ms; a busy machine with a flood on one of its two cores is slower at times.
const othersP99Ms = { atMost: 100 };
const controlMs = 2_000;
const floodMs = 4_000;

/** Calls a quiet neighbour, first without the flood and then during it. */
async function besideFlood(stage: Stage, mode: string, args: readonly string[]): Promise<Seen> {
  stage.start({ good: stage.stdio('ok'), bad: stage.stdio(mode, args) });
  await stage.reaches('good', 'ready');
  await stage.reaches('bad', 'ready');
  const endControl = stage.keepCalling('good');
  await pause(controlMs);
  const controlP99Ms = await endControl();
  const first = await stage.call('bad', 'echo', {}, 10_000);
  const endCalling = stage.keepCalling('good');
  await pause(floodMs);
  const p99Ms = await endCalling();
  const { state, reason } = stage.status('bad');
  const from = performance.now();
  await stage.troupe.stop();
  const stopMs = Math.round(performance.now() - from);
  return { state, reason, code: first.code, othersP99Ms: p99Ms, controlP99Ms, stopMs };
}

function floodRow(args: readonly string[]): Row {
  return {
    inject: `s:flood ${args.join(' ')}`,
    expect: { state: 'degraded', reason: 'flooding', othersP99Ms, stopMs: { atMost: 5_000 } },
    isAlone: true,
    run: (stage) => besideFlood(stage, 'flood', args),
  };
}

export const floodRows: Rows = {
  'F90/flood-stderr': floodRow(['--to', 'stderr', '--line', 'one-letter']),
  ...eachOf(lines, (line) => [`F90/flood-${line}`, floodRow(['--line', line])]),
  'F90/huge-result': {
    inject: 's:huge-result, 16 MB of 8 million values',
    expect: { state: 'ready', code: 'RESULT_TOO_LARGE', othersP99Ms },
    isAlone: true,
    run: (stage) => besideFlood(stage, 'huge-result', []),
  },
  'F90/flood-for-ever': {
    inject: 's:flood --line answers, called again whenever it is back',
    expect: { state: 'suspended', reason: 'reconnectStorm' },
    limitMs: 120_000,
    async run(stage) {
      stage.start({
        bad: stage.stdio('flood', ['--line', 'answers'], {
          policy: { restart: { maxAttempts: 10 } },
        }),
      });
      for (let session = 1; session <= 3; session += 1) {
        await stage.rests('bad', 'ready', 'suspended');
        await stage.call('bad', 'echo', {}, 5_000);
        await stage.rests('bad', 'backingOff', 'suspended');
      }
      return stage.seen(stage.status('bad'));
    },
  },
};
