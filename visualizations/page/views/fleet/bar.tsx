/** Totals, which are also filters, and search, grouping and order of the fleet. */

import { useMemo } from 'preact/hooks';
import { type ServerState, statesByConcern } from '../../../../src/domain/server-state.ts';
import { spoken } from '../../model/announcements.ts';
import {
  type FleetLook,
  fleetLooks,
  lookFor,
  type Order,
  orders,
  totals,
} from '../../model/fleet-list.ts';
import { toneOf } from '../../model/state-tones.ts';
import { change, current, usePage } from '../../state/store.ts';
import { IconButton } from '../controls.tsx';
import { type IconName, StateMark } from '../marks.tsx';

const orderNames: Readonly<Record<Order, string>> = {
  name: 'Name',
  state: 'Urgency',
  changed: 'Last change',
  calls: 'Calls',
  restarts: 'Restarts',
  memory: 'Memory',
  tools: 'Tools',
};

export function FleetBar() {
  const choice = usePage((state) => state.fleet);
  const set = (part: Partial<typeof choice>): void =>
    change({ fleet: { ...current().fleet, ...part } });
  return (
    <div class="fleet-bar">
      <Totals />
      <div class="fleet-choices">
        <input
          type="search"
          data-filter
          class="field"
          placeholder="Filter servers"
          aria-label="Filter servers (/)"
          value={choice.text}
          onInput={(event) => set({ text: event.currentTarget.value })}
        />
        <label class="inline">
          <span>Order</span>
          <select
            class="field"
            value={choice.order}
            onChange={(event) =>
              set({ order: event.currentTarget.value as Order, isReversed: false })
            }
          >
            {orders.map((order) => (
              <option key={order} value={order}>
                {orderNames[order]}
              </option>
            ))}
          </select>
        </label>
        <LookSwitch />
        <label class="inline">
          <input
            type="checkbox"
            checked={choice.grouped}
            onChange={(event) => set({ grouped: event.currentTarget.checked })}
          />
          <span>Group by state</span>
        </label>
      </div>
    </div>
  );
}

const lookNames: Readonly<Record<FleetLook, { readonly icon: IconName; readonly label: string }>> =
  {
    tiles: { icon: 'tiles', label: 'Tiles' },
    list: { icon: 'list', label: 'Compact list' },
    table: { icon: 'table', label: 'Table' },
  };

function LookSwitch() {
  const shown = usePage(
    (state) => (state.revision, lookFor(state.fleet, state.world.servers.size)),
  );
  return (
    <div class="look-switch" role="group" aria-label="Look">
      {fleetLooks.map((look) => (
        <IconButton
          key={look}
          {...lookNames[look]}
          pressed={look === shown}
          onPress={() => change({ fleet: { ...current().fleet, look } })}
        />
      ))}
    </div>
  );
}

function Totals() {
  const revision = usePage((state) => state.revision);
  const world = usePage((state) => state.world);
  const states = usePage((state) => state.fleet.states);
  const counts = useMemo(() => {
    const found = new Map(totals(world.servers.values()).map(({ state, count }) => [state, count]));
    return statesByConcern.flatMap((state) => {
      const count = found.get(state) ?? 0;
      return count > 0 || states.includes(state) ? [{ state, count }] : [];
    });
  }, [world, revision, states]);
  const toggle = (state: ServerState): void => {
    const fleet = current().fleet;
    const next = states.includes(state)
      ? states.filter((each) => each !== state)
      : [...states, state];
    change({ fleet: { ...fleet, states: next } });
  };
  const all = world.servers.size;
  return (
    <div class="totals" role="group" aria-label="How many servers are in each state">
      <button
        type="button"
        class="total total-all"
        aria-pressed={states.length === 0}
        onClick={() => change({ fleet: { ...current().fleet, states: [] } })}
      >
        <b>{all}</b> {all === 1 ? 'server' : 'servers'}
      </button>
      {counts.map(({ state, count }) => (
        <button
          key={state}
          type="button"
          class={`total tone-${toneOf[state]}`}
          aria-pressed={states.includes(state)}
          onClick={() => toggle(state)}
        >
          <StateMark state={state} />
          <b>{count}</b> {spoken(state)}
        </button>
      ))}
    </div>
  );
}
