/** Brings the server chart into each of its states by events alone, and asks what it answers there. */

import type { AnyMachineSnapshot, AnyStateNode, EventObject } from 'xstate';
import { type ServerEvent, serverMachine } from '../../../machines/server/server.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import type { Failure, FailureKind } from '../../../src/domain/failure.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import {
  attempts,
  type ServerSnapshot,
  type SmallServer,
  sessionEnd,
  smallPolicy,
  smallServer,
} from './small-server.ts';

export type ServerEventType = ServerEvent['type'];
type EventOf<Type extends ServerEventType> = ServerEvent & { readonly type: Type };

type Leaves<Value> = Value extends string
  ? Value
  : {
      [Key in keyof Value & string]: `${Key}.${Leaves<NonNullable<Value[Key]>>}`;
    }[keyof Value & string];
type Regions = ServerSnapshot['value'];
export type Region = keyof Regions;

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
export type ActivityState = Exclude<Regions['activity'], 'ended'>;

/** How to get somewhere: how the server is born, and what happens to it. */
export interface Way {
  readonly born?: SmallServer;
  readonly by?: readonly Step[];
}
type Step = ServerEventType | Lost | Left | After | Broke;
/** The session ended by a failure; it was open if the server is ready. */
interface Lost {
  readonly lost: FailureKind | Failure;
  readonly evidence?: SessionEvidence;
}
/** The session actor itself threw. */
interface Broke {
  readonly broke: true;
}
/** The session closed on request. */
interface Left {
  readonly left: SessionEvidence;
}
interface After {
  readonly after: string;
}

/** One event of each type, about the present session. A new type of event needs a line here. */
const exampleOf: { readonly [Type in ServerEventType]: (session: number) => EventOf<Type> } = {
  'server.start': () => ({ type: 'server.start' }),
  'server.stop': () => ({ type: 'server.stop' }),
  'server.restart': () => ({ type: 'server.restart' }),
  'server.reconnect': () => ({ type: 'server.reconnect' }),
  'server.refresh': () => ({ type: 'server.refresh' }),
  'server.retire': () => ({ type: 'server.retire' }),
  'server.relieve': () => ({ type: 'server.relieve' }),
  'server.demanded': () => ({ type: 'server.demanded' }),
  'admission.granted': () => ({ type: 'admission.granted' }),
  'admission.withdrawn': () => ({ type: 'admission.withdrawn', verdict: 'rejected' }),
  'spec.updated': () => ({ type: 'spec.updated', startup: 'lazy', policy: smallPolicy }),
  'slot.granted': () => ({ type: 'slot.granted' }),
  'input.answered': () => ({ type: 'input.answered' }),
  'catalog.forgotten': () => ({ type: 'catalog.forgotten' }),
  'server.woke': () => ({ type: 'server.woke', spreadMs: 2_000 }),
  'session.opened': () => ({ type: 'session.opened', at: 0, era: 'modern', pid: 7 }),
  'session.listed': () => ({ type: 'session.listed', at: 0, toolCount: 1 }),
  'session.listFailed': () => ({
    type: 'session.listFailed',
    failure: { kind: 'protocol', message: 'The list has no end.' },
  }),
  'session.impaired': () => ({
    type: 'session.impaired',
    reason: 'partialCatalog',
    failure: { kind: 'protocol', message: 'Not all tools are listed.' },
  }),
  'session.recovered': () => ({ type: 'session.recovered', reason: 'partialCatalog' }),
  // As many as the small policy takes.
  'session.silent': () => ({
    type: 'session.silent',
    failedChecks: smallPolicy.health.failures,
  }),
  'session.closing': () => ({ type: 'session.closing' }),
  'xstate.done.actor.session': () => sessionEnd({ failure: failure('crashed') }),
  'xstate.error.actor.session': () => ({
    type: 'xstate.error.actor.session',
    actorId: 'session',
    error: new Error('a bug'),
  }),
  'calls.began': (session) => ({ type: 'calls.began', session }),
  'calls.drained': (session) => ({ type: 'calls.drained', session }),
  'call.failed': (session) => ({ type: 'call.failed', session, at: 0 }),
  'call.succeeded': (session) => ({ type: 'call.succeeded', session }),
  'server.listed': () => ({ type: 'server.listed' }),
  'server.faltered': () => ({ type: 'server.faltered' }),
  'server.idled': () => ({ type: 'server.idled' }),
  'server.relieved': () => ({ type: 'server.relieved' }),
  'server.hung': () => ({ type: 'server.hung', failedChecks: 1 }),
  'server.gaveUp': () => ({ type: 'server.gaveUp' }),
  'server.rested': () => ({ type: 'server.rested' }),
  'server.ended': () => ({ type: 'server.ended' }),
  'probe.wanted': () => ({ type: 'probe.wanted' }),
  'probe.began': () => ({ type: 'probe.began' }),
  'breaker.tripped': () => ({ type: 'breaker.tripped', at: 0 }),
};

function failure(kind: FailureKind): Failure {
  return { kind, message: `It is ${kind}.` };
}

export const serverEventTypes = Object.keys(exampleOf) as readonly ServerEventType[];

/** A variable that its settings name is not set. */
export const notStartable: Failure = {
  ...failure('unavailable'),
  missing: { what: 'variable', name: 'TOKEN' },
};

const toReady = ['slot.granted', 'session.opened', 'session.listed'] as const;
const toOpen = [...toReady, 'call.failed', 'call.failed'] as const;
const tripsAtOnce = { limit: 1, windowMs: 1_000, action: 'suspend' } as const;
const failsAtOnce = { ...tripsAtOnce, action: 'fail' } as const;

/** The canonical way into each state; a new state needs one here. */
export const ways: {
  readonly connection: Record<ConnectionState, Way>;
  readonly catalog: Record<CatalogState, Way>;
  readonly circuit: Record<CircuitState, Way>;
  readonly activity: Record<ActivityState, Way>;
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
    'parked.backingOff.retrying': { by: ['slot.granted', { lost: 'transport' }] },
    'parked.backingOff.lost': {
      born: { transport: 'http', policy: attempts(1) },
      by: ['slot.granted', { lost: 'transport' }],
    },
    'parked.authRequired': { by: ['slot.granted', { lost: 'authRequired' }] },
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
      by: ['slot.granted', { lost: 'transport' }],
    },
    'parked.failed.sameFailure': {
      born: { policy: { startup: { sameExits: 1 } } },
      by: ['slot.granted', { lost: 'transport' }],
    },
    'parked.failed.capabilityMissing': { by: ['slot.granted', { lost: 'capabilityMissing' }] },
    'parked.failed.versionUnsupported': { by: ['slot.granted', { lost: 'versionUnsupported' }] },
    'parked.failed.restartNever': {
      born: { policy: { restart: { on: 'never' } } },
      by: ['slot.granted', { lost: 'transport' }],
    },
    'parked.failed.notStartable': { by: ['slot.granted', { lost: notStartable }] },
    'parked.failed.crashLoop': {
      born: { policy: { storm: { crashLoop: failsAtOnce } } },
      by: [...toReady, { lost: 'crashed' }],
    },
    'parked.failed.reconnectStorm': {
      born: { policy: { storm: { reconnectStorm: failsAtOnce } } },
      by: [...toReady, { lost: 'transport' }],
    },
    'parked.stopped': { born: { stopWanted: true } },
    'engaged.queued': {},
    'engaged.live.connecting': { by: ['slot.granted'] },
    'engaged.live.loadingTools': { by: ['slot.granted', 'session.opened'] },
    'engaged.live.ready': { by: toReady },
    'engaged.live.ending': { by: [...toReady, 'session.closing'] },
    'engaged.live.closing': { by: [...toReady, 'server.reconnect'] },
  },
  catalog: {
    none: { born: { verdict: 'pendingApproval', hasStoredCatalog: true } },
    deferred: { born: { hasStoredCatalog: true }, by: ['slot.granted'] },
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
        'slot.granted',
        { after: 'circuitCooldown' },
      ],
    },
    halfOpen: { by: [...toOpen, { after: 'circuitCooldown' }] },
  },
  activity: {
    unready: { by: ['slot.granted', 'session.opened'] },
    idle: { by: toReady },
    busy: { by: [...toReady, 'calls.began'] },
    draining: { by: [...toReady, 'calls.began', 'server.relieve'] },
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
  if (typeof step === 'string') return exampleOf[step](snapshot.context.session);
  if ('after' in step) return { type: timerOf(snapshot, step.after) };
  if ('broke' in step) return exampleOf['xstate.error.actor.session'](0);
  if ('left' in step) return sessionEnd({ evidence: step.left });
  const { lost, evidence } = step;
  return sessionEnd({
    failure: typeof lost === 'string' ? failure(lost) : lost,
    wasOpen: snapshot.hasTag('usable'),
    ...(evidence !== undefined && { evidence }),
  });
}

function timerOf(snapshot: AnyMachineSnapshot, delay: string): string {
  const states: readonly AnyStateNode[] = snapshot._nodes;
  const types = states.flatMap((state) => [...state.transitions.keys()]);
  const timer = types.find((type) => type.startsWith(`xstate.after.${delay}.`));
  if (timer === undefined) throw new Error(`No timer "${delay}" runs here.`);
  return timer;
}

/** Dotted path of the leaf state that a region is in. */
export function stateIn(snapshot: ServerSnapshot, region: Region): string {
  const states: readonly AnyStateNode[] = (snapshot as AnyMachineSnapshot)._nodes;
  const paths = states.map(({ path }) => path.join('.'));
  const [leaf = ''] = paths.filter((path) => path.startsWith(`${region}.`)).toSorted(byLength);
  return leaf.slice(region.length + 1);
}

function byLength(one: string, other: string): number {
  return other.length - one.length;
}

/**
 * What a region answers: the state it goes to, `noted` when it takes the event
 * in and stays where it is, `ignored` when it does not listen.
 */
export function replyOf(region: Region, before: ServerSnapshot, type: ServerEventType): string {
  const after = take(before, eventFor(type, before));
  const isHeard = inert.observed.transitions.some(
    ({ source, eventType }) => eventType === type && source.path[0] === region,
  );
  const state = stateIn(after, region);
  if (state !== stateIn(before, region)) return state;
  return isHeard ? 'noted' : 'ignored';
}
