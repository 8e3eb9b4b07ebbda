/** One row of a sequence: an arrow between two lifelines, a mark on one, or a line across all. */

import type { SequenceRow } from '../../model/sequence-rows.ts';
import { shownLine } from '../../model/shown-text.ts';

/** In pixels; the style sheet has the same. */
export const rowHeight = 28;

/** Where the row's arrow lies, and the foot of its words. */
const arrowY = 19;
const wordsY = 18;
const letterWidth = 7.3;

interface RowDrawingProps {
  readonly row: SequenceRow;
  readonly xs: ReadonlyMap<string, number>;
  readonly width: number;
  readonly gutter: number;
}

export function RowDrawing({ row, xs, width, gutter }: RowDrawingProps) {
  const label = shownLine(row.label, 160);
  if (row.draw === 'line') {
    return (
      <>
        <line class="row-rule" x1={gutter} x2={width} y1={rowHeight / 2} y2={rowHeight / 2} />
        <text x={gutter + 12} y={wordsY}>
          {label}
        </text>
      </>
    );
  }
  const room = { from: gutter, to: width };
  if (row.draw === 'mark') {
    const x = xs.get(row.at) ?? gutter;
    const r = row.tone === 'state' ? 4.5 : 3.5;
    return (
      <>
        <circle class={`row-mark mark-${row.tone}`} cx={x} cy={rowHeight / 2} r={r} />
        <Beside x={x} gap={11} room={room} text={label} />
      </>
    );
  }
  const from = xs.get(row.from) ?? gutter;
  const to = xs.get(row.to) ?? gutter;
  const words = row.note === undefined ? label : `${label} ${shownLine(row.note, 80)}`;
  if (from === to) {
    return (
      <>
        <path class="row-way" d={`M${from} 8h22q5 0 5 5.500t-5 5.500h-15`} />
        <path class="row-tip" d={`M${from + 3} ${arrowY}l7-3.500v7z`} />
        <Beside x={from} gap={34} room={room} text={words} />
      </>
    );
  }
  const way = Math.sign(to - from);
  // The event's payload is shown if there is room.
  const fits = words.length * letterWidth < Math.abs(to - from) + 24;
  return (
    <>
      <circle class="row-start" cx={from} cy={arrowY} r="2.5" />
      <line class="row-way" x1={from} x2={to - way * 8} y1={arrowY} y2={arrowY} />
      <path class="row-tip" d={`M${to - way * 2} ${arrowY}l${-way * 8}-4v8z`} />
      <text x={(from + to) / 2} y={14} text-anchor="middle">
        {fits ? words : label}
      </text>
    </>
  );
}

interface BesideProps {
  readonly x: number;
  readonly gap: number;
  readonly room: { readonly from: number; readonly to: number };
  readonly text: string;
}

/** Text to the right of a lifeline, or to its left where it would not fit. */
function Beside({ x, gap, room, text }: BesideProps) {
  const length = text.length * letterWidth;
  const turns = x + gap + length > room.to && x - gap - length > room.from;
  return (
    <text x={turns ? x - gap : x + gap} y={wordsY} text-anchor={turns ? 'end' : 'start'}>
      {text}
    </text>
  );
}
