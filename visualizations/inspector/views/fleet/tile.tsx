/** One server at a glance. */

import { memo } from 'preact/compat';
import type { ServerStatus } from '../../../../src/domain/host/status.ts';
import { age, countdown } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { toneOf } from '../../model/state-tones.ts';
import { momentOf, now, useTicks } from '../../page/clock.ts';
import { StateName } from '../marks.tsx';
import { Sparkline } from './sparkline.tsx';

interface TileProps {
  readonly status: ServerStatus;
  readonly isChosen: boolean;
  /** Whether the tab key stops here. */
  readonly isStop: boolean;
  readonly onChoose: (name: string) => void;
  readonly onFocus: (name: string) => void;
}

export const Tile = memo(function Tile({ status, isChosen, isStop, onChoose, onFocus }: TileProps) {
  const { name, state, reason } = status;
  return (
    <button
      type="button"
      class={`tile tone-${toneOf[state]}`}
      data-tile={name}
      data-state-of={state}
      aria-pressed={isChosen}
      tabIndex={isStop ? 0 : -1}
      onClick={() => onChoose(name)}
      onFocus={() => onFocus(name)}
    >
      <span class="tile-head">
        <span class="tile-name">{shownLine(name, 80)}</span>
        <span class="tile-age" title="In this state for">
          <Age since={status.since} />
        </span>
      </span>
      <StateName state={state} reason={reason} />
      <TileFacts status={status} />
      <span class="tile-foot">
        <Sparkline name={name} />
        <TileWait status={status} />
      </span>
    </button>
  );
});

function TileFacts({ status }: { status: ServerStatus }) {
  const { circuit, catalog, tools, restarts, transport, attempt } = status;
  const count = tools === 1 ? '1 tool' : `${tools} tools`;
  return (
    <span class="tile-facts">
      {circuit === 'closed' ? null : (
        <span class="fact-bad">circuit {circuit === 'halfOpen' ? 'half open' : circuit}</span>
      )}
      {attempt === undefined ? null : <span class="fact-warn">try {attempt}</span>}
      <span>
        {catalog === 'none' ? 'no catalog' : catalog === 'live' ? count : `${count}, ${catalog}`}
      </span>
      <span>{transport}</span>
      {restarts === 0 ? null : <span>{restarts === 1 ? '1 restart' : `${restarts} restarts`}</span>}
    </span>
  );
}

/** The time until the next try, or what would help. */
function TileWait({ status }: { status: ServerStatus }) {
  const { nextAttemptAt, action, lastError, state, mayDownload } = status;
  if (nextAttemptAt !== undefined) {
    return (
      <span class="tile-wait">
        next try in <Countdown to={nextAttemptAt} />
      </span>
    );
  }
  const isWell = state === 'ready' || state === 'dormant';
  const note = mayDownload === true ? 'first start: may be downloading' : undefined;
  const hint = action ?? note ?? (isWell ? undefined : lastError?.message);
  return hint === undefined ? null : (
    <span class="tile-hint" title={shownLine(hint, 500)}>
      {shownLine(hint, 120)}
    </span>
  );
}

export function Countdown({ to }: { to: string }) {
  useTicks(true);
  return <b class="number">{countdown(momentOf(to) - now())}</b>;
}

export function Age({ since }: { since: string }) {
  return <span class="number">{age(now() - momentOf(since))}</span>;
}
