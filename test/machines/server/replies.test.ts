/**
 * What each state of the server chart does with each event, said on purpose.
 *
 * A reply is the state that the event leads to, `noted` when the event is taken in
 * and the state stays, or `ignored`. A new state or event does not compile until
 * it has its answers here.
 */

import { describe, expect, it } from 'vitest';
import {
  type ActivityState,
  type CatalogState,
  type CircuitState,
  type ConnectionState,
  type Region,
  reach,
  replyOf,
  type ServerEventType,
  serverEventTypes,
  stateIn,
  type Way,
  ways,
} from './ways.ts';

type Reply<State extends string> = State | 'noted' | 'ignored';
type Table<State extends string, End extends string> = Readonly<
  Record<State, Readonly<Record<ServerEventType, Reply<State | End>>>>
>;

const noFacts = {
  'session.opened': 'ignored',
  'session.listed': 'ignored',
  'session.listFailed': 'ignored',
  'session.impaired': 'ignored',
  'session.recovered': 'ignored',
  'session.silent': 'ignored',
  'session.closing': 'ignored',
  'xstate.done.actor.session': 'ignored',
  'xstate.error.actor.session': 'ignored',
} as const;
const noCalls = {
  'calls.began': 'ignored',
  'calls.drained': 'ignored',
  'call.failed': 'ignored',
  'call.succeeded': 'ignored',
} as const;
/** What the regions tell each other. */
const noWord = {
  'server.listed': 'ignored',
  'server.faltered': 'ignored',
  'server.idled': 'ignored',
  'server.relieved': 'ignored',
  'server.hung': 'ignored',
  'server.gaveUp': 'ignored',
  'server.rested': 'ignored',
  'server.ended': 'ignored',
  'probe.wanted': 'ignored',
  'probe.began': 'ignored',
  'breaker.tripped': 'ignored',
} as const;
const noCommands = {
  'server.start': 'ignored',
  'server.stop': 'ignored',
  'server.restart': 'ignored',
  'server.reconnect': 'ignored',
  'server.refresh': 'ignored',
  'server.retire': 'ignored',
  'server.relieve': 'ignored',
  'server.demanded': 'ignored',
  'admission.granted': 'ignored',
  'admission.withdrawn': 'ignored',
  'spec.updated': 'ignored',
  'slot.granted': 'ignored',
  'input.answered': 'ignored',
  'catalog.forgotten': 'ignored',
  'server.woke': 'ignored',
} as const;
const nothing = { ...noCommands, ...noFacts, ...noCalls, ...noWord } as const;

/** A server that may not run notes every request and follows it once admitted. */
const notAdmitted = {
  ...nothing,
  'server.start': 'noted',
  'server.stop': 'noted',
  'server.restart': 'noted',
  'server.reconnect': 'noted',
  'server.retire': 'retired',
  'server.relieve': 'retired',
  'admission.granted': 'engaged.queued',
  'admission.withdrawn': 'parked.blocked.rejected',
  'spec.updated': 'noted',
} as const;

/** At rest without a session: every wish of a person is followed at once. */
const atRest = {
  ...nothing,
  'server.start': 'engaged.queued',
  'server.stop': 'parked.stopped',
  'server.restart': 'engaged.queued',
  'server.reconnect': 'engaged.queued',
  'server.retire': 'retired',
  'server.relieve': 'retired',
  'admission.granted': 'noted',
  'admission.withdrawn': 'parked.blocked.rejected',
  'spec.updated': 'noted',
} as const;

/** Waiting for a permit or with a session. A start is granted already. */
const engaged = {
  ...nothing,
  'server.demanded': 'noted',
  'admission.granted': 'noted',
  'spec.updated': 'noted',
} as const;

/** With a session: whatever ends it goes through closing. */
const withSession = {
  ...engaged,
  'server.stop': 'engaged.live.closing',
  'server.restart': 'engaged.live.closing',
  'server.reconnect': 'engaged.live.closing',
  'server.retire': 'engaged.live.closing',
  'server.relieve': 'engaged.live.closing',
  'admission.withdrawn': 'engaged.live.closing',
  'server.woke': 'noted',
  'session.impaired': 'noted',
  'session.recovered': 'noted',
  'session.closing': 'engaged.live.ending',
  'xstate.done.actor.session': 'parked.backingOff.retrying',
  'xstate.error.actor.session': 'parked.backingOff.retrying',
} as const;

const connection: Table<ConnectionState, 'retired'> = {
  'parked.disabled': notAdmitted,
  'parked.blocked.untrusted': notAdmitted,
  'parked.blocked.excluded': notAdmitted,
  'parked.blocked.notAllowed': notAdmitted,
  'parked.blocked.pendingApproval': notAdmitted,
  'parked.blocked.rejected': { ...notAdmitted, 'admission.withdrawn': 'noted' },
  'parked.blocked.invalidConfig': notAdmitted,
  'parked.blocked.overBudget': notAdmitted,
  'parked.dormant': { ...atRest, 'server.demanded': 'engaged.queued' },
  // A demand does not shorten the wait, it only outlives it.
  'parked.backingOff.retrying': { ...atRest, 'server.demanded': 'noted', 'server.woke': 'noted' },
  'parked.backingOff.lost': { ...atRest, 'server.demanded': 'noted', 'server.woke': 'noted' },
  'parked.authRequired': atRest,
  'parked.suspended.crashLoop': atRest,
  'parked.suspended.reconnectStorm': atRest,
  // The edit of this table allows more attempts, and restarts.
  'parked.failed.attemptsExhausted': { ...atRest, 'spec.updated': 'parked.backingOff.retrying' },
  'parked.failed.sameFailure': { ...atRest, 'spec.updated': 'parked.backingOff.retrying' },
  'parked.failed.restartNever': { ...atRest, 'spec.updated': 'parked.backingOff.retrying' },
  'parked.failed.capabilityMissing': atRest,
  'parked.failed.versionUnsupported': atRest,
  // A demand or an edit tries it again: what was missing may be there.
  'parked.failed.notStartable': {
    ...atRest,
    'server.demanded': 'engaged.queued',
    'spec.updated': 'engaged.queued',
    'input.answered': 'noted',
  },
  'parked.failed.crashLoop': atRest,
  'parked.failed.reconnectStorm': atRest,
  // Only a start or a restart takes a stop back.
  'parked.stopped': { ...atRest, 'server.stop': 'noted', 'server.reconnect': 'noted' },
  // Nothing to close yet: every wish is followed at once, and a start has asked for its permit already.
  'engaged.queued': {
    ...engaged,
    'slot.granted': 'engaged.live.connecting',
    'server.stop': 'parked.stopped',
    'server.restart': 'noted',
    'server.reconnect': 'noted',
    'server.retire': 'retired',
    'server.relieve': 'retired',
    'admission.withdrawn': 'parked.blocked.rejected',
    // No permit could come while the machine slept: the deadline starts again.
    'server.woke': 'noted',
  },
  'engaged.live.connecting': { ...withSession, 'session.opened': 'engaged.live.loadingTools' },
  'engaged.live.loadingTools': { ...withSession, 'session.listed': 'engaged.live.ready' },
  // A list that fails here leaves the old one in place; the session retries it.
  'engaged.live.ready': {
    ...withSession,
    'session.listed': 'noted',
    'session.listFailed': 'noted',
    // No call runs here that it could wait for.
    'server.relieve': 'engaged.live.closing',
    'server.relieved': 'engaged.live.closing',
    'server.idled': 'engaged.live.closing',
    'server.hung': 'noted',
    'server.refresh': 'noted',
    'probe.wanted': 'noted',
    'breaker.tripped': 'engaged.live.closing',
  },
  // Its end is waited for; a wish turns the wait into an orderly close.
  'engaged.live.ending': { ...withSession, 'session.closing': 'noted' },
  // Every wish is noted. The session has its own deadline, which none of them reaches.
  'engaged.live.closing': {
    ...withSession,
    'server.start': 'noted',
    'server.stop': 'noted',
    'server.restart': 'noted',
    'server.reconnect': 'noted',
    'server.retire': 'noted',
    'server.relieve': 'noted',
    'admission.withdrawn': 'noted',
    'session.closing': 'noted',
    'xstate.done.actor.session': 'engaged.queued',
  },
};

const showsNothing = {
  ...nothing,
  'server.stop': 'none',
  'server.retire': 'none',
  'admission.withdrawn': 'none',
  'server.gaveUp': 'none',
  'server.listed': 'live',
  'server.ended': 'ended',
} as const;

const catalog: Table<CatalogState, 'ended'> = {
  // Blocked here, with tools known from before: admitted again, it may show them.
  none: {
    ...showsNothing,
    'server.stop': 'noted',
    'server.retire': 'ended',
    'server.relieve': 'ended',
    'admission.granted': 'deferred',
    'admission.withdrawn': 'noted',
    'server.gaveUp': 'noted',
    'catalog.forgotten': 'noted',
  },
  deferred: { ...showsNothing, 'catalog.forgotten': 'none' },
  live: {
    ...showsNothing,
    'xstate.done.actor.session': 'stale',
    'xstate.error.actor.session': 'stale',
    'server.listed': 'noted',
    'server.idled': 'deferred',
  },
  // Backing off here, so the retirement is over at once.
  stale: {
    ...showsNothing,
    'server.retire': 'ended',
    'server.relieve': 'ended',
    'catalog.forgotten': 'none',
  },
};

const startsAfresh = {
  ...nothing,
  'server.start': 'closed',
  'server.restart': 'closed',
  'server.reconnect': 'closed',
  'server.rested': 'closed',
  'server.ended': 'ended',
} as const;

const circuit: Table<CircuitState, 'ended'> = {
  // One failed call before the threshold.
  closed: {
    ...startsAfresh,
    'server.start': 'noted',
    'server.restart': 'noted',
    'server.reconnect': 'noted',
    'server.rested': 'noted',
    'call.failed': 'open',
    'call.succeeded': 'noted',
  },
  open: startsAfresh,
  due: {
    ...startsAfresh,
    'session.listed': 'closed',
    'probe.began': 'halfOpen',
    // The last attempt: the server comes to a rest.
    'xstate.done.actor.session': 'closed',
    'xstate.error.actor.session': 'closed',
  },
  halfOpen: {
    ...startsAfresh,
    'session.listed': 'closed',
    'session.listFailed': 'open',
    'xstate.done.actor.session': 'open',
    'xstate.error.actor.session': 'open',
  },
};

/** No longer ready: no call is followed. */
const leavesReady = {
  ...nothing,
  'server.stop': 'unready',
  'server.restart': 'unready',
  'server.reconnect': 'unready',
  'server.retire': 'unready',
  'admission.withdrawn': 'unready',
  'session.closing': 'unready',
  'xstate.done.actor.session': 'unready',
  'xstate.error.actor.session': 'unready',
  'server.faltered': 'unready',
  'server.idled': 'unready',
  'server.relieved': 'unready',
  'breaker.tripped': 'unready',
  'server.ended': 'ended',
} as const;

const activity: Table<ActivityState, 'ended'> = {
  // Its first list makes it ready.
  unready: {
    ...nothing,
    'session.listed': 'idle',
    'server.listed': 'idle',
    'server.faltered': 'noted',
    'server.retire': 'noted',
    'server.ended': 'ended',
  },
  idle: {
    ...leavesReady,
    'calls.began': 'busy',
    // An edit may change how long the server may be idle, so the deadline starts again.
    'spec.updated': 'noted',
    'server.relieve': 'unready',
    'session.silent': 'noted',
  },
  busy: { ...leavesReady, 'calls.drained': 'idle', 'server.relieve': 'draining' },
  draining: {
    ...leavesReady,
    'calls.drained': 'unready',
    'xstate.done.actor.session': 'ended',
    'xstate.error.actor.session': 'ended',
    // A server that only finishes its calls exchanges no session.
    'breaker.tripped': 'ignored',
  },
};

describe.each(Object.entries({ connection, catalog, circuit, activity }))('%s', (name, table) => {
  const region = name as Region;
  const wayOf = ways[region] as Readonly<Record<string, Way>>;

  it.each(Object.entries(table))('handles every event in %s', (state, expected) => {
    const snapshot = reach(wayOf[state] ?? {});
    expect(stateIn(snapshot, region)).toBe(state);
    const replies = serverEventTypes.map((type) => [type, replyOf(region, snapshot, type)]);
    expect(Object.fromEntries(replies)).toEqual(expected);
  });
});
