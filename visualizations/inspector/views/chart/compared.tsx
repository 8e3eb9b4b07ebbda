/** Two journals at their first difference: what each did, and the other one's chart. */

import type { ComparedSide, ComparisonView } from '../../../../src/domain/host/comparison.ts';
import { duration } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { change, usePage } from '../../page/store.ts';
import { Empty, IconButton } from '../controls.tsx';
import { ActorPicture } from './actor-picture.tsx';

export function Compared({ comparison }: { comparison: ComparisonView }) {
  const { a, b, difference } = comparison;
  return (
    <aside class="what-if" aria-label="Comparison">
      <header class="panel-head">
        <div>
          <h2>First difference</h2>
          <p class="soft">{shownLine(difference.actor, 60)}; up to there, both did the same.</p>
        </div>
        <IconButton
          icon="close"
          label="Close (Esc)"
          onPress={() => change({ isComparing: false })}
        />
      </header>
      <div class="what-if-content">
        <section class="compared">
          <Side side={a} isOver={difference.a === undefined} from={difference.a?.n} />
          <Side side={b} isOver={difference.b === undefined} from={difference.b?.n} />
        </section>
        <OtherChart side={b} />
      </div>
    </aside>
  );
}

/** The chart at the left shows the first journal; this is the other one's. */
function OtherChart({ side: { title, actor, n } }: { side: ComparedSide }) {
  const machine = usePage((state) => state.facts?.machines[actor?.machine ?? '']);
  const picture = machine?.pictures[0];
  return (
    <section>
      <h3>
        {shownLine(title, 60)} after record {n}
      </h3>
      {actor === undefined || machine === undefined || picture === undefined ? (
        <Empty title="The server is not there" />
      ) : (
        <>
          <p class="mono">{actor.leaves.join(', ')}</p>
          <div class="compared-chart">
            <ActorPicture actor={actor} machine={machine} picture={picture} isFork />
          </div>
        </>
      )}
    </section>
  );
}

interface SideProps {
  readonly side: ComparedSide;
  /** Whether the journal has nothing more of the actor. */
  readonly isOver: boolean;
  /** The first record that differs. */
  readonly from: number | undefined;
}

function Side({ side: { title, steps }, isOver, from = Infinity }: SideProps) {
  const start = steps[0]?.t ?? 0;
  return (
    <div>
      <h3>{shownLine(title, 40)}</h3>
      <ol class="compared-lines">
        {steps.map(({ n, t, text }, place) => (
          <li key={place} class={n >= from ? 'differs' : ''}>
            <span class="number soft">
              {n} · +{duration(t - start)}
            </span>
            <span>{shownLine(text, 200)}</span>
          </li>
        ))}
        {isOver ? <li class="differs">nothing more</li> : null}
      </ol>
    </div>
  );
}
