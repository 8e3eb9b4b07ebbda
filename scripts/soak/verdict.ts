/** The rules of a soak run, as pure functions of samples and counts. */

import type { Sample } from './sample.ts';
import { growthOf, trendOf } from './trend.ts';

/** How calls ended. Each that was sent belongs to exactly one of ok, answered, unknown, refused and odd. */
export interface CallCounts {
  readonly sent: number;
  readonly ok: number;
  /** The tool or the server answered with an error. */
  readonly answered: number;
  /** May or may not have run. */
  readonly unknown: number;
  /** It never ran. */
  readonly refused: number;
  /** Answers that belong to another call. */
  readonly mixedUp: number;
  /** Errors without a code of ours. */
  readonly odd: number;
}

export interface Soaked {
  /** Includes the warm-up, which the rules ignore. */
  readonly samples: readonly Sample[];
  readonly runMs: number;
  readonly calls: CallCounts;
  /** Before the troupe was made, and after it was stopped. */
  readonly fdsBefore: number;
  readonly fdsAfter: number;
  readonly leftOver: number;
  /** Healthy servers that were not ready once the disturbances had ended. */
  readonly lame: readonly string[];
  readonly stopMs: number;
}

/** `not shown`: the data fit both the rule and its opposite. */
export type Verdict = 'kept' | 'broken' | 'not shown';

export interface Finding {
  readonly rule: string;
  readonly verdict: Verdict;
  readonly seen: string;
}

const mebibyte = 1024 * 1024;

// V8 recompiles code and collects feedback about it: a megabyte or two within the first ten minutes,
// and almost nothing later.
const warmUpMs = 600_000;
const mostHeapPerHour = 1;
// A connection that opens or closes while the sample is taken, on either side of it.
const fdTolerance = 3;
// A stop is bounded at five seconds, and a busy machine adds its share.
const mostStopMs = 5_500;

/** The warm-up of a run of this length. */
export function warmUpMsOf(runMs: number): number {
  return Math.min(warmUpMs, runMs / 2);
}

const kept = (isKept: boolean): Verdict => (isKept ? 'kept' : 'broken');

function heapFinding(samples: readonly Sample[]): Finding {
  const { perHour, errorPerHour } = trendOf(
    samples.map(({ atMs, heapBytes }) => [atMs, heapBytes / mebibyte]),
  );
  const isSurelyLess = perHour + errorPerHour < mostHeapPerHour;
  const isSurelyMore = perHour - errorPerHour >= mostHeapPerHour;
  return {
    rule: `heap grows less than ${mostHeapPerHour} MB/h after the warm-up`,
    verdict: isSurelyLess ? 'kept' : isSurelyMore ? 'broken' : 'not shown',
    seen: Number.isFinite(errorPerHour)
      ? `${perHour.toFixed(2)} +- ${errorPerHour.toFixed(2)} MB/h, from ${samples.length} samples`
      : 'the run was too short',
  };
}

export function judge(soaked: Soaked): readonly Finding[] {
  const { calls, fdsBefore, fdsAfter, leftOver, lame, stopMs } = soaked;
  const fromMs = warmUpMsOf(soaked.runMs);
  const samples = soaked.samples.filter(({ atMs }) => atMs >= fromMs);
  // Each child has three pipes, and how many run changes by design.
  const fds = growthOf(samples.map((it) => it.fdCount - 3 * it.childCount));
  const listeners = growthOf(samples.map((it) => it.listenerCount));
  const settled = calls.ok + calls.answered + calls.unknown + calls.refused + calls.odd;
  return [
    heapFinding(samples),
    {
      rule: 'file descriptors beyond the pipes of children do not grow',
      verdict: kept(fds <= fdTolerance),
      seen: `${fds >= 0 ? '+' : ''}${fds} from the first third to the last`,
    },
    {
      rule: 'listeners on the process stay flat',
      verdict: kept(listeners <= 0),
      seen: `${listeners >= 0 ? '+' : ''}${listeners}`,
    },
    {
      rule: 'file descriptors are given back by the stop',
      verdict: kept(fdsAfter <= fdsBefore + fdTolerance),
      seen: `${fdsBefore} before, ${fdsAfter} after`,
    },
    { rule: 'no process is left over', verdict: kept(leftOver === 0), seen: String(leftOver) },
    {
      rule: 'every call settled exactly once, with its own answer',
      verdict: kept(settled === calls.sent && calls.mixedUp === 0 && calls.odd === 0),
      seen:
        `${calls.ok} ok + ${calls.answered} answered by an error + ${calls.unknown} unknown + ` +
        `${calls.refused} refused = ${settled} of ${calls.sent}; ${calls.mixedUp} mixed up, ${calls.odd} odd`,
    },
    {
      rule: 'healthy servers are ready after the disturbances',
      verdict: kept(lame.length === 0),
      seen: lame.length === 0 ? 'all' : `not ${lame.join(', ')}`,
    },
    {
      rule: `the stop takes at most ${mostStopMs} ms`,
      verdict: kept(stopMs <= mostStopMs),
      seen: `${Math.round(stopMs)} ms`,
    },
  ];
}
