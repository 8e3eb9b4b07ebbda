/** Leads to lifelines that are beside the screen, and names them in rows that happen only there. */

import { type Lifeline, lanesOf, type SequenceRow } from '../../model/sequence-rows.ts';
import { shownLine } from '../../model/shown-text.ts';

export interface LaneView {
  /** The visible part of the rows, in pixels. */
  readonly from: number;
  readonly to: number;
  /** Scrolls to a lifeline. */
  readonly goTo: (key: string) => void;
}

interface LanesProps {
  readonly lines: readonly Lifeline[];
  readonly xs: ReadonlyMap<string, number>;
  readonly view: LaneView;
}

/** A menu of all lifelines; arrows point to those beside the screen. */
export function LaneIndex({ lines, xs, view, width }: LanesProps & { width: number }) {
  const hidden = lines.filter(({ key }) => sideOf(xs.get(key), view) !== undefined).length;
  return (
    <div class="lane-index" style={{ width: `${width - 8}px` }}>
      <select
        class="field"
        aria-label="Go to a lane"
        title={hidden === 0 ? 'All lanes are visible' : `${hidden} lanes are beside the screen`}
        value=""
        onChange={(event) => {
          view.goTo(event.currentTarget.value);
          event.currentTarget.value = '';
        }}
      >
        <option value="">{lines.length === 1 ? '1 lane' : `${lines.length} lanes`}</option>
        {lines.map(({ key, name, role }) => {
          const side = sideOf(xs.get(key), view);
          const mark = side === 'left' ? '‹ ' : side === 'right' ? '› ' : '';
          return (
            <option key={key} value={key}>
              {`${mark}${shownLine(name, 40)} ${shownLine(role, 40)}`}
            </option>
          );
        })}
      </select>
    </div>
  );
}

/** Names what a row shows beside the screen, and leads there. */
export function OffScreen({ row, lines, xs, view }: LanesProps & { row: SequenceRow }) {
  const keys = lanesOf(row);
  const sides = new Set(keys.map((key) => sideOf(xs.get(key), view)));
  const [side] = sides;
  const key = keys.at(-1);
  if (sides.size !== 1 || side === undefined || key === undefined) return null;
  const name = lines.find((line) => line.key === key)?.name ?? '';
  const text = `${shownLine(name, 30)}: ${shownLine(row.label, 60)}`;
  const left = side === 'left' ? view.from + 6 : view.to - 6;
  return (
    <button
      type="button"
      class={`row-beside beside-${side}`}
      style={{ left: `${left}px` }}
      tabIndex={-1}
      onClick={() => view.goTo(key)}
    >
      {side === 'left' ? `‹ ${text}` : `${text} ›`}
    </button>
  );
}

function sideOf(x: number | undefined, { from, to }: LaneView): 'left' | 'right' | undefined {
  if (x === undefined) return undefined;
  return x < from ? 'left' : x > to ? 'right' : undefined;
}
