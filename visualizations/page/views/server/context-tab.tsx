/** The chart's context at the shown moment, redacted. */

import { shownLines } from '../../model/shown-text.ts';
import { actorOf } from '../../model/world.ts';
import { ask } from '../../state/api.ts';
import { usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { CopyButton, Empty } from '../controls.tsx';

export function ContextTab({ server }: { server: string }) {
  const actor = usePage((state) => (state.revision, actorOf(state.world, server)));
  const at = usePage((state) => state.route.at);
  const key = actor?.actor;
  const question = key === undefined ? undefined : `context ${key} ${at ?? 'now'}`;
  const { answer, problem } = useAsked(question, actor, () =>
    ask<{ context: unknown; n: number }>(
      `api/actors/${encodeURIComponent(key ?? '')}/context${at === undefined ? '' : `?at=${at}`}`,
    ),
  );
  if (actor === undefined) return <Empty title="No chart at this moment" />;
  if (problem !== undefined) return <Empty title="Not available">{problem}</Empty>;
  if (answer === undefined) return <p class="soft">Loading…</p>;
  const text = JSON.stringify(answer.context, null, 2) ?? 'nothing';
  return (
    <>
      <p class="context-head">
        <span class="soft">
          {actor.id} after record {answer.n}; secrets are left out
        </span>
        <CopyButton text={text} label="Copy" />
      </p>
      <dl class="active-states">
        {actor.leaves.map((leaf) => (
          <div key={leaf}>
            <dt class="unseen">Active state</dt>
            <dd class="mono">{leaf}</dd>
          </div>
        ))}
      </dl>
      <pre class="code">{shownLines(text, 100_000)}</pre>
    </>
  );
}
