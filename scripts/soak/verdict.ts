/** The rules of a soak. Pure: samples and counts in, sentences out. */

import type { Sample } from './sample.ts';

/** How calls ended. Each that was sent belongs to exactly one of ok, answered, unknown, refused and odd. */
export interface CallCounts {
  readonly sent: number;
  readonly ok: number;
  /** The tool or the server answered with an error. */
  readonly answered: number;
  /** Nobody can tell whether it ran. */
  readonly unknown: number;
  /** It never ran. */
  readonly refused: number;
  /** Answers that belong to another call. */
  readonly mixedUp: number;
  /** Errors without a code of ours. */
  readonly odd: number;
}

export interface Soaked {
  readonly samples: readonly Sample[];
  readonly calls: CallCounts;
  /** Before the troupe was made, and after it was stopped. */
  readonly fdsBefore: number;
  readonly fdsAfter: number;
  readonly leftOver: number;
  /** Healthy servers that were not ready once the disturbances had ended. */
  readonly lame: readonly string[];
  readonly stopMs: number;
}

export interface Finding {
  readonly rule: string;
  readonly isKept: boolean;
  readonly seen: string;
}

const msPerHour = 3_600_000;
const mebibyte = 1024 * 1024;

// Lists, logs and histories have bounds and fill first; code is compiled meanwhile.
const warmUpShare = 0.25;
// The heap has been seen to settle after a minute and a half.
const leastWarmUpMs = 90_000;
const mostWarmUpMs = 600_000;
const mostHeapPerHour = 1;
// A quarter of a minute of samples: longer than a flood or a call under way lasts.
const floorSize = 5;
// A connection that opens or closes while the sample is taken, on either side of it.
const fdTolerance = 3;
// A stop is bounded at five seconds, and a busy machine adds its share.
const mostStopMs = 5_500;

export interface Trend {
  readonly perHour: number;
  /** Half the width of the interval in which the slope lies with 95 %. */
  readonly errorPerHour: number;
}

/** Least squares of a value over time. */
export function trendOf(points: readonly (readonly [atMs: number, value: number])[]): Trend {
  const count = points.length;
  if (count < 3) return { perHour: 0, errorPerHour: Number.POSITIVE_INFINITY };
  const meanAt = points.reduce((sum, [at]) => sum + at, 0) / count;
  const mean = points.reduce((sum, [, value]) => sum + value, 0) / count;
  const spread = points.reduce((sum, [at]) => sum + (at - meanAt) ** 2, 0);
  if (spread === 0) return { perHour: 0, errorPerHour: Number.POSITIVE_INFINITY };
  const slope =
    points.reduce((sum, [at, value]) => sum + (at - meanAt) * (value - mean), 0) / spread;
  const rest = points.reduce(
    (sum, [at, value]) => sum + (value - mean - slope * (at - meanAt)) ** 2,
    0,
  );
  const error = Math.sqrt(rest / (count - 2) / spread);
  return { perHour: slope * msPerHour, errorPerHour: 1.96 * error * msPerHour };
}

/** Samples after the warm-up. */
export function warmed(samples: readonly Sample[]): readonly Sample[] {
  const lastMs = samples.at(-1)?.atMs ?? 0;
  const fromMs = Math.min(mostWarmUpMs, Math.max(leastWarmUpMs, lastMs * warmUpShare));
  return samples.filter(({ atMs }) => atMs >= fromMs);
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

/**
 * The least of every so many values. What floods and calls under way hold for a moment lies on
 * top of what stays; a leak lifts the least as well.
 */
export function floorsOf(
  points: readonly (readonly [atMs: number, value: number])[],
  size: number,
): readonly (readonly [atMs: number, value: number])[] {
  return points.flatMap((_, index) => {
    const group = points.slice(index, index + size);
    if (index % size !== 0 || group.length < size) return [];
    return [group.reduce((least, point) => (point[1] < least[1] ? point : least))];
  });
}

/** How much more the last third holds than the first, by their medians. */
export function growthOf(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  return medianOf(values.slice(-third)) - medianOf(values.slice(0, third));
}

export function judge(soaked: Soaked): readonly Finding[] {
  const { calls, fdsBefore, fdsAfter, leftOver, lame, stopMs } = soaked;
  const samples = warmed(soaked.samples);
  const heap = trendOf(
    floorsOf(
      samples.map(({ atMs, heapBytes }) => [atMs, heapBytes / mebibyte]),
      floorSize,
    ),
  );
  // Each child has three pipes, and how many run changes by design.
  const fds = growthOf(samples.map((it) => it.fdCount - 3 * it.childCount));
  const listeners = growthOf(samples.map((it) => it.listenerCount));
  const settled = calls.ok + calls.answered + calls.unknown + calls.refused + calls.odd;
  return [
    {
      rule: `heap grows less than ${mostHeapPerHour} MB/h after the warm-up`,
      // A short run cannot tell a small slope from none: it breaks the rule when it surely is greater.
      isKept: heap.perHour - heap.errorPerHour < mostHeapPerHour,
      seen: Number.isFinite(heap.errorPerHour)
        ? `${heap.perHour.toFixed(2)} +- ${heap.errorPerHour.toFixed(2)} MB/h`
        : 'the run was too short to tell',
    },
    {
      rule: 'file descriptors beyond the pipes of children stay flat',
      isKept: Math.abs(fds) <= fdTolerance,
      seen: `${fds >= 0 ? '+' : ''}${fds} from the first third to the last`,
    },
    {
      rule: 'listeners on the process stay flat',
      isKept: listeners <= 0,
      seen: `${listeners >= 0 ? '+' : ''}${listeners}`,
    },
    {
      rule: 'file descriptors are given back by the stop',
      isKept: fdsAfter <= fdsBefore + fdTolerance,
      seen: `${fdsBefore} before, ${fdsAfter} after`,
    },
    { rule: 'no process is left over', isKept: leftOver === 0, seen: String(leftOver) },
    {
      rule: 'every call settled exactly once, with its own answer',
      isKept: settled === calls.sent && calls.mixedUp === 0 && calls.odd === 0,
      seen:
        `${calls.ok} ok + ${calls.answered} answered by an error + ${calls.unknown} unknown + ` +
        `${calls.refused} refused = ${settled} of ${calls.sent}; ${calls.mixedUp} mixed up, ${calls.odd} odd`,
    },
    {
      rule: 'healthy servers are ready after the disturbances',
      isKept: lame.length === 0,
      seen: lame.length === 0 ? 'all' : `not ${lame.join(', ')}`,
    },
    {
      rule: `the stop takes at most ${mostStopMs} ms`,
      isKept: stopMs <= mostStopMs,
      seen: `${Math.round(stopMs)} ms`,
    },
  ];
}
