/** Two journals at their first difference: what each did, and the other one's chart. */

import { useMemo, useRef, useState } from 'preact/hooks';
import type {
  ComparedSide,
  ComparedStep,
  ComparisonView,
} from '../../../../src/domain/host/comparison.ts';
import { alignedSteps, markedWords } from '../../model/divergence.ts';
import { duration } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { go } from '../../state/moments.ts';
import { change, usePage } from '../../state/store.ts';
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
        <Rows a={a} b={b} />
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

function Rows({ a, b }: Pick<ComparisonView, 'a' | 'b'>) {
  const rows = useMemo(() => alignedSteps(a.steps, b.steps), [a, b]);
  const list = useRef<HTMLOListElement>(null);
  const [shown, setShown] = useState<number>();
  const differing = rows.flatMap(({ isSame }, place) => (isSame ? [] : [place]));
  const next = (): void => {
    const place = differing.find((each) => each > (shown ?? -1)) ?? differing[0];
    if (place === undefined) return;
    setShown(place);
    list.current?.children[place]?.scrollIntoView({ block: 'nearest' });
    const n = rows[place]?.a?.n;
    if (n !== undefined) go({ at: n });
  };
  return (
    <section>
      <p>
        <button type="button" class="small-button" onClick={next}>
          Next difference
        </button>{' '}
        <span class="soft number">
          {shown === undefined ? '' : `${differing.indexOf(shown) + 1} of `}
          {differing.length}
        </span>
      </p>
      <div class="compared-row">
        <h3>{shownLine(a.title, 40)}</h3>
        <h3>{shownLine(b.title, 40)}</h3>
      </div>
      <ol class="compared-lines" ref={list}>
        {rows.map((row, place) => (
          <li
            key={place}
            class={row.isSame ? 'compared-row' : 'compared-row differs'}
            aria-current={place === shown}
          >
            <Step step={row.a} other={row.b} start={a.steps[0]?.t ?? 0} />
            <Step step={row.b} other={row.a} start={b.steps[0]?.t ?? 0} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface StepProps {
  readonly step: ComparedStep | undefined;
  readonly other: ComparedStep | undefined;
  readonly start: number;
}

function Step({ step, other, start }: StepProps) {
  if (step === undefined) return <span class="soft">nothing</span>;
  return (
    <span>
      <span class="number soft">
        {step.n} · +{duration(step.t - start)}
      </span>
      <br />
      {markedWords(shownLine(step.text, 200), other && shownLine(other.text, 200)).map(
        ({ text, isDifferent }, place) =>
          isDifferent ? <mark key={place}>{breakable(text)}</mark> : breakable(text),
      )}
    </span>
  );
}

/** Names break at their dots, not inside words. */
function breakable(text: string): string {
  return text.replaceAll('.', '.\u200b');
}
