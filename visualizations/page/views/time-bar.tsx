/** The slider through all records; every view follows it. */

import { useMemo, useReducer } from 'preact/hooks';
import type { InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { activity } from '../model/activity.ts';
import { stamp } from '../model/durations.ts';
import { actorOf } from '../model/world.ts';
import { chosenActor, chosenLogin } from '../state/chosen.ts';
import { showDifference } from '../state/comparison.ts';
import { go } from '../state/moments.ts';
import { change, usePage } from '../state/store.ts';
import {
  bounds,
  isPlaying,
  play,
  step,
  stepToProblem,
  stopPlaying,
  toggleLive,
} from '../state/travel.ts';
import { endWay, openWay } from '../state/way.ts';
import { IconButton } from './controls.tsx';
import { Icon } from './marks.tsx';

export function TimeBar() {
  const at = usePage((state) => state.route.at);
  const link = usePage((state) => state.link);
  const isKnown = usePage((state) => state.session !== undefined);
  usePage((state) => (at === undefined ? state.revision : state.world));
  const { first, last } = bounds();
  const value = at ?? last;
  if (!isKnown) return <footer class="time-bar" aria-label="Time" />;
  return (
    <footer class="time-bar" aria-label="Time">
      <div class="time-steps">
        <IconButton
          icon="back"
          label="One record back ([)"
          disabled={value <= first}
          onPress={() => step(-1)}
        />
        <PlayButton />
        <IconButton
          icon="forward"
          label="One record forward (])"
          disabled={value >= last}
          onPress={() => step(1)}
        />
        <IconButton
          icon="problemBack"
          label="The problem before (P)"
          onPress={() => stepToProblem(-1)}
        />
        <IconButton icon="problem" label="The next problem (N)" onPress={() => stepToProblem(1)} />
      </div>
      <div class="time-track">
        <Activity first={first} last={last} />
        <input
          type="range"
          min={first}
          max={last}
          value={value}
          aria-label="Moment"
          aria-valuetext={`Record ${value} of ${last}`}
          onInput={(event) => {
            stopPlaying();
            go({ at: Number(event.currentTarget.value) });
          }}
        />
      </div>
      <Where value={value} last={last} />
      <DifferenceButton />
      <WayButton />
      <WhatIfButton />
      <button
        type="button"
        class="live-button"
        aria-pressed={at === undefined}
        disabled={link === 'replay'}
        onClick={toggleLive}
      >
        <span class="live-dot" aria-hidden="true" />
        {link === 'replay' ? 'Replay' : 'Live'}
      </button>
    </footer>
  );
}

function PlayButton() {
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  return (
    <IconButton
      icon={isPlaying() ? 'pause' : 'play'}
      label={isPlaying() ? 'Pause' : 'Play from here'}
      onPress={() => {
        if (isPlaying()) stopPlaying();
        else play(() => redraw(undefined));
        redraw(undefined);
      }}
    />
  );
}

function Where({ value, last }: { value: number; last: number }) {
  const t = usePage((state) => state.world.t);
  return (
    <p class="time-where">
      <b class="number">{stamp(t)}</b>
      <span class="number soft">
        {value} / {last}
      </span>
    </p>
  );
}

/** Opens the panel that forks this moment. */
function WhatIfButton() {
  const isOpen = usePage((state) => state.whatIf);
  const canFork = usePage((state) => {
    const { route, world, revision } = state;
    // Only servers can be forked.
    if (chosenLogin(state) !== undefined) return false;
    const actor =
      route.actor ?? (route.server === undefined ? undefined : actorOf(world, route.server)?.actor);
    return revision >= 0 && actor !== undefined;
  });
  return (
    <button
      type="button"
      class="head-button"
      aria-pressed={isOpen}
      disabled={!canFork && !isOpen}
      title={canFork ? 'Continue from this moment without I/O' : 'Choose a server first'}
      onClick={() => {
        change({ whatIf: !isOpen, way: undefined, isComparing: false });
        if (!isOpen) go({ view: 'chart' });
      }}
    >
      <Icon name="fork" />
      <span>What if</span>
    </button>
  );
}

/** Opens the panel that leads from this moment to a state. */
function WayButton() {
  const actor = usePage((state) => {
    const chosen = state.route.view === 'chart' ? chosenActor(state) : undefined;
    return state.revision >= 0 && chosen?.machine === 'server' ? chosen.actor : undefined;
  });
  const isOpen = usePage((state) => state.way !== undefined && state.way.actor === actor);
  if (actor === undefined) return null;
  return (
    <button
      type="button"
      class="head-button way-button"
      aria-pressed={isOpen}
      title="How to get to a state (W)"
      onClick={() => (isOpen ? endWay() : openWay(actor))}
    >
      <Icon name="target" />
      <span>Way to…</span>
    </button>
  );
}

/** Leads to the first difference to another journal. */
function DifferenceButton() {
  const isCompared = usePage((state) => state.comparison !== undefined);
  const isOpen = usePage((state) => state.isComparing);
  if (!isCompared) return null;
  return (
    <button
      type="button"
      class="head-button"
      aria-pressed={isOpen}
      title="The first difference between both journals"
      onClick={() => (isOpen ? change({ isComparing: false }) : showDifference())}
    >
      <Icon name="compare" />
      <span>Difference</span>
    </button>
  );
}

const columns = 160;

/** The troupe's activity over time, with failures. */
function Activity({ first, last }: { first: number; last: number }) {
  const history = usePage((state) => state.history);
  const { records } = history;
  // Recomputed at every half percent, not with every record.
  const grain = Math.max(1, Math.floor(records.length / (2 * columns)));
  const bars = useMemo(
    () => activity(records as readonly InspectionRecord[], first, last, columns),
    [history, Math.floor(records.length / grain), first],
  );
  return (
    <svg
      class="activity"
      viewBox={`0 0 ${columns} 20`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {bars.map(({ place, height, tone }) => (
        <rect
          key={place}
          class={`bar-${tone}`}
          x={place + 0.15}
          y={20 - height * 14}
          width={0.7}
          height={height * 14}
        />
      ))}
      {bars.map(({ place, tone }) =>
        // By shape as well as colour: a triangle is a failure, a dash a wait.
        tone === 'plain' ? null : (
          <path
            key={place}
            class={`bar-${tone}`}
            d={
              tone === 'bad'
                ? `M${place - 0.4} 0h1.8l-.9 5z`
                : `M${place + 0.05} 2.200h.9v1.600h-.9z`
            }
          />
        ),
      )}
    </svg>
  );
}
