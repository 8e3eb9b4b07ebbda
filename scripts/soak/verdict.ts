/** The rules of a soak run, as pure functions of samples and counts. */

import { median } from '../../test/bench/statistics.ts';

/** Taken at rest, after garbage collection. */
export interface Sample {
  /** Since the start of the run. */
  readonly atMs: number;
  readonly heapBytes: number;
  readonly fdCount: number;
  /** Children of this process, zombies included. */
  readonly childCount: number;
  /** Listeners on the process itself. */
  readonly listenerCount: number;
}

/** How calls ended. Each call is counted in exactly one of ok, answered, unknown, refused and odd. */
export interface CallCounts {
  readonly sent: number;
  readonly ok: number;
  /** The tool or the server answered with an error. */
  readonly answered: number;
  /** May or may not have run. */
  readonly unknown: number;
  /** Never ran. */
  readonly refused: number;
  /** Results that belong to another call. */
  readonly mixedUp: number;
  /** Errors without one of our codes. */
  readonly odd: number;
}

export interface Soaked {
  /** Includes the warm-up, which the rules ignore. */
  readonly samples: readonly Sample[];
  readonly runMs: number;
  readonly calls: CallCounts;
  /** Before the troupe was created, and after it was stopped. */
  readonly fdsBefore: number;
  readonly fdsAfter: number;
  readonly leftOver: number;
  /** Healthy servers that were not ready after the last disturbance. */
  readonly lame: readonly string[];
  readonly stopMs: number;
}

export interface Finding {
  readonly rule: string;
  readonly isKept: boolean;
  readonly seen: string;
}

const mebibyte = 1024 * 1024;
// V8 compiles code and collects feedback about it for the first ten minutes.
const warmUpMs = 600_000;
// Logs and other bounded lists of thirty servers still fill during the run. `npm run leaks` measures
// what is unbounded, byte by byte.
const mostHeapGrowth = 4;
// Connections that open or close during a sample.
const fdTolerance = 3;
// A stop is bounded at five seconds; a busy machine takes longer.
const mostStopMs = 5_500;

/** The difference between the medians of the last third and the first. */
export function growthOf(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  return median(values.slice(-third)) - median(values.slice(0, third));
}

export function judge(soaked: Soaked): readonly Finding[] {
  const { calls, fdsBefore, fdsAfter, leftOver, lame, stopMs } = soaked;
  const fromMs = Math.min(warmUpMs, soaked.runMs / 2);
  const samples = soaked.samples.filter(({ atMs }) => atMs >= fromMs);
  const heap = growthOf(samples.map(({ heapBytes }) => heapBytes / mebibyte));
  // Each child has three pipes, and the number of children changes by design.
  const fds = growthOf(samples.map((it) => it.fdCount - 3 * it.childCount));
  const listeners = growthOf(samples.map((it) => it.listenerCount));
  const settled = calls.ok + calls.answered + calls.unknown + calls.refused + calls.odd;
  const counted = Object.entries(calls).map(([end, count]) => `${count} ${end}`);
  const rule = (text: string, isKept: boolean, seen: string): Finding => ({
    rule: text,
    isKept,
    seen,
  });
  return [
    rule(
      `the heap grows less than ${mostHeapGrowth} MB after the warm-up`,
      heap < mostHeapGrowth,
      `${heap.toFixed(2)} MB`,
    ),
    rule('file descriptors beyond the pipes of children do not grow', fds <= fdTolerance, `${fds}`),
    rule('listeners on the process do not grow', listeners <= 0, `${listeners}`),
    rule(
      'the stop closes all file descriptors',
      fdsAfter <= fdsBefore + fdTolerance,
      `${fdsBefore} before, ${fdsAfter} after`,
    ),
    rule('no process is left over', leftOver === 0, `${leftOver}`),
    rule(
      'every call settles exactly once, with its own result',
      settled === calls.sent && calls.mixedUp === 0 && calls.odd === 0,
      counted.join(', '),
    ),
    rule(
      'healthy servers are ready after the last disturbance',
      lame.length === 0,
      lame.length === 0 ? 'all' : `not ${lame.join(', ')}`,
    ),
    rule(
      `the stop takes at most ${mostStopMs} ms`,
      stopMs <= mostStopMs,
      `${Math.round(stopMs)} ms`,
    ),
  ];
}
