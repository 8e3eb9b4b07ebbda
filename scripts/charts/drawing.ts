/** The contents of a picture: boxes, arrows and labels, with their positions. */

import type { AnyStateNode } from 'xstate';
import type { Arrow, LabelLine } from './chart-arrows.ts';
import type { StateLine } from './chart-state-lines.ts';
import type { ChartView } from './chart-view.ts';

/** The drawn part of a chart. */
export interface Shown {
  readonly view: ChartView;
  readonly arrows: readonly Arrow[];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface DrawnState extends Box {
  readonly state: AnyStateNode;
  readonly lines: readonly StateLine[];
  readonly isFolded: boolean;
}

export interface DrawnArrow {
  readonly arrow: Arrow;
  readonly lines: readonly LabelLine[];
  readonly points: readonly Point[];
  readonly label: Box;
}

/** The start mark of a level and its arrow. */
export interface DrawnStart {
  readonly mark: Point;
  readonly points: readonly Point[];
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** Outer ones first. */
  readonly states: readonly DrawnState[];
  readonly arrows: readonly DrawnArrow[];
  readonly starts: readonly DrawnStart[];
}

/** The same drawing in another place. */
export function movedBy(drawing: Drawing, { x, y }: Point): Drawing {
  const moved = <Each extends Point>(each: Each): Each => ({
    ...each,
    x: tidy(each.x + x),
    y: tidy(each.y + y),
  });
  return {
    ...drawing,
    states: drawing.states.map(moved),
    arrows: drawing.arrows.map(({ points, label, ...arrow }) => ({
      ...arrow,
      points: points.map(moved),
      label: moved(label),
    })),
    starts: drawing.starts.map(({ mark, points }) => ({
      mark: moved(mark),
      points: points.map(moved),
    })),
  };
}

/** Rounds to a tenth of a pixel; more digits would only lengthen the file. */
export function tidy(length: number): number {
  return Math.round(length * 10) / 10;
}
