/** The slope of a series of samples, with its confidence interval. */

import { median } from '../../test/bench/statistics.ts';

export type Point = readonly [atMs: number, value: number];

export interface Trend {
  readonly perHour: number;
  /** Half the width of the interval in which the slope lies with 95 %. */
  readonly errorPerHour: number;
}

const msPerHour = 3_600_000;
// Fewer samples say nothing about their scatter.
const leastPoints = 8;
const unknown: Trend = { perHour: 0, errorPerHour: Number.POSITIVE_INFINITY };

/**
 * The median of the slopes between all pairs (Theil and Sen): a third of the samples may be
 * anything at all without moving it far. The interval is that of Kendall's test, widened by the
 * correlation of neighbours, because memory that is held for a minute is in several samples.
 */
export function trendOf(points: readonly Point[]): Trend {
  const count = points.length;
  if (count < leastPoints) return unknown;
  const slopes = points
    .flatMap(([at, value], index) =>
      points
        .slice(index + 1)
        .filter(([later]) => later > at)
        .map(([later, more]) => (more - value) / (later - at)),
    )
    .sort((left, right) => left - right);
  const slope = median(slopes);
  const spread = 1.96 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  const low = slopes[Math.max(0, Math.floor((slopes.length - spread) / 2))] ?? slope;
  const high =
    slopes[Math.min(slopes.length - 1, Math.ceil((slopes.length + spread) / 2))] ?? slope;
  const error = Math.max(high - slope, slope - low) * widening(points, slope);
  return { perHour: slope * msPerHour, errorPerHour: error * msPerHour };
}

/** The factor by which correlation widens the interval. */
function widening(points: readonly Point[], slope: number): number {
  const rests = points.map(([at, value]) => value - slope * at);
  const mean = rests.reduce((sum, rest) => sum + rest, 0) / rests.length;
  const away = rests.map((rest) => rest - mean);
  const whole = away.reduce((sum, rest) => sum + rest ** 2, 0);
  const shared = away.reduce((sum, rest, index) => sum + rest * (away[index + 1] ?? 0), 0);
  const likeness = whole === 0 ? 0 : Math.min(0.95, Math.max(0, shared / whole));
  return Math.sqrt((1 + likeness) / (1 - likeness));
}

/** The difference between the medians of the last third and the first. */
export function growthOf(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  return median(values.slice(-third)) - median(values.slice(0, third));
}
