/** Brings the server chart into each of its states by events alone, and asks what it answers there. */

import type { AnyMachineSnapshot, AnyStateNode, EventObject } from 'xstate';
import { type ServerEvent, serverMachine } from '../../../machines/server/server.ts';
import { createInertScope } from '../../../machines/xstate-internals.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import {
  attempts,
  type ServerSnapshot,
  type SmallServer,
  smallPolicy,
  smallServer,
} from './small-server.ts';

export type ServerEventType = ServerEvent['type'];
type EventOf<Type extends ServerEventType> = ServerEvent & { readonly type: Type };

type Leaves<Value> = Value extends string
  ? Value
  : {
      [Key in keyof Value & string]: Key extends 'ready'
        ? Key
        : `${Key}.${Leaves<NonNullable<Value[Key]>>}`;
    }[keyof Value & string];
type Regions = ServerSnapshot['value'];
type Region = keyof Regions;

/** Tables of `always` rows: they are left at once. */
type ConnectionTable = `settling.${string}` | `${string}.choosing`;
/**
 * States in which an event can find the server: neither those that are left at
 * once nor the ends, where XState delivers nothing more.
 */
export type ConnectionState = Exclude<
  Leaves<Regions['connection']>,
  ConnectionTable | 'settling' | 'retired'
>;
export type CatalogState = Exclude<Regions['catalog'], 'remembering' | 'lost' | 'ended'>;
export type CircuitState = Exclude<Regions['circuit'], 'ended'>;
/** The regions within `ready`. */
export type ReadyState =
  | 'health.steady'
  | 'health.degraded'
  | 'watch.unwatched'
  | 'watch.resting'
  | 'watch.looking'
  | 'watch.waking'
  | 'watch.lookingAfterWaking'
  | 'watch.doubting'
  | 'input.flowing'
  | 'input.paused'
  | 'listing.current'
  | 'listing.outdated'
  | 'activity.idle'
  | 'activity.busy'
  | 'activity.draining';

/** How to get somewhere: how the server is born, and what happens to it. */
export interface Way {
  readonly born?: SmallServer;
  readonly by?: readonly Step[];
}
type Step = ServerEventType | Lost | Left | After | Broke;
interface Lost {
  readonly lost: FailureKind;
}
/** The session actor itself threw. */
interface Broke {
  readonly broke: true;
}
/** The session closed as it was told to. */
interface Left {
  readonly left: SessionEvidence;
}
interface After {
  readonly after: string;
}

/** One event of each type, about the present session. A new type of event needs a line here. */
const exampleOf: { readonly [Type in ServerEventType]: (at: Stamp) => EventOf<Type> } = {
  'server.start': () => ({ type: 'server.start' }),
  'server.stop': () => ({ type: 'server.stop' }),
  'server.restart': () => ({ type: 'server.restart' }),
  'server.reconnect': () => ({ type: 'server.reconnect' }),
  'server.retire': () => ({ type: 'server.retire' }),
  'server.relieve': () => ({ type: 'server.relieve' }),
  'server.demanded': () => ({ type: 'server.demanded' }),
  'admission.granted': () => ({ type: 'admission.granted' }),
  'admission.withdrawn': () => ({ type: 'admission.withdrawn', verdict: 'rejected' }),
  'spec.updated': () => ({ type: 'spec.updated', startup: 'lazy', policy: smallPolicy }),
  'slot.granted': () => ({ type: 'slot.granted' }),
  'catalog.forgotten': () => ({ type: 'catalog.forgotten' }),
  'server.woke': () => ({ type: 'server.woke', spreadMs: 2_000 }),
  'session.opened': (stamp) => ({ type: 'session.opened', ...stamp, era: 'modern', pid: 7 }),
  'session.listed': (stamp) => ({ type: 'session.listed', ...stamp, toolCount: 1 }),
  'session.listFailed': (stamp) => ({
    type: 'session.listFailed',
    ...stamp,
    failure: { kind: 'protocol', message: 'The list has no end.' },
  }),
  'session.probed': (stamp) => ({ type: 'session.probed', ...stamp, answer: 'alive' }),
  'session.notified': (stamp) => ({ type: 'session.notified', ...stamp }),
  'session.impaired': (stamp) => ({
    type: 'session.impaired',
    ...stamp,
    reason: 'partialCatalog',
    failure: { kind: 'protocol', message: 'Not all tools are listed.' },
  }),
  'session.recovered': (stamp) => ({
    type: 'session.recovered',
    ...stamp,
    reason: 'partialCatalog',
  }),
  'session.paused': (stamp) => ({ type: 'session.paused', ...stamp }),
  'session.resumed': (stamp) => ({ type: 'session.resumed', ...stamp }),
  'session.lost': (stamp) => ({ type: 'session.lost', ...stamp }),
  'session.closed': (stamp) => closed('crashed', stamp),
  'calls.began': ({ session }) => ({ type: 'calls.began', session }),
  'calls.drained': ({ session }) => ({ type: 'calls.drained', session }),
  'call.failed': ({ session }) => ({ type: 'call.failed', session, at: 0 }),
  'call.succeeded': ({ session }) => ({ type: 'call.succeeded', session }),
  'server.listed': () => ({ type: 'server.listed' }),
  'server.idled': () => ({ type: 'server.idled' }),
  'server.relieved': () => ({ type: 'server.relieved' }),
  'look.failed': () => ({ type: 'look.failed' }),
  'server.hung': () => ({ type: 'server.hung' }),
  'server.flooded': () => ({ type: 'server.flooded' }),
  'server.gaveUp': () => ({ type: 'server.gaveUp' }),
  'server.rested': () => ({ type: 'server.rested' }),
  'server.ended': () => ({ type: 'server.ended' }),
  'session.abandoned': () => ({ type: 'session.abandoned' }),
  'probe.wanted': () => ({ type: 'probe.wanted' }),
  'probe.began': () => ({ type: 'probe.began' }),
  'breaker.tripped': () => ({ type: 'breaker.tripped', at: 0 }),
};
interface Stamp {
  readonly session: number;
  readonly at: number;
}

function closed(kind: FailureKind, stamp: Stamp): EventOf<'session.closed'> {
  return { type: 'session.closed', ...stamp, failure: { kind, message: `It is ${kind}.` } };
}

function endedAsTold(evidence: SessionEvidence, stamp: Stamp): EventOf<'session.closed'> {
  return { type: 'session.closed', ...stamp, evidence };
}

export const serverEventTypes = Object.keys(exampleOf) as readonly ServerEventType[];

const toReady = ['slot.granted', 'session.opened', 'session.listed'] as const;
const toOpen = [...toReady, 'call.failed', 'call.failed'] as const;
const watched = { health: { mode: 'ping' } } as const;
const tripsAtOnce = { limit: 1, windowMs: 1_000, action: 'suspend' } as const;
const failsAtOnce = { ...tripsAtOnce, action: 'fail' } as const;

/** The canonical way into each state; a new state needs one here. */
export const ways: {
  readonly connection: Record<ConnectionState, Way>;
  readonly ready: Record<ReadyState, Way>;
  readonly catalog: Record<CatalogState, Way>;
  readonly circuit: Record<CircuitState, Way>;
} = {
  connection: {
    'parked.disabled': { born: { verdict: 'disabled' } },
    'parked.blocked.untrusted': { born: { verdict: 'untrusted' } },
    'parked.blocked.excluded': { born: { verdict: 'excluded' } },
    'parked.blocked.notAllowed': { born: { verdict: 'notAllowed' } },
    'parked.blocked.pendingApproval': { born: { verdict: 'pendingApproval' } },
    'parked.blocked.rejected': { born: { verdict: 'rejected' } },
    'parked.blocked.invalidConfig': { born: { verdict: 'invalidConfig' } },
    'parked.blocked.overBudget': { born: { verdict: 'overBudget' } },
    'parked.dormant': { born: { startup: 'lazy' } },
    'parked.backingOff.retrying': { by: [{ lost: 'transport' }] },
    'parked.backingOff.lost': {
      born: { transport: 'http', policy: attempts(1) },
      by: [{ lost: 'transport' }],
    },
    'parked.authRequired': { by: [{ lost: 'authRequired' }] },
    'parked.suspended.crashLoop': {
      born: { policy: { storm: { crashLoop: tripsAtOnce } } },
      by: [...toReady, { lost: 'crashed' }],
    },
    'parked.suspended.reconnectStorm': {
      born: { policy: { storm: { reconnectStorm: tripsAtOnce } } },
      by: [...toReady, { lost: 'transport' }],
    },
    'parked.failed.attemptsExhausted': {
      born: { policy: attempts(1) },
      by: [{ lost: 'transport' }],
    },
    'parked.failed.capabilityMissing': { by: [{ lost: 'capabilityMissing' }] },
    'parked.failed.versionUnsupported': { by: [{ lost: 'versionUnsupported' }] },
    'parked.failed.restartNever': {
      born: { policy: { restart: { on: 'never' } } },
      by: [{ lost: 'transport' }],
    },
    'parked.failed.crashLoop': {
      born: { policy: { storm: { crashLoop: failsAtOnce } } },
      by: [...toReady, { lost: 'crashed' }],
    },
    'parked.failed.reconnectStorm': {
      born: { policy: { storm: { reconnectStorm: failsAtOnce } } },
      by: [...toReady, { lost: 'transport' }],
    },
    'parked.stopped': { born: { stopWanted: true } },
    'engaged.starting.queued': {},
    'engaged.starting.connecting': { by: ['slot.granted'] },
    'engaged.starting.loadingTools': { by: ['slot.granted', 'session.opened'] },
    'engaged.ready': { by: toReady },
    'engaged.ending': { by: [...toReady, 'session.lost'] },
    'engaged.closing': { by: [...toReady, 'server.reconnect'] },
  },
  ready: {
    'health.steady': { by: toReady },
    'health.degraded': { by: [...toReady, 'session.impaired'] },
    'watch.unwatched': { by: toReady },
    'watch.resting': { born: { policy: watched }, by: toReady },
    'watch.looking': { born: { policy: watched }, by: [...toReady, { after: 'lookPause' }] },
    'watch.waking': { by: [...toReady, 'server.woke'] },
    'watch.lookingAfterWaking': { by: [...toReady, 'server.woke', { after: 'wakePause' }] },
    'watch.doubting': {
      by: [...toReady, 'server.woke', { after: 'wakePause' }, { after: 'wokenLookDeadline' }],
    },
    'input.flowing': { by: toReady },
    'input.paused': { by: [...toReady, 'session.paused'] },
    'listing.current': { by: toReady },
    'listing.outdated': { by: [...toReady, 'session.listFailed'] },
    // The last look that it takes has failed.
    'activity.idle': { born: { policy: { health: { failures: 0 } } }, by: toReady },
    'activity.busy': { by: [...toReady, 'calls.began'] },
    'activity.draining': { by: [...toReady, 'calls.began', 'server.relieve'] },
  },
  catalog: {
    none: { born: { verdict: 'pendingApproval', hasStoredCatalog: true } },
    deferred: { born: { hasStoredCatalog: true } },
    live: { by: toReady },
    stale: { by: [...toReady, { lost: 'transport' }] },
  },
  circuit: {
    closed: { by: [...toReady, 'call.failed'] },
    open: { by: toOpen },
    due: {
      by: [
        ...toOpen,
        { lost: 'transport' },
        { after: 'reconnectBackoff' },
        { after: 'circuitCooldown' },
      ],
    },
    halfOpen: { by: [...toOpen, { after: 'circuitCooldown' }] },
  },
};

const inert = createInertScope();

function take(snapshot: ServerSnapshot, event: EventObject): ServerSnapshot {
  inert.begin(snapshot);
  inert.observed.transitions.length = 0;
  return serverMachine.transition(snapshot, event as ServerEvent, inert.scope);
}

/** Goes a way and returns where it ends. */
export function reach({ born, by = [] }: Way): ServerSnapshot {
  inert.begin(undefined);
  const start = serverMachine.getInitialSnapshot(inert.scope, smallServer(born));
  return by.reduce((snapshot, step) => take(snapshot, eventFor(step, snapshot)), start);
}

function eventFor(step: Step, snapshot: ServerSnapshot): EventObject {
  const stamp = { session: snapshot.context.session, at: 0 };
  if (typeof step === 'string') return exampleOf[step](stamp);
  if ('left' in step) return endedAsTold(step.left, stamp);
  if ('broke' in step) return { type: 'xstate.error.actor.session' };
  return 'lost' in step ? closed(step.lost, stamp) : { type: timerOf(snapshot, step.after) };
}

function timerOf(snapshot: AnyMachineSnapshot, delay: string): string {
  const states: readonly AnyStateNode[] = snapshot._nodes;
  const types = states.flatMap((state) => [...state.transitions.keys()]);
  const timer = types.find((type) => type.startsWith(`xstate.after.${delay}.`));
  if (timer === undefined) throw new Error(`No timer "${delay}" runs here.`);
  return timer;
}

/** Dotted paths of the states a region is in; `engaged.ready` counts as one, its inside is `ready`. */
export function statesIn(snapshot: ServerSnapshot, region: Region | 'ready'): readonly string[] {
  const states: readonly AnyStateNode[] = (snapshot as AnyMachineSnapshot)._nodes;
  const paths = states.filter(({ type }) => type !== 'parallel').map(({ path }) => path.join('.'));
  const isLeaf = (path: string): boolean => !paths.some((other) => other.startsWith(`${path}.`));
  const inside = 'connection.engaged.ready.';
  if (region === 'ready')
    return paths
      .filter((path) => path.startsWith(inside) && isLeaf(path))
      .map((path) => path.slice(inside.length));
  const leaves = paths.filter((path) => path.startsWith(`${region}.`) && isLeaf(path));
  const outer = leaves.map((path) => (path.startsWith(inside) ? 'connection.engaged.ready' : path));
  return [...new Set(outer)].map((path) => path.slice(region.length + 1));
}

/**
 * What a region answers: the state it goes to, `noted` when it takes the event
 * in and stays where it is, `ignored` when it does not listen.
 */
export function replyOf(
  region: Region | 'ready',
  state: string,
  before: ServerSnapshot,
  type: ServerEventType,
): string {
  const after = take(before, eventFor(type, before));
  const isHeard = inert.observed.transitions.some(
    ({ source, eventType }) => eventType === type && isWithin(source, region, state),
  );
  const states = statesIn(after, region);
  if (states.includes(state)) return isHeard ? 'noted' : 'ignored';
  return region === 'ready' ? (sibling(states, state) ?? 'left') : states.join(' + ');
}

function sibling(states: readonly string[], state: string): string | undefined {
  const [half = ''] = state.split('.');
  return states.find((other) => other.startsWith(`${half}.`));
}

function isWithin({ path }: AnyStateNode, region: Region | 'ready', state: string): boolean {
  return region === 'ready' ? path[3] === state.split('.')[0] : path[0] === region;
}
