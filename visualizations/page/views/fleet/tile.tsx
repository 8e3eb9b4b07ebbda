/** One server at a glance. */

import { memo } from 'preact/compat';
import type { ServerStatus } from '../../../../src/domain/host/status.ts';
import { causeOf, isProblem } from '../../model/cause.ts';
import { age, countdown } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { toneOf } from '../../model/state-tones.ts';
import { momentOf, now, useTicks } from '../../state/clock.ts';
import { StateName } from '../marks.tsx';
import { Sparkline } from './sparkline.tsx';

export interface TileProps {
  readonly status: ServerStatus;
  readonly isChosen: boolean;
  /** Whether the tab key stops here. */
  readonly isStop: boolean;
  readonly onChoose: (name: string) => void;
  readonly onFocus: (name: string) => void;
}

/** What every shape of a server's button has. */
export function tileAttributes({ status, isChosen, isStop, onChoose, onFocus }: TileProps) {
  const { name, state } = status;
  return {
    type: 'button',
    'data-tile': name,
    'data-state-of': state,
    'aria-pressed': isChosen,
    tabIndex: isStop ? 0 : -1,
    onClick: () => onChoose(name),
    onFocus: () => onFocus(name),
  } as const;
}

export const Tile = memo(function Tile(props: TileProps) {
  const { status } = props;
  const { name, state, reason } = status;
  const cause = causeOf(status);
  return (
    <button {...tileAttributes(props)} class={`tile tone-${toneOf[state]}`}>
      <span class="tile-head">
        <span class="tile-name">{shownLine(name, 80)}</span>
        <span class="tile-age" title="In this state for">
          <Age since={status.since} />
        </span>
      </span>
      <StateName state={state} reason={reason} />
      {cause === undefined ? (
        <TileFacts status={status} />
      ) : (
        <span class="tile-cause" title={shownLine(cause, 600)}>
          {shownLine(cause, 240)}
        </span>
      )}
      <span class="tile-foot">
        <Sparkline name={name} />
        <TileWait status={status} />
      </span>
    </button>
  );
});

function TileFacts({ status }: { status: ServerStatus }) {
  const { circuit, catalog, restarts, transport, attempt } = status;
  const count = toolCount(status);
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

export function toolCount({ tools }: Pick<ServerStatus, 'tools'>): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}

/** The time until the next try, or what is known about a server that is on its way. */
function TileWait({ status }: { status: ServerStatus }) {
  const { nextAttemptAt, action, lastError, state, restarts, mayDownload } = status;
  if (nextAttemptAt !== undefined) {
    return (
      <span class="tile-wait">
        next try in <Countdown to={nextAttemptAt} />
      </span>
    );
  }
  if (isProblem(status)) {
    return restarts === 0 ? null : (
      <span class="tile-hint">{restarts === 1 ? '1 restart' : `${restarts} restarts`}</span>
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
