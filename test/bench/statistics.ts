/** Numbers about numbers. Everything here is pure; a missing value is `null` and no part of a spread. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which the share lies; between two values, the way from one to the other. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

/** Null when no value is there at all. */
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
 * Divides value by value, so that whatever slowed a whole round slowed both. A round in which
 * one of the two is missing, or the divisor is zero, says nothing.
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

// With fewer, chance alone may make two equals look alike.
const enoughRounds = 3;

/**
 * How far a ratio may be off without a reason, as a share: 0.1 = a tenth up or down.
 *
 * `equals` are the ratios of one thing to itself. Their middle half says how far they stray
 * from 1; the outliers of a few rounds do not. Infinite when there are too few to know.
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
  /** Null = it got there in no round. */
  readonly value: Spread | null;
  readonly ratio: Spread | null;
  /** Rounds that were done, with or without a value. */
  readonly rounds: number;
  /** See `marginOf`. Default: 0. */
  readonly margin?: number;
}

/** Who got there in only some of the rounds missed its target, however good those rounds were. */
export function verdictOf(target: Target, { value, ratio, rounds, margin = 0 }: Seen): Verdict {
  if (value === null || value.count < rounds) return 'missed';
  if (target.of === 'value') return isMet(target, value, 1) ? 'met' : 'missed';
  // The baseline has no value.
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
