/** A sequence diagram of the records. Only visible rows are drawn, even of a hundred thousand records. */

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { InspectionRecord } from '../../../../src/domain/host/inspection.ts';
import { stamp } from '../../model/durations.ts';
import type { History } from '../../model/history.ts';
import { worksFor } from '../../model/logins.ts';
import {
  isChosen,
  type Lifeline,
  lifelines,
  outside,
  type RowKind,
  rowOf,
  type SequenceChoice,
} from '../../model/sequence-rows.ts';
import { shownLine } from '../../model/shown-text.ts';
import { go } from '../../state/moments.ts';
import { usePage } from '../../state/store.ts';
import { Empty } from '../controls.tsx';
import { useFrame } from '../use-frame.ts';
import { SequenceBar } from './bar.tsx';
import { LaneIndex, type LaneView, OffScreen } from './lanes.tsx';
import { RowDrawing, rowHeight } from './row-drawing.tsx';

const numberedGutter = 150;
/** With only the time, as always on phones. */
const usualGutter = 96;
const narrow = 640;
const mostLifelines = 40;
const narrowest = 150;

export function Sequence() {
  const [kinds, setKinds] = useState<ReadonlySet<RowKind>>(
    new Set(['event', 'state', 'ignored', 'life']),
  );
  const [text, setText] = useState('');
  const [isNumbered, setNumbered] = useState(false);
  const server = usePage((state) => state.route.server);
  const rows = useSequence({ kinds, text, ...(server === undefined ? {} : { server }) });
  return (
    <section class={isNumbered ? 'sequence numbered' : 'sequence'} aria-label="Sequence">
      <SequenceBar
        kinds={kinds}
        onKinds={setKinds}
        text={text}
        onText={setText}
        count={rows.length}
        isNumbered={isNumbered}
        onNumbered={setNumbered}
      />
      {rows.length === 0 ? (
        <Empty title="Nothing to show">
          No record matches; show more kinds or clear the filter.
        </Empty>
      ) : (
        <Rows rows={rows} isNumbered={isNumbered} />
      )}
    </section>
  );
}

function Rows({ rows, isNumbered }: { rows: readonly FoundRow[]; isNumbered: boolean }) {
  const scroller = useRef<HTMLDivElement>(null);
  const frame = useFrame(scroller);
  const at = usePage((state) => state.route.at);
  const actors = usePage((state) => state.history.known);
  const first = Math.max(0, Math.floor(frame.scrollTop / rowHeight) - 8);
  const shown = rows.slice(first, first + Math.ceil(frame.height / rowHeight) + 16);
  const atPlace = at === undefined ? -1 : placeOf(rows, at);
  const lines = useLifelines(rows, shown, actors);
  useKept(scroller, rows, at);
  const gutter = isNumbered && frame.width >= narrow ? numberedGutter : usualGutter;
  const width = Math.max(frame.width - 2, gutter + lines.length * narrowest);
  const column = (width - gutter) / Math.max(1, lines.length);
  const xs = useMemo(
    () => new Map(lines.map(({ key }, place) => [key, gutter + (place + 0.5) * column])),
    [lines, column, gutter],
  );
  const view: LaneView = {
    from: frame.scrollLeft + gutter,
    to: frame.scrollLeft + frame.width,
    // At once: a smooth scroll would end unfinished when a new record is followed.
    goTo: (key) => scroller.current?.scrollTo({ left: (xs.get(key) ?? 0) - gutter - column / 2 }),
  };
  return (
    <div class="sequence-scroller" ref={scroller} tabIndex={0} aria-label="Records" role="group">
      <div class="sequence-heads" style={{ width: `${width}px` }}>
        <LaneIndex lines={lines} xs={xs} view={view} width={gutter} />
        {lines.map((line) => (
          <Head key={line.key} line={line} x={xs.get(line.key) ?? 0} width={column} />
        ))}
      </div>
      <div
        class="sequence-space"
        style={{ height: `${rows.length * rowHeight}px`, width: `${width}px` }}
        role="list"
      >
        <svg
          class="lifelines"
          width={width}
          height={shown.length * rowHeight}
          style={{ transform: `translateY(${first * rowHeight}px)` }}
          aria-hidden="true"
        >
          {lines.map(({ key }) => (
            <line
              key={key}
              x1={xs.get(key)}
              x2={xs.get(key)}
              y1="0"
              y2={shown.length * rowHeight}
            />
          ))}
        </svg>
        {shown.map((row, place) => (
          <Row
            key={row.record.n}
            found={row}
            top={(first + place) * rowHeight}
            xs={xs}
            width={width}
            gutter={gutter}
            lines={lines}
            view={view}
            isAt={first + place === atPlace}
            isSameTime={isAtSameTime(rows[first + place - 1], row)}
          />
        ))}
      </div>
    </div>
  );
}

/** The lifelines of visible rows; kept while unchanged, so that columns do not jump. */
function useLifelines(
  rows: readonly FoundRow[],
  shown: readonly FoundRow[],
  actors: Parameters<typeof lifelines>[1],
): readonly Lifeline[] {
  const key = `${rows[0]?.record.n ?? 0} ${shown[0]?.record.n ?? 0} ${shown.at(-1)?.record.n ?? 0}`;
  const stable = useRef<readonly Lifeline[]>([]);
  return useMemo(() => {
    const next = lifelines(
      shown.map(({ record }) => record),
      actors,
      mostLifelines,
    );
    const names = (lines: readonly Lifeline[]): string => lines.map((line) => line.key).join(' ');
    if (names(next) !== names(stable.current)) stable.current = next;
    return stable.current;
  }, [key, actors]);
}

/** Whether a row has the same time as the row before, which is then not repeated. */
function isAtSameTime(before: FoundRow | undefined, { record }: FoundRow): boolean {
  return before !== undefined && stamp(before.record.t) === stamp(record.t);
}

/** Keeps the chosen moment visible, or the newest row while the view is scrolled to the end. */
function useKept(
  scroller: { readonly current: HTMLElement | null },
  rows: readonly FoundRow[],
  at: number | undefined,
): void {
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const note = (): void => {
      isAtEnd.current =
        element.scrollHeight - element.scrollTop - element.clientHeight < rowHeight * 2;
    };
    element.addEventListener('scroll', note, { passive: true });
    return () => element.removeEventListener('scroll', note);
  }, []);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null || at === undefined) return;
    const top = placeOf(rows, at) * rowHeight;
    const room = element.clientHeight - 3 * rowHeight;
    if (top < element.scrollTop || top > element.scrollTop + room)
      element.scrollTop = top - room / 2;
  }, [at, rows.length === 0]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element !== null && at === undefined && isAtEnd.current)
      element.scrollTop = element.scrollHeight;
  });
}

/** Place of the last row at or before a moment. */
function placeOf(rows: readonly FoundRow[], at: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.record.n ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function Head({ line, x, width }: { line: Lifeline; x: number; width: number }) {
  const { server, key } = line;
  return (
    <div class="sequence-head" style={{ left: `${x - width / 2}px`, width: `${width}px` }}>
      <button
        type="button"
        disabled={key === outside}
        title={`${line.name} ${line.role}`}
        onClick={() =>
          go(
            server === undefined
              ? { view: 'chart', actor: key, server: undefined }
              : { server, actor: undefined },
          )
        }
      >
        <b>{shownLine(line.name, 40)}</b>
        <small>{shownLine(line.role, 40)}</small>
      </button>
    </div>
  );
}

interface RowProps {
  readonly found: FoundRow;
  /** Whether the row before shows the same time. */
  readonly isSameTime: boolean;
  readonly top: number;
  readonly width: number;
  /** Room on the left for the number and the time. */
  readonly gutter: number;
  readonly xs: ReadonlyMap<string, number>;
  readonly lines: readonly Lifeline[];
  readonly view: LaneView;
  readonly isAt: boolean;
}

function Row({ found, isSameTime, top, width, gutter, xs, lines, view, isAt }: RowProps) {
  const { record, was } = found;
  const row = rowOf(record, was);
  return (
    <div
      role="listitem"
      class={isAt ? 'sequence-row at' : 'sequence-row'}
      style={{ transform: `translateY(${top}px)` }}
    >
      <button
        type="button"
        class="row-jump"
        title={`Go to record ${record.n}`}
        onClick={() => go({ at: record.n })}
      >
        <span class="number row-n">{record.n}</span>
        <span class={isSameTime ? 'number row-t same' : 'number row-t'}>{stamp(record.t)}</span>
      </button>
      <svg
        class={`row-drawing row-${record.kind}`}
        width={width}
        height={rowHeight}
        aria-label={shownLine(row.label, 300)}
        role="img"
      >
        <RowDrawing row={row} xs={xs} width={width} gutter={gutter} />
      </svg>
      <OffScreen row={row} xs={xs} lines={lines} view={view} />
    </div>
  );
}

interface Found {
  readonly key: string;
  readonly history: History;
  /** Number of the last examined record. */
  last: number;
  first: number;
  rows: FoundRow[];
  /** Leaves of each actor after the last examined record. */
  readonly leaves: Map<string, readonly string[]>;
}

interface FoundRow {
  readonly record: InspectionRecord;
  /** The actor's previous leaves, for a state record. */
  readonly was?: readonly string[];
}

function useSequence(choice: SequenceChoice): readonly FoundRow[] {
  usePage((state) => state.revision);
  const history = usePage((state) => state.history);
  const found = useRef<Found>(undefined);
  const key = `${[...choice.kinds].sort().join()} ${choice.server ?? ''} ${choice.text}`;
  const { first } = history;
  const last = found.current;
  const isSameSearch = last?.key === key && last.history === history && last.first === first;
  const now = isSameSearch
    ? last
    : { key, history, last: 0, first, rows: [], leaves: new Map<string, readonly string[]>() };
  found.current = now;
  extend(now, choice);
  return now.rows;
}

/** Adds the records that arrived since the last call. */
function extend(found: Found, choice: SequenceChoice): void {
  const { history, leaves } = found;
  const { records, known } = history;
  const isOf = (actor: string, server: string): boolean => worksFor(known.get(actor), server);
  const start = found.last === 0 ? 0 : history.placeOf(found.last) + 1;
  const more: FoundRow[] = [];
  for (const record of records.slice(start)) {
    found.last = record.n;
    const was = record.kind === 'state' ? leaves.get(record.actor) : undefined;
    if (record.kind === 'state') leaves.set(record.actor, record.leaves);
    // Only the context changed, which a sequence does not show.
    if (was !== undefined && isSame(record, was)) continue;
    if (!isChosen(record, choice, isOf)) continue;
    more.push({ record, ...(was === undefined ? {} : { was }) });
  }
  if (more.length > 0) found.rows = found.rows.concat(more);
}

function isSame(record: InspectionRecord, was: readonly string[]): boolean {
  if (record.kind !== 'state' || record.life !== 'active') return false;
  const { leaves } = record;
  return leaves.length === was.length && leaves.every((leaf) => was.includes(leaf));
}
