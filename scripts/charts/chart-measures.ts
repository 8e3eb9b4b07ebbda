/** Sizes in a picture, in pixels. */

import type { PictureScope } from '../../visualizations/page/model/folding.ts';
import type { StateLine } from './chart-state-lines.ts';

/** Letters of the monospaced font, in names and elsewhere. */
export const letter = { width: 7.9, smallWidth: 7.25, height: 16 } as const;

/** Around the inner states of a state, below its text. */
export const paddings = {
  details: { top: 14, side: 18, bottom: 16 },
  overview: { top: 6, side: 10, bottom: 10 },
  narrow: { top: 6, side: 10, bottom: 10 },
} as const satisfies Record<PictureScope, unknown>;

/** Between boxes, and between a box and its text. */
export const gap = 20;
export const textMargin = 10;

/** The size of the start mark, and the length of its arrow. */
export const startMark = { size: 10, way: 22 } as const;

const smallestWidth = 70;
const headerHeight = 25;

/** The size of a box for these lines. */
export function boxSize(lines: readonly Pick<StateLine, 'kind' | 'text'>[]): {
  width: number;
  height: number;
} {
  const widths = lines.map(
    ({ kind, text }) => text.length * (kind === 'name' ? letter.width : letter.smallWidth),
  );
  return {
    width: Math.ceil(Math.max(smallestWidth, ...widths) + 2 * textMargin),
    height: headerHeight + (lines.length - 1) * letter.height + 4,
  };
}
