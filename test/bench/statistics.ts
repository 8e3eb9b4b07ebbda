/** Statistics of measured values, as pure functions. A missing value is `null` and ignored. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which the share lies, interpolated between two values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

/** Null without any value. */
export function spreadOf(values: readonly (number | null)[]): Spread | null {
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return null;
  return {
    median: median(present),
    min: Math.min(...present),
    max: Math.max(...present),
    count: present.length,
  };
}

/**
 * Divides value by value, because the load of a round affects both. Skips a round in which
 * a value is missing or the divisor is zero.
 */
export function pairedRatios(
  values: readonly (number | null)[],
  base: readonly (number | null)[],
): readonly number[] {
  return values.flatMap((value, round) => {
    const divisor = base[round] ?? null;
    return value === null || divisor === null || divisor === 0 ? [] : [value / divisor];
  });
}

// With fewer, equal values may be a coincidence.
const enoughRounds = 3;

/**
 * The noise of a ratio, as a share: 0.1 = a tenth up or down.
 *
 * `equals` are the ratios of the baseline to itself. The margin is how far their middle half
 * strays from 1, which ignores outliers. Infinite with too few rounds.
 */
export function marginOf(equals: readonly number[]): number {
  if (equals.length < enoughRounds) return Number.POSITIVE_INFINITY;
  const [low, high] = [percentile(equals, 0.25), percentile(equals, 0.75)];
  return Math.max(high, 1 / high, low, 1 / low) - 1;
}

/** A bound for the median, or for every round, of the paired ratio to the baseline or of the value itself. */
export interface Target {
  readonly of: 'ratio' | 'value';
  readonly atMost?: number;
  /** Like `atMost`, without the bound itself. */
  readonly below?: number;
  readonly atLeast?: number;
  /** The worst round decides instead of the median. */
  readonly inEveryRound?: boolean;
}

/** `unclear`: the noise of the row is greater than the distance to the bound. */
export type Verdict = 'met' | 'missed' | 'unclear' | 'unknown';

export interface Seen {
  /** Null: no round has a value. */
  readonly value: Spread | null;
  readonly ratio: Spread | null;
  /** All rounds, with or without a value. */
  readonly rounds: number;
  /** See `marginOf`. Default: 0. */
  readonly margin?: number;
}

/** A contender without a value in some round misses its target, however good the other rounds are. */
export function verdictOf(target: Target, { value, ratio, rounds, margin = 0 }: Seen): Verdict {
  if (value === null || value.count < rounds) return 'missed';
  if (target.of === 'value') return isMet(target, value, 1) ? 'met' : 'missed';
  // Without a value of the baseline.
  if (ratio === null) return 'unknown';
  const ends = [isMet(target, ratio, 1 + margin), isMet(target, ratio, 1 / (1 + margin))];
  if (ends.every(Boolean)) return 'met';
  return ends.some(Boolean) ? 'unclear' : 'missed';
}

function isMet(target: Target, { median: middle, min, max }: Spread, factor: number): boolean {
  const { atMost, below, atLeast, inEveryRound = false } = target;
  const high = (inEveryRound ? max : middle) * factor;
  const low = (inEveryRound ? min : middle) * factor;
  return (
    (atMost === undefined || high <= atMost) &&
    (below === undefined || high < below) &&
    (atLeast === undefined || low >= atLeast)
  );
}
