/** Forks the shown moment: the user sends events and advances time, and compares with what really happened. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ForkView, PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { type ComparedLine, comparison } from '../../model/divergence.ts';
import { duration, stamp } from '../../model/durations.ts';
import { jsonOf } from '../../model/schema-form.ts';
import { shownLine } from '../../model/shown-text.ts';
import { advanceFork, beginFork, endFork, sendToFork } from '../../state/fork.ts';
import { change, current, usePage } from '../../state/store.ts';
import { IconButton } from '../controls.tsx';

export function WhatIf({ actor }: { actor: PicturedActor }) {
  const fork = usePage((state) => state.fork);
  const n = usePage((state) => (state.fork === undefined ? state.world.n : state.fork.from));
  useEffect(() => endFork, []);
  return (
    <aside class="what-if" aria-label="What if">
      <header class="panel-head">
        <div>
          <h2>What if</h2>
          <p class="soft">
            {fork === undefined
              ? `Continues ${actor.id} from record ${n} without I/O; nothing outside is affected.`
              : `Forked from record ${fork.from}; virtual time ${stamp(fork.t)}.`}
          </p>
        </div>
        <IconButton icon="close" label="Close (Esc)" onPress={() => change({ whatIf: false })} />
      </header>
      {fork === undefined ? (
        <p class="what-if-start">
          <button type="button" class="main-button" onClick={() => void beginFork(actor.actor)}>
            Fork this moment
          </button>
        </p>
      ) : (
        <Forked key={fork.fork} fork={fork} />
      )}
    </aside>
  );
}

function Forked({ fork }: { fork: ForkView }) {
  return (
    <div class="what-if-content">
      <p class="fork-state">
        <span class="fork-mark" aria-hidden="true" />
        {fork.state.life === 'active' ? (
          fork.state.leaves.map((leaf) => <code key={leaf}>{leaf}</code>)
        ) : (
          <code>{fork.state.life}</code>
        )}
      </p>
      <TimeSteps fork={fork} />
      <EventForm fork={fork} />
      <Compared fork={fork} />
      <p class="form-foot">
        <button type="button" class="plain-button" onClick={() => void beginFork(fork.actor)}>
          Fork again
        </button>
        <button type="button" class="plain-button" onClick={endFork}>
          Discard
        </button>
      </p>
    </div>
  );
}

const steps = [100, 1_000, 10_000, 60_000];

function TimeSteps({ fork }: { fork: ForkView }) {
  const dues = fork.state.timers
    .map(({ armedAt, ms }) => armedAt + ms - fork.t)
    .filter((left) => left > 0);
  const next = dues.length === 0 ? undefined : Math.min(...dues);
  return (
    <section>
      <h3>Let time pass</h3>
      <p class="button-row">
        {steps.map((ms) => (
          <button key={ms} type="button" class="small-button" onClick={() => void advanceFork(ms)}>
            + {duration(ms)}
          </button>
        ))}
        {next === undefined ? null : (
          <button
            type="button"
            class="small-button"
            onClick={() => void advanceFork(Math.ceil(next))}
          >
            To the next timer, {duration(next)}
          </button>
        )}
      </p>
    </section>
  );
}

function EventForm({ fork }: { fork: ForkView }) {
  const { events } = fork;
  const [type, setType] = useState(events[0]?.type ?? '');
  const chosen = events.find((event) => event.type === type) ?? events[0];
  const example = useMemo(() => JSON.stringify(chosen?.example ?? {}, null, 2), [chosen]);
  const [edited, setEdited] = useState<{ type: string; text: string }>();
  const text = edited !== undefined && edited.type === chosen?.type ? edited.text : example;
  const [problem, setProblem] = useState<string>();
  if (chosen === undefined) return <p class="soft">Its current state accepts no events.</p>;
  const send = (): void => {
    try {
      const payload = jsonOf(text);
      if (typeof payload !== 'object' || payload === null) throw new Error('is not a JSON object');
      setProblem(undefined);
      void sendToFork({ ...payload, type: chosen.type });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'is invalid');
    }
  };
  return (
    <section>
      <h3>Send an event</h3>
      <select
        class="field"
        aria-label="Event"
        value={chosen.type}
        onChange={(event) => setType(event.currentTarget.value)}
      >
        {events.map((event) => (
          <option key={event.type} value={event.type}>
            {event.type}
          </option>
        ))}
      </select>
      <textarea
        class="field mono"
        rows={Math.min(10, text.split('\n').length + 1)}
        spellcheck={false}
        aria-label="Payload"
        value={text}
        onInput={(event) => setEdited({ type: chosen.type, text: event.currentTarget.value })}
      />
      {problem === undefined ? null : <p class="problem">The payload {problem}.</p>}
      <p class="form-foot">
        <button type="button" class="main-button" onClick={send}>
          Send
        </button>
      </p>
    </section>
  );
}

function Compared({ fork }: { fork: ForkView }) {
  const historyOf = usePage((state) => state.history);
  const lines = useMemo(() => {
    const start = historyOf.placeOf(fork.from) + 1;
    const since = historyOf.records[start - 1]?.t ?? current().world.t;
    return comparison(fork.actor, since, historyOf.records.slice(start), fork.records);
  }, [historyOf, fork]);
  return (
    <section class="compared">
      <div>
        <h3>What really happened</h3>
        <Lines lines={lines.real} differsAt={lines.differsAt} />
      </div>
      <div>
        <h3>In the fork</h3>
        <Lines lines={lines.fork} differsAt={lines.differsAt} />
      </div>
    </section>
  );
}

function Lines({
  lines,
  differsAt,
}: {
  lines: readonly ComparedLine[];
  differsAt: number | undefined;
}) {
  if (lines.length === 0) return <p class="soft">Nothing yet</p>;
  return (
    <ol class="compared-lines">
      {lines.map(({ n, after, text }, place) => (
        <li key={n} class={differsAt !== undefined && place >= differsAt ? 'differs' : ''}>
          <span class="number soft">+{duration(after)}</span>
          <span>{shownLine(text)}</span>
        </li>
      ))}
    </ol>
  );
}
