/** All servers as tiles. Only visible tiles are drawn, so a thousand servers cost as much as thirty. */

import { memo } from 'preact/compat';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { spoken } from '../../model/announcements.ts';
import { causeOf } from '../../model/cause.ts';
import {
  type FleetLayout,
  type FleetShape,
  fleetLayout,
  neighbour,
  rowOf,
  rowsWithin,
  sizes,
} from '../../model/fleet-layout.ts';
import { type FleetLook, fleetGroups, lookFor } from '../../model/fleet-list.ts';
import { shownLine } from '../../model/shown-text.ts';
import { toneOf } from '../../model/state-tones.ts';
import { logIn } from '../../state/login.ts';
import { go } from '../../state/moments.ts';
import { offReason, usePage } from '../../state/store.ts';
import { type Usage, useUsage } from '../../state/use-usage.ts';
import { Empty } from '../controls.tsx';
import { StateMark, StateName } from '../marks.tsx';
import { useFrame } from '../use-frame.ts';
import { FleetBar } from './bar.tsx';
import { Sparkline } from './sparkline.tsx';
import { ServerRow, TableHead } from './table.tsx';
import { Age, Countdown, Tile, type TileProps, tileAttributes, toolCount } from './tile.tsx';

export function Fleet() {
  const revision = usePage((state) => state.revision);
  const world = usePage((state) => state.world);
  const choice = usePage((state) => state.fleet);
  const look = lookFor(choice, world.servers.size);
  const usage = useUsage(look === 'table' || choice.order === 'calls' || choice.order === 'memory');
  const groups = useMemo(
    () => fleetGroups(world.servers.values(), choice, usage),
    // The world is changed in place; the revision shows when.
    [world, revision, choice, usage],
  );
  const isNone = world.servers.size === 0;
  return (
    <section class="fleet" aria-label="Fleet">
      <FleetBar />
      {isNone ? (
        <Empty title="No servers">The settings of this troupe define none.</Empty>
      ) : groups.length === 0 ? (
        <Empty title="No matching server">Change or clear the filter.</Empty>
      ) : (
        <Servers groups={groups} look={look} usage={usage} />
      )}
    </section>
  );
}

function Servers(props: TileListProps) {
  const choice = usePage((state) => state.fleet);
  if (props.look !== 'table') return <TileList {...props} />;
  return (
    <div class="fleet-table" role="table" aria-label="Servers">
      <TableHead {...choice} />
      <TileList {...props} />
    </div>
  );
}

// On both sides, in the style sheet.
const scrollerPadding = 8;

const shapes = {
  tile: Tile,
  line: memo(ServerLine),
  chip: memo(ServerChip),
  row: ServerRow,
} as const;

interface TileListProps {
  readonly groups: ReturnType<typeof fleetGroups>;
  readonly look: FleetLook;
  readonly usage: Usage;
}

function TileList({ groups, look, usage }: TileListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const { width, height, scrollTop } = useFrame(scroller);
  const layout = useMemo(
    () => fleetLayout(groups, width - scrollerPadding, look),
    [groups, width, look],
  );
  const chosen = usePage((state) => state.route.server);
  const [focused, setFocused] = useState<string>();
  const moveTo = (name: string): void => {
    setFocused(name);
    reveal(layout, name, scroller.current);
  };
  useLayoutEffect(() => {
    if (focused === undefined || !scroller.current?.contains(document.activeElement)) return;
    scroller.current
      .querySelector<HTMLElement>(`[data-tile="${CSS.escape(focused)}"]`)
      ?.focus({ preventScroll: true });
  }, [focused, scrollTop]);
  const press = (event: KeyboardEvent): void => {
    const next = neighbour(layout, focused ?? chosen, event.key);
    if (next === undefined || !event.key.startsWith('Arrow')) return;
    event.preventDefault();
    moveTo(next);
  };
  const stop = focused ?? chosen ?? layout.names[0];
  return (
    <div class="tile-scroller" ref={scroller} onKeyDown={press}>
      <div
        class="tile-space"
        role={look === 'table' ? 'rowgroup' : 'list'}
        aria-label={`${layout.names.length} servers`}
        style={{ height: `${layout.height}px` }}
      >
        {rowsWithin(layout, scrollTop, height).map((row) =>
          row.kind === 'heading' ? (
            <h2
              key={`heading-${row.state}`}
              class={`tile-heading tone-${toneOf[row.state]}`}
              style={{ transform: `translateY(${row.top}px)` }}
            >
              <StateMark state={row.state} />
              {spoken(row.state)} <span class="count">{row.count}</span>
            </h2>
          ) : (
            <div
              key={`row-${row.place}`}
              class={`tile-row ${row.kind}-row`}
              role="presentation"
              style={{
                transform: `translateY(${row.top}px)`,
                gridTemplateColumns: `repeat(${row.columns}, minmax(0, 1fr))`,
              }}
            >
              {row.servers.map((status, place) => (
                <div
                  key={status.name}
                  {...itemAttributes(row.kind, row.place + place + 1, layout.names.length)}
                >
                  <ServerShape
                    kind={row.kind}
                    status={status}
                    isChosen={status.name === chosen}
                    isStop={status.name === stop}
                    usage={usage}
                    onChoose={choose}
                    onFocus={setFocused}
                  />
                  {status.state === 'authRequired' && row.kind !== 'row' ? (
                    <TileLogin server={status.name} isStop={status.name === stop} />
                  ) : null}
                </div>
              ))}
            </div>
          ),
        )}
      </div>
    </div>
  );
}

function itemAttributes(kind: FleetShape, place: number, count: number) {
  return kind === 'row'
    ? ({ role: 'row', 'aria-rowindex': place } as const)
    : ({ role: 'listitem', 'aria-setsize': count, 'aria-posinset': place } as const);
}

interface ShapeProps extends TileProps {
  readonly kind: FleetShape;
  readonly usage: Usage;
}

function ServerShape({ kind, ...props }: ShapeProps) {
  const Shape = shapes[kind];
  return <Shape {...props} />;
}

const choose = (server: string): void => go({ server, actor: undefined });

function reveal(layout: FleetLayout, name: string, scroller: HTMLElement | null): void {
  const row = rowOf(layout, name);
  if (row === undefined || scroller === null) return;
  const { gap } = sizes.tile;
  const bottom = row.top + row.height + gap;
  if (row.top < scroller.scrollTop) scroller.scrollTop = row.top - gap;
  else if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight;
}

/** Beside the tile, which is a button itself. */
function TileLogin({ server, isStop }: { server: string; isStop: boolean }) {
  const off = usePage(offReason);
  const [isBusy, setBusy] = useState(false);
  if (off !== undefined) return null;
  const press = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await logIn(server);
    setBusy(false);
  };
  return (
    <button
      type="button"
      class="small-button tile-login"
      data-login={server}
      tabIndex={isStop ? 0 : -1}
      aria-label={`Log in to ${shownLine(server, 80)}`}
      aria-busy={isBusy}
      onClick={() => void press()}
    >
      Log in
    </button>
  );
}

/** In the compact list, a server with a problem. */
function ServerLine(props: TileProps) {
  const { status } = props;
  const { name, state, reason, nextAttemptAt } = status;
  const cause = causeOf(status);
  return (
    <button {...tileAttributes(props)} class={`server-line tone-${toneOf[state]}`}>
      <span class="tile-name">{shownLine(name, 80)}</span>
      <StateName state={state} reason={reason} />
      <span class="line-cause" title={cause === undefined ? '' : shownLine(cause, 600)}>
        {cause === undefined ? '' : shownLine(cause, 240)}
      </span>
      <span class="line-wait">
        {nextAttemptAt === undefined ? null : (
          <>
            next try in <Countdown to={nextAttemptAt} />
          </>
        )}
      </span>
      <span class="line-trail">
        <Sparkline name={name} />
      </span>
      <span class="tile-age" title="In this state for">
        <Age since={status.since} />
      </span>
    </button>
  );
}

/** In the compact list, a server without a problem. */
function ServerChip(props: TileProps) {
  const { status } = props;
  const { name, state, reason, circuit } = status;
  const words = circuit === 'closed' ? undefined : `circuit ${spoken(circuit)}`;
  return (
    <button
      {...tileAttributes(props)}
      class={`server-chip tone-${toneOf[state]}`}
      title={`${shownLine(name, 200)}: ${spoken(state)}${reason === undefined ? '' : `, ${spoken(reason)}`}`}
    >
      <StateMark state={state} />
      <span class="tile-name">{shownLine(name, 80)}</span>
      <span class={words === undefined ? 'soft' : 'fact-bad'}>
        {words ?? (state === 'ready' ? toolCount(status) : spoken(state))}
      </span>
    </button>
  );
}
