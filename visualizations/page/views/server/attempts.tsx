/** The last attempts of a server, each as a bar of its phases. */

import type { Attempt, Explanation } from '../../../../src/domain/host/explanation.ts';
import { spoken } from '../../model/announcements.ts';
import { duration } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command } from '../../state/api.ts';
import { canAct, usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { Empty } from '../controls.tsx';

const phases = [
  { name: 'queued', of: ({ queuedMs }: Attempt) => queuedMs },
  { name: 'connecting', of: ({ connectingMs }: Attempt) => connectingMs },
  { name: 'loading tools', of: ({ loadingToolsMs }: Attempt) => loadingToolsMs },
  { name: 'ready', of: ({ readyMs }: Attempt) => readyMs },
  { name: 'stopping', of: ({ stoppingMs }: Attempt) => stoppingMs },
  { name: 'waiting', of: ({ waitMs }: Attempt) => waitMs },
] as const;

export function Attempts({ server }: { server: string }) {
  const status = usePage((state) => (state.revision, state.world.servers.get(server)));
  const isNow = usePage(canAct);
  const { answer, problem } = useAsked(isNow ? `explain ${server}` : undefined, status, () =>
    command<Explanation>('explain', { server }),
  );
  if (!isNow)
    return (
      <Empty title="Only available live">
        Go back to now to see the attempts; the sequence shows the past.
      </Empty>
    );
  if (problem !== undefined) return <Empty title="Not available">{problem}</Empty>;
  if (answer === undefined) return <p class="soft">Loading…</p>;
  if (answer.attempts.length === 0)
    return <Empty title="No attempts yet">This server has not been started.</Empty>;
  return (
    <>
      <ul class="phase-legend" aria-hidden="true">
        {phases.map(({ name }) => (
          <li key={name}>
            <i class={`phase phase-${name.replace(' ', '-')}`} />
            {name}
          </li>
        ))}
      </ul>
      <ol class="attempts">
        {answer.attempts.toReversed().map((attempt) => (
          <AttemptRow key={`${attempt.generation} ${attempt.session}`} attempt={attempt} />
        ))}
      </ol>
    </>
  );
}

function AttemptRow({ attempt }: { attempt: Attempt }) {
  const parts = phases.flatMap(({ name, of }) => {
    const ms = of(attempt);
    return ms === undefined ? [] : [{ name, ms }];
  });
  return (
    <li>
      <p class="attempt-head">
        <b>Session {attempt.session}</b>
        <span class="soft">try {attempt.attempt}</span>
        <span class="soft number">{new Date(attempt.startedAt).toLocaleTimeString()}</span>
        {attempt.endedAt === undefined ? <span class="tone-good">running</span> : null}
      </p>
      {parts.length === 0 ? null : <PhaseBar parts={parts} />}
      <p class="attempt-parts number">
        {parts.map(({ name, ms }) => `${name} ${duration(ms)}`).join(' · ')}
      </p>
      {attempt.failure === undefined ? null : (
        <p class="attempt-failure">
          <b>{spoken(attempt.failure.kind)}</b> {shownLine(attempt.failure.message, 400)}
        </p>
      )}
      {attempt.rested === undefined ? null : (
        <p class="soft">
          ended as {spoken(attempt.rested.state)}
          {attempt.rested.reason === undefined ? '' : `, ${spoken(attempt.rested.reason)}`}
        </p>
      )}
    </li>
  );
}

/** Scaled by cube roots, so that a second of connecting is visible beside an hour of being ready. */
function PhaseBar({ parts }: { parts: readonly { readonly name: string; readonly ms: number }[] }) {
  const widths = parts.map(({ ms }) => Math.max(2, Math.cbrt(ms + 1)));
  const all = widths.reduce((sum, width) => sum + width, 0);
  let x = 0;
  return (
    <svg class="phase-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ name }, place) => {
        const width = ((widths[place] ?? 0) / all) * 100;
        const start = x;
        x += width;
        return (
          <rect
            key={name}
            class={`phase-${name.replace(' ', '-')}`}
            x={start}
            y="0"
            width={Math.max(0, width - 0.4)}
            height="6"
          />
        );
      })}
    </svg>
  );
}
