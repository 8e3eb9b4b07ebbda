/** What a search through the server chart tries, and when it calls two states equal. */

import { endsOnDemand } from '../../../machines/server/context.ts';
import type { ServerEvent, ServerInput } from '../../../machines/server/server.ts';
import { serverMachine } from '../../../machines/server/server.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import type { ServerPolicy } from '../../../src/domain/policy.ts';
import type { SessionEnd } from '../../../src/domain/session.ts';
import {
  type EventChoices,
  type Exploration,
  type ExploreOptions,
  explore,
} from '../../../src/testing/explore.ts';
import { comparing } from '../xstate/comparing.ts';
import { type ServerSnapshot, sessionEnd } from './small-server.ts';
import { notStartable } from './ways.ts';

type Choices = EventChoices<typeof serverMachine>;
type Options = ExploreOptions<typeof serverMachine>;

/** One kind for each answer that `settling` has; the other kinds are answered like `transport`. */
const tellingKinds: readonly FailureKind[] = [
  'transport',
  'crashed',
  'cleanExit',
  'authRequired',
  'capabilityMissing',
  'versionUnsupported',
];

const failure = (kind: FailureKind) => ({ kind, message: `It is ${kind}.` });

/** A fact of the call path about the present session, and the same of the one before. */
function presentAndStale(make: (stamp: { session: number; at: number }) => ServerEvent) {
  return ({ context }: ServerSnapshot): readonly ServerEvent[] => {
    const at = latestTime(context);
    return [make({ session: context.session, at }), make({ session: context.session - 1, at })];
  };
}

function latestTime({ windows }: ServerSnapshot['context']): number {
  return windows.lossTimes.at(-1) ?? 0;
}

/** What a process leaves behind. */
const remains = { exitCode: 1, signal: 'SIGKILL', stderrTail: ['It hurts.'] };

// As long as the longer of the two windows of these tests.
const longestWindowMs = 60_000;

type Ending = (snapshot: ServerSnapshot) => readonly Partial<SessionEnd>[];

/** How the present session may end. One that closes on request says nothing but what it leaves. */
function endings(choose: Ending) {
  return (snapshot: ServerSnapshot): readonly ServerEvent[] => {
    const { context } = snapshot;
    if (snapshot.matches({ connection: { engaged: { live: 'closing' } } }))
      return [sessionEnd(), sessionEnd({ evidence: remains, failure: failure('crashed') })];
    const at = latestTime(context);
    // A session that ends by itself may or may not have listed its tools before.
    const isEnding = snapshot.matches({ connection: { engaged: { live: 'ending' } } });
    const wereOpen = isEnding ? [true, false] : [snapshot.hasTag('usable')];
    return choose(snapshot).flatMap((end) =>
      wereOpen.map((wasOpen) => sessionEnd({ at, wasOpen, ...end })),
    );
  };
}

const anyEnding: Ending = ({ context }) => {
  const longAfter = latestTime(context) + longestWindowMs;
  return [
    {},
    ...tellingKinds.map((kind) => ({ failure: failure(kind) })),
    { failure: notStartable },
    // The windows have emptied meanwhile.
    { at: longAfter, failure: failure('crashed'), evidence: remains },
    { at: longAfter, failure: { ...failure('rateLimited'), retryAfterMs: 10_000 } },
    // Busy: told apart from others at a start, where the policy does.
    ...(context.policy.startup.busyBackoff === null
      ? []
      : [{ failure: { ...failure('unavailable'), httpStatus: 503 } }]),
  ];
};

const failedCalls = presentAndStale((stamp) => ({ ...stamp, type: 'call.failed' }));

// The call path tells of one failed call at most when a session was lost, and a rest forgets those before.
function isToldOfLoss({ context, children }: ServerSnapshot): boolean {
  return children.session === undefined && context.circuit.failedCalls > 0;
}

/** Every event from outside, with the payloads that make a difference. */
const everything: Choices = {
  'admission.withdrawn': [
    // One for all reasons: settling tells them apart, nothing else does.
    { type: 'admission.withdrawn', verdict: 'rejected' },
  ],
  'spec.updated': ({ context: { policy, startup } }) => [{ type: 'spec.updated', startup, policy }],
  'session.opened': [{ type: 'session.opened', at: 0, era: 'modern', pid: 7 }],
  'session.listed': [{ type: 'session.listed', at: 0, toolCount: 1 }],
  'session.listFailed': [{ type: 'session.listFailed', failure: failure('protocol') }],
  'session.impaired': [{ type: 'session.impaired', reason: 'healthCheck' }],
  'session.recovered': [{ type: 'session.recovered', reason: 'healthCheck' }],
  'session.silent': ({ context: { policy } }) =>
    [1, policy.health.failures].map((failedChecks) => ({ type: 'session.silent', failedChecks })),
  'xstate.done.actor.session': endings(anyEnding),
  'calls.began': presentAndStale(({ session }) => ({ type: 'calls.began', session })),
  'calls.drained': presentAndStale(({ session }) => ({ type: 'calls.drained', session })),
  'call.failed': (state) => (isToldOfLoss(state) ? [] : failedCalls(state)),
  'call.succeeded': presentAndStale(({ session }) => ({ type: 'call.succeeded', session })),
  // Only the chart itself raises these: the first unless it is retired, the others with what they are about.
  'server.faltered': [],
  'server.hung': [],
  'breaker.tripped': [],
};

const asleep: Choices = { 'server.woke': [], 'session.silent': [] };

/** The call path is silent, so the circuit stays closed. */
export const withoutCalls: Choices = {
  ...everything,
  ...asleep,
  'call.failed': [],
  'call.succeeded': [],
  'calls.began': [],
  'calls.drained': [],
};

/** Calls, crashes and stops, but no edits: enough to cross the circuit with every other region. */
export const withCalls: Choices = {
  ...everything,
  ...asleep,
  'catalog.forgotten': [],
  'admission.withdrawn': [],
  'admission.granted': [],
  'spec.updated': [],
  'session.impaired': [],
  'session.recovered': [],
  'xstate.done.actor.session': endings(() => [{}, { failure: failure('crashed') }]),
};

/** Floods and crashes, without edits. */
export const withFloods: Choices = {
  ...withCalls,
  'call.failed': [],
  'call.succeeded': [],
  'calls.began': [],
  'calls.drained': [],
  'xstate.done.actor.session': endings(() => [
    { failure: failure('crashed') },
    { failure: failure('protocol'), isFlood: true },
  ]),
};

/** Failed health checks and wake-ups, with running calls and lost sessions. */
export const withHealth: Choices = {
  ...everything,
  'server.woke': [{ type: 'server.woke', spreadMs: 2_000 }],
  'catalog.forgotten': [],
  'admission.withdrawn': [],
  'admission.granted': [],
  'server.start': [],
  'server.restart': [],
  'call.failed': [],
  'call.succeeded': [],
  'session.listFailed': [],
  'session.impaired': [],
  'session.recovered': [],
  'xstate.done.actor.session': endings(() => [
    {},
    { failure: failure('transport') },
    { failure: { ...failure('rateLimited'), retryAfterMs: 10_000 } },
  ]),
};

/** The events that remain without a user or a root: only peers and time act, and an answer only asks for a start. */
export function leftAlone(events: Choices): Choices {
  return {
    ...events,
    'catalog.forgotten': [],
    'server.start': [],
    'server.stop': [],
    'server.restart': [],
    'server.reconnect': [],
    'server.refresh': [],
    'server.retire': [],
    'server.relieve': [],
    'admission.granted': [],
    'admission.withdrawn': [],
    'spec.updated': [],
  };
}

const unlikeTransport: ReadonlySet<FailureKind> = new Set([
  'cleanExit',
  'notStarted',
  'authRequired',
  'capabilityMissing',
  'versionUnsupported',
]);

/** Equal for states that answer every event alike: without session numbers, times and messages. */
function keyOf(snapshot: ServerSnapshot): string {
  const { value, context } = snapshot;
  const { loss, policy } = context;
  const isBackingOff = snapshot.matches({ connection: { parked: 'backingOff' } });
  return JSON.stringify([
    value,
    context.retiring,
    context.verdict,
    context.stopWanted,
    context.demanded,
    context.startup,
    context.hasStoredCatalog,
    loss === null ? null : unlikeTransport.has(loss.kind) ? loss.kind : 'transport',
    // Beyond the last attempt a person's reconnects may count on; nothing more changes.
    Math.min(context.tries.attempt, mostAttempts(policy) + 1),
    context.hasServed,
    isBackingOff && endsOnDemand(context),
    loss?.httpStatus,
    loss?.missing,
    context.windows.crashTimes.length,
    context.windows.lossTimes.length,
    context.floods,
    context.peer.impairments.map(({ reason }) => reason),
    loss?.retryAfterMs === undefined,
    context.circuit.failedCalls,
    context.circuit.cooldownMs,
    policy.startup.sameExits,
    policy.restart.on,
    policy.breaker.action,
    policy.catalog.whileDown,
    policy.catalog.afterGiveUp,
    policy.catalog.cache,
    context.transport,
  ]);
}

function mostAttempts({ startup, restart }: ServerPolicy): number {
  return Math.max(startup.maxAttempts ?? 0, restart.maxAttempts ?? 0);
}

/** Searches through the server chart from one or more births. */
export function searchServer(
  inputs: readonly ServerInput[],
  events: Choices,
  checks: Pick<Options, 'invariants' | 'stepInvariants' | 'goals'>,
): Exploration {
  return explore(comparing(serverMachine), {
    inputs,
    events,
    key: keyOf,
    limit: 400_000,
    ...checks,
  });
}
