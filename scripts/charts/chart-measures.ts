/** How large things in a picture are, in pixels. */

import type { StateLine } from './chart-state-lines.ts';

/** A letter of the one font, which is monospaced: of a name, and of all else. */
export const letter = { width: 7.9, smallWidth: 7.25, height: 16 } as const;

/** Around what is drawn in a state; what is written in it comes above. */
export const padding = { top: 14, side: 18, bottom: 16 } as const;

/** Between boxes, and between a box and its text. */
export const gap = 20;
export const textMargin = 10;

/** Of the mark at which a level begins, and of the way from there. */
export const startMark = { size: 10, way: 22 } as const;

const smallestWidth = 70;
const headerHeight = 25;

/** What a box needs for the lines in it. */
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
