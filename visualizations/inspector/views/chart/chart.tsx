/** The chart of the chosen actor, lit as it stands at the shown moment. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import type { MachineFacts, PictureFacts } from '../../model/chart-facts.ts';
import { activeWords } from '../../model/lit-states.ts';
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
  const [file, setFile] = useState(pictures[0]?.file);
  const picture = pictures.find((each) => each.file === file) ?? pictures[0];
  const tabs = pictures.map((each) => ({
    name: each.file,
    label: <PictureLabel picture={each} pictures={pictures} actor={actor} />,
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
            chosen={picture.file}
            onChoose={setFile}
            panel="chart-stage"
          />
        ) : null}
        {actor.life === 'active' ? null : <span class="badge">{actor.life}</span>}
      </div>
      <PictureFile
        picture={picture}
        actor={actor}
        machine={machine}
        isFork={isFork}
        onOpen={setFile}
      />
    </>
  );
}

interface PictureLabelProps {
  readonly picture: PictureFacts;
  readonly pictures: readonly PictureFacts[];
  readonly actor: PicturedActor;
}

/** The title of a picture, and what is active in it. */
function PictureLabel({ picture, pictures, actor }: PictureLabelProps) {
  const of = picture.of === actor.machine ? undefined : picture.of;
  const folded = pictures
    .map((other) => other.of)
    .filter((path) => path.startsWith(`${picture.of}.`));
  const words = activeWords(actor.leaves, of, folded);
  return (
    <>
      {picture.title}
      <small>{words.length === 0 ? 'not active' : words.join(', ')}</small>
    </>
  );
}

const texts = new Map<string, Promise<string>>();

function PictureFile(
  props: PicturesProps & { picture: PictureFacts; onOpen: (file: string) => void },
) {
  const { file } = props.picture;
  const [text, setText] = useState<{ file: string; text: string }>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let isOver = false;
    const asked = texts.get(file) ?? fetchText(`charts/${file}`);
    texts.set(file, asked);
    asked.then(
      (found) => {
        if (!isOver) setText({ file, text: found });
      },
      () => {
        texts.delete(file);
        if (!isOver) setMissing(true);
      },
    );
    return () => {
      isOver = true;
    };
  }, [file]);
  if (isMissing) return <Empty title="No picture">{`charts/${file} could not be read.`}</Empty>;
  if (text?.file !== file) return <div class="chart-stage" />;
  return <ChartStage key={file} text={text.text} {...props} />;
}

async function fetchText(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(String(response.status));
  return response.text();
}

/** Whose chart: the root, the permits, or any generation of a server. */
function ActorChoice({ actor }: { actor: PicturedActor }) {
  const revision = usePage((state) => state.world.actors.size);
  const world = usePage((state) => state.world);
  const server = usePage((state) => state.route.server);
  const choices = useMemo(() => {
    const charts = [...world.actors.values()].filter(({ machine }) => machine !== undefined);
    const roots = charts.filter(({ machine }) => machine !== 'server');
    const servers = charts
      .filter(
        ({ machine, life, actor: key, server: of }) =>
          machine === 'server' && (life === 'active' || key === actor.actor || of === server),
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
          {each.machine === 'server'
            ? `${shownLine(each.server ?? '', 60)} (${each.id})`
            : each.machine === 'troupe'
              ? 'root'
              : 'start permits'}
        </option>
      ))}
    </select>
  );
}
