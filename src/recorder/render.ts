/** Converts observations to records: redacted, printable, with the names used in pictures. */

import type {
  ActorRecord,
  EventFacts,
  InspectionRecord,
  PicturedActor,
  StateRecord,
} from '../domain/host/inspection.ts';
import { delayNameOf, edgeOf, leavesOf } from './chart-names.ts';
import { changedFacts } from './context-facts.ts';
import type { ActorFile, RunningTimer, Seen, SeenState, Stand } from './seen.ts';
import { shownText } from './shown-value.ts';

export function recordOf(seen: Seen, n: number): InspectionRecord {
  const stamp = { n, t: seen.t };
  switch (seen.kind) {
    case 'actor':
      return { kind: 'actor', ...stamp, ...identityOf(seen.actor) };
    case 'event':
      return {
        kind: 'event',
        ...stamp,
        to: seen.actor.key,
        ...(seen.from === undefined ? {} : { from: seen.from.key }),
        type: shownText(seen.type),
        ...(seen.facts === undefined ? {} : { facts: shownFacts(seen.facts) }),
      };
    case 'step': {
      const edges = seen.transitions.flatMap((transition) => edgeOf(transition) ?? []);
      return {
        kind: 'step',
        ...stamp,
        actor: seen.actor.key,
        type: shownText(seen.type),
        edges,
      };
    }
    case 'state':
      return stateRecordOf(seen, stamp);
    case 'ignored':
      return { kind: 'ignored', ...stamp, actor: seen.actor.key, type: shownText(seen.type) };
    case 'timer':
      return { kind: 'timer', ...stamp, actor: seen.actor.key, ...timerOf(seen), ms: seen.ms };
    case 'timerEnd': {
      const { actor, id, fired } = seen;
      return { kind: 'timerEnd', ...stamp, actor: actor.key, id: shownText(id), fired };
    }
    case 'status':
    case 'gone':
    case 'reconciled': {
      const { t: _t, ...rest } = seen;
      return { ...rest, ...stamp };
    }
    default:
      return seen satisfies never;
  }
}

function stateRecordOf(
  { actor, stand, before }: SeenState,
  stamp: { readonly n: number; readonly t: number },
): StateRecord {
  const { life, nodes, context } = stand;
  const isNews = actor.machine !== undefined && context !== undefined && context !== before;
  const changed = isNews ? changedFacts(actor.machine, before, context) : undefined;
  return {
    kind: 'state',
    ...stamp,
    actor: actor.key,
    life,
    leaves: leavesOf(nodes),
    ...(changed === undefined ? {} : { changed }),
  };
}

export function picturedActor(
  file: ActorFile,
  { life, nodes }: Stand,
  timers: Iterable<RunningTimer>,
): PicturedActor {
  return {
    ...identityOf(file),
    life,
    leaves: leavesOf(nodes),
    timers: [...timers].map((timer) => ({
      ...timerOf(timer),
      ms: timer.ms,
      armedAt: timer.armedAt,
    })),
  };
}

function identityOf({
  key,
  id,
  parent,
  machine,
  server,
}: ActorFile): Omit<ActorRecord, 'kind' | 'n' | 't'> {
  return {
    actor: key,
    id: shownText(id),
    ...(parent === undefined ? {} : { parent }),
    ...(machine === undefined ? {} : { machine }),
    ...(server === undefined ? {} : { server }),
  };
}

function timerOf({ id }: { readonly id: string }): {
  readonly id: string;
  readonly delay?: string;
} {
  const delay = delayNameOf(id);
  return { id: shownText(id), ...(delay === undefined ? {} : { delay: shownText(delay) }) };
}

function shownFacts(facts: EventFacts): EventFacts {
  const shown = Object.entries(facts).map(([name, fact]) => [
    name,
    typeof fact === 'string' ? shownText(fact) : fact,
  ]);
  return Object.fromEntries(shown) as EventFacts;
}
