/** The fleet as a table, which ranks servers by any of its columns. */

import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import { memoryText } from '../../../../src/policies/text/memory-text.ts';
import { spoken } from '../../model/announcements.ts';
import type { FleetChoice, Order } from '../../model/fleet-list.ts';
import { shownLine } from '../../model/shown-text.ts';
import { toneOf } from '../../model/state-tones.ts';
import { change, current } from '../../state/store.ts';
import type { Usage } from '../../state/use-usage.ts';
import { StateMark } from '../marks.tsx';
import { type TileProps, tileAttributes } from './tile.tsx';

const columns = [
  { order: 'name', title: 'Server' },
  { order: 'state', title: 'State' },
  { order: 'calls', title: 'Calls' },
  { order: 'restarts', title: 'Restarts' },
  { order: 'memory', title: 'Memory' },
  { order: 'tools', title: 'Tools' },
] as const satisfies readonly { readonly order: Order; readonly title: string }[];

/** Press a title to order by it, and again to turn the order around. */
export function TableHead({ order, isReversed = false }: FleetChoice) {
  // Names begin with A, everything else with the most, or with what needs the user.
  const direction = (isReversed ? order !== 'name' : order === 'name') ? 'ascending' : 'descending';
  return (
    <div class="table-line table-head" role="row">
      {columns.map((column) => (
        <div
          key={column.order}
          class={`column-${column.order}`}
          role="columnheader"
          aria-sort={column.order === order ? direction : 'none'}
        >
          <button type="button" onClick={() => orderBy(column.order)}>
            {column.title}
            {column.order === order ? (
              <span aria-hidden="true">{direction === 'ascending' ? ' ▴' : ' ▾'}</span>
            ) : null}
          </button>
        </div>
      ))}
    </div>
  );
}

function orderBy(order: Order): void {
  const { fleet } = current();
  const isReversed = fleet.order === order && fleet.isReversed !== true;
  change({ fleet: { ...fleet, order, isReversed } });
}

export const ServerRow = memo(function ServerRow(props: TileProps & { readonly usage: Usage }) {
  const { status, usage } = props;
  const { name, state, reason, restarts, tools } = status;
  const words = reason === undefined ? spoken(state) : `${spoken(state)}, ${spoken(reason)}`;
  return (
    <div class={`table-line server-row tone-${toneOf[state]}`} aria-current={props.isChosen}>
      <div class="column-name" role="rowheader">
        <button {...tileAttributes(props)}>
          <StateMark state={state} />
          <span class="tile-name">{shownLine(name, 80)}</span>
        </button>
      </div>
      <div class="column-state" role="cell" title={words}>
        {words}
      </div>
      <Amount
        order="calls"
        most={mostIn(usage.calls.values())}
        value={usage.calls.get(name) ?? 0}
      />
      <Amount order="restarts" value={restarts} />
      <Memory name={name} usage={usage} />
      <Amount order="tools" value={tools} />
    </div>
  );
});

function Memory({ name, usage: { memory, isRecording } }: { name: string; usage: Usage }) {
  if (isRecording) return <Amount order="memory" text="not recorded" />;
  if (memory === undefined) return <Amount order="memory" text="…" />;
  const use = memory.get(name);
  if (use === undefined)
    return <Amount order="memory" text="–" title="Has no process on this machine" />;
  const { bytes, processCount } = use;
  const most = mostIn([...memory.values()].map((each) => each.bytes));
  const title = processCount === 1 ? 'One process' : `${processCount} processes`;
  return <Amount order="memory" most={most} value={bytes} text={memoryText(bytes)} title={title} />;
}

interface AmountProps {
  readonly order: Order;
  readonly value?: number;
  /** The largest value of the column; a bar shows the share of it. */
  readonly most?: number;
  readonly text?: string;
  readonly title?: string;
}

function Amount({ order, value, most, text = String(value), title }: AmountProps) {
  const share = value === undefined || !most ? 0 : value / most;
  const content: ComponentChildren = value === 0 || value === undefined ? <i>{text}</i> : text;
  return (
    <div
      class={`column-${order} number amount`}
      role="cell"
      title={title}
      style={{ '--share': `${(share * 100).toFixed(1)}%` }}
    >
      {content}
    </div>
  );
}

function mostIn(values: Iterable<number>): number {
  return Math.max(0, ...values);
}
