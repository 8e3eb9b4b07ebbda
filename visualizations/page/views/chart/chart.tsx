/** The chart of the selected actor, with its active states at the shown moment. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import type { PictureFacts } from '../../model/chart-facts.ts';
import { activeWord } from '../../model/lit-states.ts';
import { isInUse, loginOf } from '../../model/logins.ts';
import { shownLine } from '../../model/shown-text.ts';
import { sessionOf } from '../../model/world.ts';
import { chosenActor, isBesideChart } from '../../state/chosen.ts';
import { forkedActor } from '../../state/fork.ts';
import { go } from '../../state/moments.ts';
import { type PageState, usePage } from '../../state/store.ts';
import { Empty, Tabs } from '../controls.tsx';
import { ActorPicture, type PicturesProps, type Shown } from './actor-picture.tsx';
import { Compared } from './compared.tsx';
import { Way } from './way.tsx';
import { WhatIf } from './what-if.tsx';

export function ChartView() {
  const real = usePage((state) => (state.revision, chosenActor(state)));
  const facts = usePage((state) => state.facts);
  const isForking = usePage((state) => state.whatIf);
  const forked = usePage((state) => (state.whatIf ? forkedActor(state) : undefined));
  const isDivided = usePage(isBesideChart);
  const actor = forked ?? real;
  if (actor === undefined)
    return <Empty title="Nothing to draw yet">The root has not started.</Empty>;
  const machine = actor.machine === undefined ? undefined : facts?.machines[actor.machine];
  return (
    <section class={isDivided ? 'chart-view forking' : 'chart-view'} aria-label="Chart">
      <div class="chart-side">
        {machine === undefined ? (
          <>
            <div class="chart-bar">
              <ActorChoice actor={actor} />
            </div>
            <Empty title="No picture">
              {facts === undefined ? 'Loading the pictures…' : 'This actor has no chart.'}
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
      {isForking && real !== undefined ? (
        <WhatIf key={real.actor} actor={real} />
      ) : machine === undefined ? null : (
        <Beside actor={actor} machine={machine} />
      )}
    </section>
  );
}

/** The panel beside the chart, if a way or a comparison is open. */
function Beside({ actor, machine }: Pick<PicturesProps, 'actor' | 'machine'>) {
  const way = usePage(({ way: open }) => (open?.actor === actor.actor ? open : undefined));
  const comparison = usePage((state) => (state.isComparing ? state.comparison : undefined));
  if (comparison !== undefined) return <Compared comparison={comparison} />;
  return way === undefined ? null : <Way actor={actor} machine={machine} way={way} />;
}

function shownOf(props: PicturesProps): readonly Shown[] {
  return props.machine.pictures.map((picture) => ({ ...props, picture }));
}

/** The pictures of a chart; for a server, those of its session and its login as well. */
function Pictures(props: PicturesProps) {
  const { actor, isFork } = props;
  const charts = usePage((state) => state.facts?.machines);
  // A fork's session does nothing.
  const session = usePage((state) => (state.revision, sessionOf(state.world, actor)));
  const login = usePage((state) => (state.revision, loginInUse(state, actor)));
  const all = [
    ...shownOf(props),
    ...(isFork ? [] : [session, login]).flatMap((other) => {
      const facts = charts?.[other?.machine ?? ''];
      return other === undefined || facts === undefined
        ? []
        : shownOf({ actor: other, machine: facts, isFork });
    }),
  ];
  const [name, setName] = useState(all[0]?.picture.name);
  const to = usePage((state) => (state.way?.actor === actor.actor ? state.way.to : undefined));
  useEffect(() => {
    const holds = ({ picture: { of } }: Shown): boolean =>
      to === of || to?.startsWith(`${of}.`) === true;
    const found = all.find((each) => each.actor === actor && holds(each));
    if (found !== undefined) setName(found.picture.name);
  }, [to]);
  const shown = all.find(({ picture }) => picture.name === name) ?? all[0];
  const tabs = all.map((each) => ({
    name: each.picture.name,
    label: <PictureLabel picture={each.picture} actor={each.actor} />,
  }));
  if (shown === undefined) return <Empty title="No picture" />;
  return (
    <>
      <div class="chart-bar">
        <ActorChoice actor={actor} />
        {all.length > 1 ? (
          <Tabs
            label="Pictures of this chart"
            tabs={tabs}
            chosen={shown.picture.name}
            onChoose={setName}
            panel="chart-stage"
          />
        ) : null}
        {actor.life === 'active' ? null : <span class="badge">{actor.life}</span>}
      </div>
      <ActorPicture key={`${shown.actor.actor} ${shown.picture.name}`} {...shown} />
    </>
  );
}

function loginInUse({ world }: PageState, { machine, server }: PicturedActor) {
  const login = machine === 'server' && server !== undefined ? loginOf(world, server) : undefined;
  return login !== undefined && isInUse(world, login) ? login : undefined;
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

/** Selects the actor: the root, the permits, a login, or a server's generations, handovers and sessions. */
function ActorChoice({ actor }: { actor: PicturedActor }) {
  const revision = usePage((state) => state.world.actors.size);
  const world = usePage((state) => state.world);
  const server = usePage((state) => state.route.server);
  const choices = useMemo(() => {
    const charts = [...world.actors.values()].filter(({ machine }) => machine !== undefined);
    const shared = new Set<string | undefined>(['troupe', 'slots']);
    const roots = charts.filter(
      (each) =>
        shared.has(each.machine) ||
        (each.machine === 'authorization' && (each.actor === actor.actor || isInUse(world, each))),
    );
    const servers = charts
      .filter(({ machine, life, actor: key, server: of }) => {
        if (machine === 'authorization') return false;
        if (key === actor.actor) return !roots.some((root) => root.actor === key);
        if (machine === 'server' || machine === 'handover')
          return life === 'active' || of === server;
        return life === 'active' && of !== undefined && of === actor.server;
      })
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
          {nameOf(each)}
        </option>
      ))}
    </select>
  );
}

function nameOf({ id, machine, server, login }: PicturedActor): string {
  if (machine === 'troupe') return 'root';
  if (machine === 'slots') return 'start permits';
  if (machine === 'authorization')
    return shownLine(`login of ${login?.servers.join(', ') ?? id}`, 60);
  const name = shownLine(server ?? '', 60);
  return machine === 'server' || machine === 'handover' ? `${name} (${id})` : `${name}: ${id}`;
}
