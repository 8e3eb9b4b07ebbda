/** A server in the compact list: a line with its cause for a problem, otherwise a chip. */

import { memo } from 'preact/compat';
import { spoken } from '../../model/announcements.ts';
import { causeOf } from '../../model/cause.ts';
import { shownLine } from '../../model/shown-text.ts';
import { toneOf } from '../../model/state-tones.ts';
import { StateMark, StateName } from '../marks.tsx';
import { Sparkline } from './sparkline.tsx';
import { Age, Countdown, type TileProps, tileAttributes, toolCount } from './tile.tsx';

export const ServerLine = memo(function ServerLine(props: TileProps) {
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
});

export const ServerChip = memo(function ServerChip(props: TileProps) {
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
});
