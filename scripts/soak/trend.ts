/** The slope of a row of samples, and how far it can be believed. */

import { median } from '../../test/bench/statistics.ts';

export type Point = readonly [atMs: number, value: number];

export interface Trend {
  readonly perHour: number;
  /** Half the width of the interval in which the slope lies with 95 %. */
  readonly errorPerHour: number;
}

const msPerHour = 3_600_000;
// Fewer than this say nothing of their own scatter.
const leastPoints = 8;
const unknown: Trend = { perHour: 0, errorPerHour: Number.POSITIVE_INFINITY };

/**
 * The median of the slopes between all pairs (Theil and Sen): a third of the samples may be
 * anything at all without moving it far. The interval is that of Kendall's test, made wider by
 * as much as neighbours resemble each other: what holds memory for a minute is in several samples.
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

/** By which factor fewer samples are independent than there are. */
function widening(points: readonly Point[], slope: number): number {
  const rests = points.map(([at, value]) => value - slope * at);
  const mean = rests.reduce((sum, rest) => sum + rest, 0) / rests.length;
  const away = rests.map((rest) => rest - mean);
  const whole = away.reduce((sum, rest) => sum + rest ** 2, 0);
  const shared = away.reduce((sum, rest, index) => sum + rest * (away[index + 1] ?? 0), 0);
  const likeness = whole === 0 ? 0 : Math.min(0.95, Math.max(0, shared / whole));
  return Math.sqrt((1 + likeness) / (1 - likeness));
}

/** How much more the last third holds than the first, by their medians. */
export function growthOf(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  return median(values.slice(-third)) - median(values.slice(0, third));
}
