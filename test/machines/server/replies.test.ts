/**
 * What each state of the server chart does with each event, said on purpose.
 *
 * A reply is the state that the event leads to, `noted` when the event is taken in
 * and the state stays, or `ignored`. A new state or event does not compile until
 * it has its answers here.
 */

import { describe, expect, it } from 'vitest';
import {
  type CatalogState,
  type CircuitState,
  type ConnectionState,
  type ReadyState,
  reach,
  replyOf,
  type ServerEventType,
  serverEventTypes,
  statesIn,
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
  'session.probed': 'ignored',
  'session.notified': 'ignored',
  'session.impaired': 'ignored',
  'session.recovered': 'ignored',
  'session.paused': 'ignored',
  'session.resumed': 'ignored',
  'session.lost': 'ignored',
  'session.closed': 'ignored',
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
  'server.idled': 'ignored',
  'server.relieved': 'ignored',
  'look.failed': 'ignored',
  'server.hung': 'ignored',
  'server.flooded': 'ignored',
  'server.gaveUp': 'ignored',
  'server.rested': 'ignored',
  'server.ended': 'ignored',
  'session.abandoned': 'ignored',
  'probe.wanted': 'ignored',
  'probe.began': 'ignored',
  'breaker.tripped': 'ignored',
} as const;
const noCommands = {
  'server.start': 'ignored',
  'server.stop': 'ignored',
  'server.restart': 'ignored',
  'server.reconnect': 'ignored',
  'server.retire': 'ignored',
  'server.relieve': 'ignored',
  'server.demanded': 'ignored',
  'admission.granted': 'ignored',
  'admission.withdrawn': 'ignored',
  'spec.updated': 'ignored',
  'slot.granted': 'ignored',
  'catalog.forgotten': 'ignored',
  'server.woke': 'ignored',
} as const;
const nothing = { ...noCommands, ...noFacts, ...noCalls, ...noWord } as const;

/** Whoever may not run notes every wish, and follows it once admitted. */
const notAdmitted = {
  ...nothing,
  'server.start': 'noted',
  'server.stop': 'noted',
  'server.restart': 'noted',
  'server.reconnect': 'noted',
  'server.retire': 'retired',
  'server.relieve': 'retired',
  'admission.granted': 'engaged.starting.queued',
  'admission.withdrawn': 'parked.blocked.rejected',
  'spec.updated': 'noted',
} as const;

/** At rest without a session: every wish of a person is followed at once. */
const atRest = {
  ...nothing,
  'server.start': 'engaged.starting.queued',
  'server.stop': 'parked.stopped',
  'server.restart': 'engaged.starting.queued',
  'server.reconnect': 'engaged.starting.queued',
  'server.retire': 'retired',
  'server.relieve': 'retired',
  'admission.granted': 'noted',
  'admission.withdrawn': 'parked.blocked.rejected',
  'spec.updated': 'noted',
} as const;

/** With a session: whatever ends it goes through closing. A start is granted already. */
const withSession = {
  ...nothing,
  'server.stop': 'engaged.closing',
  'server.restart': 'engaged.closing',
  'server.reconnect': 'engaged.closing',
  'server.retire': 'engaged.closing',
  'server.relieve': 'engaged.closing',
  'server.demanded': 'noted',
  'admission.granted': 'noted',
  'admission.withdrawn': 'engaged.closing',
  'spec.updated': 'noted',
  'session.impaired': 'noted',
  'session.recovered': 'noted',
  'session.closed': 'parked.backingOff.retrying',
} as const;

/** Nobody could be heard while the machine slept: each deadline begins anew. */
const starting = { ...withSession, 'server.woke': 'noted' } as const;

const connection: Table<ConnectionState, 'retired'> = {
  'parked.disabled': notAdmitted,
  'parked.blocked.untrusted': notAdmitted,
  'parked.blocked.excluded': notAdmitted,
  'parked.blocked.notAllowed': notAdmitted,
  'parked.blocked.pendingApproval': notAdmitted,
  'parked.blocked.rejected': { ...notAdmitted, 'admission.withdrawn': 'noted' },
  'parked.blocked.invalidConfig': notAdmitted,
  'parked.blocked.overBudget': notAdmitted,
  'parked.dormant': { ...atRest, 'server.demanded': 'engaged.starting.queued' },
  // A demand does not shorten the wait, it only outlives it.
  'parked.backingOff.retrying': { ...atRest, 'server.demanded': 'noted', 'server.woke': 'noted' },
  'parked.backingOff.lost': { ...atRest, 'server.demanded': 'noted', 'server.woke': 'noted' },
  'parked.authRequired': atRest,
  'parked.suspended.crashLoop': atRest,
  'parked.suspended.reconnectStorm': atRest,
  // The edit of this table allows more attempts, and restarts.
  'parked.failed.attemptsExhausted': { ...atRest, 'spec.updated': 'parked.backingOff.retrying' },
  'parked.failed.restartNever': { ...atRest, 'spec.updated': 'parked.backingOff.retrying' },
  'parked.failed.capabilityMissing': atRest,
  'parked.failed.versionUnsupported': atRest,
  'parked.failed.crashLoop': atRest,
  'parked.failed.reconnectStorm': atRest,
  // Only a start or a restart takes a stop back.
  'parked.stopped': { ...atRest, 'server.stop': 'noted', 'server.reconnect': 'noted' },
  'engaged.starting.queued': { ...starting, 'slot.granted': 'engaged.starting.connecting' },
  'engaged.starting.connecting': {
    ...starting,
    'session.opened': 'engaged.starting.loadingTools',
  },
  'engaged.starting.loadingTools': {
    ...starting,
    'session.listed': 'engaged.ready',
    'session.listFailed': 'engaged.closing',
    'session.notified': 'noted',
  },
  // A list that fails here leaves the old one in place, and is asked for again.
  'engaged.ready': {
    ...withSession,
    'session.listed': 'noted',
    'session.listFailed': 'noted',
    'session.notified': 'noted',
    'calls.began': 'noted',
    'session.lost': 'engaged.ending',
    'server.idled': 'engaged.closing',
    'probe.wanted': 'noted',
    'breaker.tripped': 'engaged.closing',
    'server.hung': 'engaged.closing',
    'server.flooded': 'engaged.closing',
    'session.paused': 'noted',
    'server.relieved': 'engaged.closing',
    'server.woke': 'noted',
  },
  // Its end is waited for; a wish turns the wait into an orderly close.
  'engaged.ending': withSession,
  // Every wish is noted, and none restarts the deadline of the kill.
  'engaged.closing': {
    ...withSession,
    'server.start': 'noted',
    'server.stop': 'noted',
    'server.restart': 'noted',
    'server.reconnect': 'noted',
    'server.retire': 'noted',
    'server.relieve': 'noted',
    'admission.withdrawn': 'noted',
    'session.closed': 'engaged.starting.queued',
  },
};

const leavesReady = {
  ...nothing,
  'server.stop': 'left',
  'server.restart': 'left',
  'server.reconnect': 'left',
  'server.retire': 'left',
  'admission.withdrawn': 'left',
  'session.lost': 'left',
  'session.closed': 'left',
  'server.idled': 'left',
  'breaker.tripped': 'left',
  'server.hung': 'left',
  'server.flooded': 'left',
  'server.relieve': 'left',
  'server.relieved': 'left',
} as const;

/** Awake again: whatever was asked before, it is asked anew. */
const isWoken = { ...leavesReady, 'server.woke': 'watch.waking' } as const;

const ready: Table<ReadyState, 'left'> = {
  'health.steady': { ...leavesReady, 'session.impaired': 'health.degraded' },
  'health.degraded': { ...leavesReady, 'session.recovered': 'health.steady' },
  'watch.unwatched': { ...isWoken, 'spec.updated': 'noted' },
  // The edit of this table switches the looks off.
  'watch.resting': { ...isWoken, 'spec.updated': 'watch.unwatched', 'session.probed': 'noted' },
  'watch.looking': { ...isWoken, 'session.probed': 'watch.resting' },
  'watch.waking': { ...leavesReady, 'session.probed': 'noted' },
  'watch.lookingAfterWaking': { ...isWoken, 'session.probed': 'watch.unwatched' },
  'watch.doubting': { ...isWoken, 'session.probed': 'watch.unwatched' },
  'input.flowing': { ...leavesReady, 'session.paused': 'input.paused' },
  'input.paused': { ...leavesReady, 'session.resumed': 'input.flowing' },
  'listing.current': { ...leavesReady, 'session.listFailed': 'listing.outdated' },
  'listing.outdated': {
    ...leavesReady,
    'session.listed': 'listing.current',
    'session.listFailed': 'noted',
  },
  // An edit may change how long idle may last, so the deadline begins again.
  'activity.idle': {
    ...leavesReady,
    'calls.began': 'activity.busy',
    'spec.updated': 'noted',
    'look.failed': 'left',
  },
  'activity.busy': {
    ...leavesReady,
    'calls.drained': 'activity.idle',
    'server.relieve': 'activity.draining',
  },
  'activity.draining': {
    ...leavesReady,
    'calls.drained': 'left',
    // Told already; and whoever only finishes its calls exchanges no session.
    'server.relieve': 'noted',
    'breaker.tripped': 'noted',
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
    'session.closed': 'stale',
    'session.abandoned': 'stale',
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
    'session.closed': 'closed',
  },
  halfOpen: {
    ...startsAfresh,
    'session.listed': 'closed',
    'session.listFailed': 'open',
    'session.closed': 'open',
  },
};

describe.each(Object.entries({ connection, ready, catalog, circuit }))('%s', (region, table) => {
  const part = region as keyof typeof ways;
  const wayOf = ways[part] as Readonly<Record<string, Way>>;

  it.each(Object.entries(table))('answers every event in %s', (state, expected) => {
    const snapshot = reach(wayOf[state] ?? {});
    expect(statesIn(snapshot, part)).toContain(state);
    const replies = serverEventTypes.map((type) => [type, replyOf(part, state, snapshot, type)]);
    expect(Object.fromEntries(replies)).toEqual(expected);
  });
});
