/** Numbers about numbers. Everything here is pure; a missing value is `null` and is left out. */

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

export type Verdict = 'met' | 'missed' | 'unknown';

export function verdictOf(target: Target, value: Spread | null, ratio: Spread | null): Verdict {
  const seen = target.of === 'ratio' ? ratio : value;
  if (seen === null) return 'unknown';
  const { atMost, below, atLeast, inEveryRound = false } = target;
  const high = inEveryRound ? seen.max : seen.median;
  const low = inEveryRound ? seen.min : seen.median;
  const isMet =
    (atMost === undefined || high <= atMost) &&
    (below === undefined || high < below) &&
    (atLeast === undefined || low >= atLeast);
  return isMet ? 'met' : 'missed';
}
