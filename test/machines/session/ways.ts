/** Brings the session chart and the refresh chart into each of their states by events alone. */

import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { type RefreshEvent, refreshMachine } from '../../../machines/session/list-refresh.ts';
import { type SessionEvent, sessionMachine } from '../../../machines/session/session.ts';
import { activeStates, createInertScope } from '../../../machines/xstate/internals.ts';
import {
  connected,
  done,
  ended,
  failure,
  launched,
  left,
  listed,
  pinged,
  type RefreshSnapshot,
  remote,
  resolved,
  type SessionSnapshot,
  type SmallSession,
  smallRefresh,
  smallSession,
  unconnected,
  unlisted,
} from './small-session.ts';

type Leaves<Value> = Value extends string
  ? Value
  : { [Key in keyof Value & string]: `${Key}.${Leaves<NonNullable<Value[Key]>>}` }[keyof Value &
      string];

type Open = Extract<SessionSnapshot['value'], { readonly open: unknown }>;
/** States in which an event can find the session; `open` counts as one, its regions follow. */
export type SessionState =
  | Exclude<Leaves<Exclude<SessionSnapshot['value'], Open>>, 'closed'>
  | 'open';
/** The regions of `open`, without the states that are left at once. */
export type OpenState = Exclude<Leaves<Open['open']>, `${string}.choosing`>;
export type RefreshState = Exclude<Leaves<RefreshSnapshot['value']>, 'current'>;

export type SessionEventType = SessionEvent['type'];
export type RefreshEventType = RefreshEvent['type'];

type EventOf<Type extends SessionEventType> = SessionEvent & { readonly type: Type };
/** An event, or a timer by the name of its delay. */
type Step = EventObject | { readonly after: string };

interface Way {
  readonly born?: SmallSession;
  readonly by: readonly Step[];
}

/** One event of each type. A new type of event needs a line here. */
const exampleOf: { readonly [Type in SessionEventType]: EventOf<Type> } = {
  'session.close': { type: 'session.close' },
  'session.giveUp': { type: 'session.giveUp', failure: failure('transport') },
  'session.list': { type: 'session.list' },
  'session.refresh': { type: 'session.refresh' },
  // The health checks of this policy are off.
  'policy.updated': { type: 'policy.updated', policy: smallSession().policy },
  'server.woke': { type: 'server.woke', spreadMs: 2_000 },
  'wire.sent': { type: 'wire.sent', method: 'initialize' },
  'wire.broke': { type: 'wire.broke' },
  'wire.ended': ended('crashed') as EventOf<'wire.ended'>,
  'wire.lost': ended('transport', { type: 'wire.lost' }) as EventOf<'wire.lost'>,
  'wire.probed': { type: 'wire.probed', answer: 'alive' },
  'wire.doubted': { type: 'wire.doubted' },
  'tools.changed': { type: 'tools.changed' },
  'resources.changed': { type: 'resources.changed' },
  'prompts.changed': { type: 'prompts.changed' },
  'resource.updated': { type: 'resource.updated' },
  'wire.impaired': { type: 'wire.impaired', reason: 'flooding' },
  'wire.recovered': { type: 'wire.recovered', reason: 'flooding' },
  'wire.killed': { type: 'wire.killed', at: 0 },
  'wire.paused': { type: 'wire.paused' },
  'wire.resumed': { type: 'wire.resumed' },
  'list.settled': { type: 'list.settled', list: 'tools', outcome: listed() },
  'xstate.error.actor.wire': {
    type: 'xstate.error.actor.wire',
    actorId: 'wire',
    error: new Error('a fault'),
  },
  'xstate.done.actor.connectClient': done(
    'connectClient',
    unconnected('crashed', { wasAnswered: false }),
  ) as EventOf<'xstate.done.actor.connectClient'>,
  'start.expired': { type: 'start.expired' },
  'input.flooded': { type: 'input.flooded' },
  'part.broke': { type: 'part.broke' },
};

export const sessionEventTypes = Object.keys(exampleOf) as readonly SessionEventType[];
export const refreshEventTypes: readonly RefreshEventType[] = [
  'list.changed',
  'list.demanded',
  'policy.updated',
];

const everything = { resources: true, prompts: true };
const toLaunching = [done('resolveTarget', resolved())];
const toGreeting = [...toLaunching, done('launchProcess', launched)];
const toPreparing = [
  done('resolveTarget', resolved({ asksEra: true })),
  done('launchProcess', launched),
];
const toAsking = [...toPreparing, { type: 'wire.sent', method: 'server/discover' }];
const toLeaving = [
  ...toAsking,
  done('connectClient', unconnected('crashed', { wasAnswered: false })),
];
const toRelaunching = [...toLeaving, done('closeConnection', left)];
const toFallingBack = [
  done('resolveTarget', resolved(remote)),
  done('connectClient', unconnected('protocol', { mayBeOverSse: true })),
];
const toLoading = [...toGreeting, done('connectClient', connected())];
const toOpen = [...toLoading, done('firstList', listed())];
const toOpenWithAll = [
  ...toGreeting,
  done('connectClient', connected({ offers: everything })),
  done('firstList', listed()),
];
const woken = [exampleOf['server.woke'], { after: 'wakePause' }] as const;
const refreshedAll = ['resources', 'prompts'].map((list) => ({
  type: `xstate.done.actor.${list}`,
}));

/** The canonical way into each state; a new state needs one here. */
export const sessionWays: Readonly<Record<SessionState | OpenState, Way>> = {
  'opening.resolving': { by: [] },
  'opening.launching': { by: toLaunching },
  'opening.connecting.preparing': { by: toPreparing },
  'opening.connecting.asking': { by: toAsking },
  'opening.connecting.greeting': { by: toGreeting },
  'opening.leaving': { by: toLeaving },
  'opening.relaunching': { by: toRelaunching },
  'opening.greetingOld': { by: [...toRelaunching, done('launchProcess', launched)] },
  'opening.fallingBack': { born: { transport: 'http' }, by: toFallingBack },
  'opening.greetingOverSse': {
    born: { transport: 'http' },
    by: [...toFallingBack, done('closeConnection', left)],
  },
  'loadingTools.fresh': { by: toLoading },
  'loadingTools.suspecting': { by: [...toLoading, { type: 'wire.doubted' }] },
  'loadingTools.outdated': { by: [...toLoading, exampleOf['tools.changed']] },
  open: { by: toOpen },
  broken: { by: [...toOpen, exampleOf['wire.broke']] },
  closing: { by: [...toOpen, exampleOf['session.close']] },
  releasing: { by: [...toOpen, exampleOf['wire.ended']] },
  draining: { by: [...toOpen, ended('sessionMissing', { drains: true })] },

  'tools.current': { by: toOpen },
  'tools.refreshing': { by: [...toOpen, exampleOf['tools.changed']] },
  'resources.unoffered': { by: toOpen },
  'resources.refreshing': { by: toOpenWithAll },
  'resources.current': { by: [...toOpenWithAll, ...refreshedAll] },
  'prompts.unoffered': { by: toOpen },
  'prompts.refreshing': { by: toOpenWithAll },
  'prompts.current': { by: [...toOpenWithAll, ...refreshedAll] },
  'watch.unwatched': { by: toOpen },
  'watch.resting': { born: { policy: pinged }, by: toOpen },
  'watch.looking': { born: { policy: pinged }, by: [...toOpen, { after: 'checkPause' }] },
  'watch.waking': { by: [...toOpen, exampleOf['server.woke']] },
  'watch.lookingAfterWaking': { by: [...toOpen, ...woken] },
  'watch.doubting': { by: [...toOpen, ...woken, { after: 'wokenCheckDeadline' }] },
  'watch.suspecting': { by: [...toOpen, exampleOf['wire.doubted']] },
  'input.flowing': { by: toOpen },
  'input.paused': { by: [...toOpen, exampleOf['wire.paused']] },
  'news.quiet': { by: toOpen },
  'news.gathering.unchanged': { by: [...toOpen, exampleOf['resource.updated']] },
  'news.gathering.changed': {
    by: [...toOpen, exampleOf['resource.updated'], exampleOf['resource.updated']],
  },
};

const changed: RefreshEvent = { type: 'list.changed' };

export const refreshWays: Readonly<Record<RefreshState, readonly Step[]>> = {
  'listing.fresh': [],
  'listing.outdated': [changed],
  'pausing.settled': [done('listItems', listed())],
  'pausing.due': [done('listItems', listed()), changed],
  failed: [done('listItems', unlisted())],
};

const inert = createInertScope();

function take(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  step: Step,
): AnyMachineSnapshot {
  inert.begin(snapshot);
  inert.observed.transitions.length = 0;
  const event = 'after' in step ? { type: timerOf(snapshot, step.after) } : step;
  return machine.transition(snapshot, event as EventObject, inert.scope);
}

function timerOf(snapshot: AnyMachineSnapshot, delay: string): string {
  const types = activeStates(snapshot).flatMap((state) => [...state.transitions.keys()]);
  const timer = types.find((type) => type.startsWith(`xstate.after.${delay}.`));
  if (timer === undefined) throw new Error(`There is no timer "${delay}" here.`);
  return timer;
}

/** Goes a way of the session chart and returns where it ends. */
export function reachSession({ born, by }: Way): SessionSnapshot {
  inert.begin(undefined);
  const start = sessionMachine.getInitialSnapshot(inert.scope, smallSession(born));
  return walk(sessionMachine, start, by) as SessionSnapshot;
}

/** Goes a way of the refresh chart and returns where it ends. */
export function reachRefresh(by: readonly Step[]): RefreshSnapshot {
  inert.begin(undefined);
  const start = refreshMachine.getInitialSnapshot(inert.scope, smallRefresh());
  return walk(refreshMachine, start, by) as RefreshSnapshot;
}

function walk(machine: AnyStateMachine, start: AnyMachineSnapshot, by: readonly Step[]) {
  return by.reduce((snapshot: AnyMachineSnapshot, step) => take(machine, snapshot, step), start);
}

/** Dotted paths of the leaves of a snapshot. */
export function leavesOf(snapshot: unknown): readonly string[] {
  return activeStates(snapshot as AnyMachineSnapshot)
    .filter(({ type }) => type === 'atomic' || type === 'final')
    .map(({ path }) => path.join('.'));
}

/**
 * What the session answers in a state: the state it goes to, `noted` when it takes the event in
 * and stays, or `ignored`. `open` is asked without its regions.
 */
export function sessionReply(state: SessionState, type: SessionEventType): string {
  const after = take(sessionMachine, reachSession(sessionWays[state]), exampleOf[type]);
  const isHeard = inert.observed.transitions.some(
    ({ source: { path } }) => state !== 'open' || path.length < 2,
  );
  const [leaf = ''] = leavesOf(after);
  const now = leaf.startsWith('open.') ? 'open' : leaf;
  if (now !== state) return now;
  return isHeard ? 'noted' : 'ignored';
}

/** The same for a region of an open session. */
export function regionReply(state: OpenState, type: SessionEventType): string {
  const [region = ''] = state.split('.');
  const after = take(sessionMachine, reachSession(sessionWays[state]), exampleOf[type]);
  const isHeard = inert.observed.transitions.some(({ source: { path } }) => path[1] === region);
  const leaves = leavesOf(after);
  const now = leaves.find((leaf) => leaf.startsWith(`open.${region}.`))?.slice('open.'.length);
  if (now === undefined) return 'left';
  if (now !== state) return now;
  return isHeard ? 'noted' : 'ignored';
}

/** The same for the refresh chart. */
export function refreshReply(state: RefreshState, type: RefreshEventType): string {
  const after = take(refreshMachine, reachRefresh(refreshWays[state]), { type });
  const isHeard = inert.observed.transitions.length > 0;
  const [now = ''] = leavesOf(after);
  if (now !== state) return now;
  return isHeard ? 'noted' : 'ignored';
}
