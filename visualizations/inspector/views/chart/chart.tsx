/** The chart of the chosen actor, lit as it stands at the shown moment. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import type { MachineFacts, PictureFacts } from '../../model/chart-facts.ts';
import { type FoldChoices, foldingsOf, pictureFile, unfoldedParts } from '../../model/folding.ts';
import { activeWord } from '../../model/lit-states.ts';
import { shownLine } from '../../model/shown-text.ts';
import { chosenActor } from '../../page/chosen.ts';
import { forkedActor } from '../../page/fork.ts';
import { go } from '../../page/moments.ts';
import { usePage } from '../../page/store.ts';
import { Empty, Tabs } from '../controls.tsx';
import { ChartStage } from './stage.tsx';
import { WhatIf } from './what-if.tsx';

export function ChartView() {
  const real = usePage((state) => (state.revision, chosenActor(state)));
  const facts = usePage((state) => state.facts);
  const isForking = usePage((state) => state.whatIf);
  const forked = usePage((state) => (state.whatIf ? forkedActor(state) : undefined));
  const actor = forked ?? real;
  if (actor === undefined)
    return <Empty title="Nothing to draw yet">The root has not begun.</Empty>;
  const machine = actor.machine === undefined ? undefined : facts?.machines[actor.machine];
  return (
    <section class={isForking ? 'chart-view forking' : 'chart-view'} aria-label="Chart">
      <div class="chart-side">
        {machine === undefined ? (
          <>
            <div class="chart-bar">
              <ActorChoice actor={actor} />
            </div>
            <Empty title="No picture">
              {facts === undefined
                ? 'The pictures are still on their way.'
                : 'This actor is no chart.'}
            </Empty>
          </>
        ) : (
          <Pictures
            key={actor.machine}
            actor={actor}
            machine={machine}
            isFork={forked !== undefined}
          />
        )}
      </div>
      {isForking && real !== undefined ? <WhatIf key={real.actor} actor={real} /> : null}
    </section>
  );
}

interface PicturesProps {
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly isFork: boolean;
}

function Pictures({ actor, machine, isFork }: PicturesProps) {
  const { pictures } = machine;
  const [name, setName] = useState(pictures[0]?.name);
  const picture = pictures.find((each) => each.name === name) ?? pictures[0];
  const tabs = pictures.map((each) => ({
    name: each.name,
    label: <PictureLabel picture={each} actor={actor} />,
  }));
  if (picture === undefined) return <Empty title="No picture" />;
  return (
    <>
      <div class="chart-bar">
        <ActorChoice actor={actor} />
        {pictures.length > 1 ? (
          <Tabs
            label="Pictures of this chart"
            tabs={tabs}
            chosen={picture.name}
            onChoose={setName}
            panel="chart-stage"
          />
        ) : null}
        {actor.life === 'active' ? null : <span class="badge">{actor.life}</span>}
      </div>
      <FoldedPicture
        key={picture.name}
        picture={picture}
        actor={actor}
        machine={machine}
        isFork={isFork}
      />
    </>
  );
}

/** The title of a picture, and what is active in it. */
function PictureLabel({ picture, actor }: { picture: PictureFacts; actor: PicturedActor }) {
  const of = picture.of === actor.machine ? undefined : picture.of;
  return (
    <>
      {picture.title}
      <small>{activeWord(actor.leaves, of) ?? 'not active'}</small>
    </>
  );
}

function FoldedPicture(props: PicturesProps & { picture: PictureFacts }) {
  const { picture, actor } = props;
  const [choices, setChoices] = useState<FoldChoices>(new Map());
  const unfolded = useMemo(
    () => unfoldedParts(picture, actor.leaves, choices),
    [picture, actor.leaves, choices],
  );
  const file = pictureFile(picture, unfolded);
  const { text, isMissing } = useDrawn(picture, file);
  if (isMissing) return <Empty title="No picture">{`charts/${file} could not be read.`}</Empty>;
  if (text === undefined) return <div class="chart-stage" />;
  return (
    <ChartStage
      {...props}
      text={text}
      unfolded={unfolded}
      onFold={(path, isUnfolded) => setChoices(new Map([...choices, [path, isUnfolded]]))}
    />
  );
}

/** Every drawing that was read, by its file. */
const drawn = new Map<string, string>();

/** The text of a drawing; all foldings of a picture are read at once, so that it changes without a pause. */
function useDrawn(
  picture: PictureFacts,
  file: string,
): { readonly text: string | undefined; readonly isMissing: boolean } {
  const [, setRead] = useState(0);
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    const files = foldingsOf(picture.parts).map((unfolded) => pictureFile(picture, unfolded));
    for (const each of files.filter((name) => !drawn.has(name))) {
      fetchText(`charts/${each}`).then(
        (found) => {
          drawn.set(each, found);
          setRead((count) => count + 1);
        },
        () => setMissing(true),
      );
    }
  }, [picture]);
  const text = drawn.get(file);
  return { text, isMissing: isMissing && text === undefined };
}

async function fetchText(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(String(response.status));
  return response.text();
}

/** Whose chart: the root, the broker of permits, a permit that is out, or what belongs to a server: its generations and handovers. */
function ActorChoice({ actor }: { actor: PicturedActor }) {
  const revision = usePage((state) => state.world.actors.size);
  const world = usePage((state) => state.world);
  const server = usePage((state) => state.route.server);
  const choices = useMemo(() => {
    const charts = [...world.actors.values()].filter(
      ({ machine, life, actor: key }) =>
        machine !== undefined && (machine !== 'permit' || life === 'active' || key === actor.actor),
    );
    const roots = charts.filter(({ server: of }) => of === undefined);
    const servers = charts
      .filter(
        ({ life, actor: key, server: of }) =>
          of !== undefined && (life === 'active' || key === actor.actor || of === server),
      )
      .sort((a, b) => ((a.server ?? '') < (b.server ?? '') ? -1 : 1));
    return [...roots, ...servers];
  }, [world, revision, server, actor.actor]);
  return (
    <select
      class="field actor-choice"
      aria-label="Whose chart"
      value={actor.actor}
      onChange={(event) => {
        const found = choices.find((each) => each.actor === event.currentTarget.value);
        if (found !== undefined) go({ actor: found.actor, server: found.server });
      }}
    >
      {choices.map((each) => (
        <option key={each.actor} value={each.actor}>
          {each.server !== undefined
            ? `${shownLine(each.server, 60)} (${each.id})`
            : each.machine === 'troupe'
              ? 'root'
              : each.machine === 'slots'
                ? 'start permits'
                : shownLine(each.id, 60)}
        </option>
      ))}
    </select>
  );
}
