/**
 * The recorder's observations: small objects that refer to immutable data, converted to records on request. None
 * refers to an actor, so that actors can be garbage-collected.
 */

import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import type {
  ActorKey,
  ActorLife,
  ActorRecord,
  EventFacts,
  GoneRecord,
  InspectionRecord,
  LoginFacts,
  PicturedActor,
  ReconciledRecord,
  StateRecord,
  StatusRecord,
} from '../domain/host/inspection.ts';
import { delayNameOf, edgeOf, leavesOf } from './chart-names.ts';
import { changedFacts } from './recorded-fields.ts';
import { shownText } from './shown-value.ts';

/** An actor's state at one moment. */
export interface Stand {
  readonly life: ActorLife;
  readonly nodes: readonly AnyStateNode[];
  /** Undefined for actors without a chart. */
  readonly context: object | undefined;
}

export interface RunningTimer {
  readonly id: string;
  readonly ms: number;
  readonly armedAt: number;
}

/** One actor, retained while any observation refers to it. */
export interface ActorFile extends Pick<PicturedActor, 'id' | 'parent' | 'machine' | 'server'> {
  readonly key: ActorKey;
  /** For the actor of a login. */
  login: LoginFacts | undefined;
  /** Its current state. */
  now: Stand;
  readonly timers: Map<string, RunningTimer & { readonly event: unknown }>;
  isStarted: boolean;
  /** Its state before the oldest kept observation; undefined when it did not exist then. */
  base:
    | {
        stand: Stand;
        readonly timers: Map<string, RunningTimer>;
        login: LoginFacts | undefined;
      }
    | undefined;
}

/** `t` is in milliseconds since the recording began. */
type OfActor = { readonly t: number; readonly actor: ActorFile };

type SeenState = OfActor & {
  readonly kind: 'state';
  readonly stand: Stand;
  /** The previous context. */
  readonly before: object | undefined;
};

export type Seen =
  | (OfActor & { readonly kind: 'actor' })
  | SeenState
  | (OfActor & {
      readonly kind: 'event';
      readonly from: ActorFile | undefined;
      readonly type: string;
      readonly facts: EventFacts | undefined;
    })
  | (OfActor & {
      readonly kind: 'step';
      readonly type: string;
      readonly transitions: readonly AnyTransitionDefinition[];
    })
  | (OfActor & { readonly kind: 'login'; readonly login: LoginFacts })
  | (OfActor & { readonly kind: 'ignored'; readonly type: string })
  | (OfActor & { readonly kind: 'timer'; readonly id: string; readonly ms: number })
  | (OfActor & { readonly kind: 'timerEnd'; readonly id: string; readonly fired: boolean })
  | Omit<StatusRecord, 'n'>
  | Omit<GoneRecord, 'n'>
  | Omit<ReconciledRecord, 'n'>;

/** Converts an observation to a record: redacted, printable, with the names used in pictures. */
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
      return { kind: 'step', ...stamp, actor: seen.actor.key, type: shownText(seen.type), edges };
    }
    case 'state':
      return stateRecordOf(seen, stamp);
    case 'login':
      return { kind: 'login', ...stamp, actor: seen.actor.key, login: shownLogin(seen.login) };
    case 'ignored':
      return { kind: 'ignored', ...stamp, actor: seen.actor.key, type: shownText(seen.type) };
    case 'timer':
      return { kind: 'timer', ...stamp, actor: seen.actor.key, ...timerOf(seen.id), ms: seen.ms };
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
  {
    stand: { life, nodes },
    timers,
    login,
  }: {
    readonly stand: Stand;
    readonly timers: ReadonlyMap<string, RunningTimer>;
    readonly login: LoginFacts | undefined;
  },
): PicturedActor {
  return {
    ...identityOf(file),
    life,
    leaves: leavesOf(nodes),
    timers: [...timers.values()].map(({ id, ms, armedAt }) => ({ ...timerOf(id), ms, armedAt })),
    ...(login === undefined ? {} : { login: shownLogin(login) }),
  };
}

function shownLogin({ origin, account, servers }: LoginFacts): LoginFacts {
  return {
    origin: shownText(origin),
    ...(account === undefined ? {} : { account: shownText(account) }),
    servers,
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

function timerOf(id: string): { readonly id: string; readonly delay?: string } {
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
