/** All servers as tiles. Only visible tiles are drawn, so a thousand servers cost as much as thirty. */

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { spoken } from '../../model/announcements.ts';
import {
  type FleetLayout,
  fleetLayout,
  neighbour,
  rowsWithin,
  sizes,
} from '../../model/fleet-layout.ts';
import { fleetGroups } from '../../model/fleet-list.ts';
import { toneOf } from '../../model/state-tones.ts';
import { go } from '../../page/moments.ts';
import { usePage } from '../../page/store.ts';
import { Empty } from '../controls.tsx';
import { StateMark } from '../marks.tsx';
import { useFrame } from '../use-frame.ts';
import { FleetBar } from './bar.tsx';
import { Tile } from './tile.tsx';
import { TileLogin } from './tile-login.tsx';

export function Fleet() {
  const revision = usePage((state) => state.revision);
  const world = usePage((state) => state.world);
  const choice = usePage((state) => state.fleet);
  const groups = useMemo(
    () => fleetGroups(world.servers.values(), choice),
    // The world is changed in place; the revision shows when.
    [world, revision, choice],
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
        <TileList groups={groups} />
      )}
    </section>
  );
}

function TileList({ groups }: { groups: ReturnType<typeof fleetGroups> }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { width, height, scrollTop } = useFrame(scroller);
  const layout = useMemo(() => fleetLayout(groups, width - 2), [groups, width]);
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
        role="list"
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
              class="tile-row"
              role="presentation"
              style={{
                transform: `translateY(${row.top}px)`,
                gridTemplateColumns: `repeat(${layout.columns}, minmax(0, 1fr))`,
              }}
            >
              {row.servers.map((status, place) => (
                <div
                  key={status.name}
                  role="listitem"
                  aria-setsize={layout.names.length}
                  aria-posinset={row.place + place + 1}
                >
                  <Tile
                    status={status}
                    isChosen={status.name === chosen}
                    isStop={status.name === stop}
                    onChoose={choose}
                    onFocus={setFocused}
                  />
                  {status.state === 'authRequired' ? (
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

const choose = (server: string): void => go({ server, actor: undefined });

function reveal(layout: FleetLayout, name: string, scroller: HTMLElement | null): void {
  const place = layout.names.indexOf(name);
  const row = layout.rows.findLast((each) => each.kind === 'tiles' && each.place <= place);
  if (row === undefined || scroller === null) return;
  const bottom = row.top + sizes.tileHeight + sizes.gap;
  if (row.top < scroller.scrollTop) scroller.scrollTop = row.top - sizes.gap;
  else if (bottom > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom - scroller.clientHeight;
}
