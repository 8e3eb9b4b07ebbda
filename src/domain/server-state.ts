/**
 * The words a server's condition is told in. They are a public contract: every
 * face (library, command line, gateway, inspector) shows these and no others.
 */

export const serverStates = [
  'disabled',
  'blocked',
  'dormant',
  'queued',
  'connecting',
  'loadingTools',
  'ready',
  'degraded',
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
  'stopping',
  'stopped',
] as const;
export type ServerState = (typeof serverStates)[number];

export const blockedReasons = [
  'untrusted',
  'excluded',
  'notAllowed',
  'pendingApproval',
  'rejected',
  'invalidConfig',
  'overBudget',
] as const;
export type BlockedReason = (typeof blockedReasons)[number];

export const backingOffReasons = ['retrying', 'lost'] as const;
export type BackingOffReason = (typeof backingOffReasons)[number];

export const suspendedReasons = ['crashLoop', 'reconnectStorm'] as const;
export type SuspendedReason = (typeof suspendedReasons)[number];

export const failedReasons = [
  'attemptsExhausted',
  'capabilityMissing',
  'versionUnsupported',
  'restartNever',
  'crashLoop',
  'reconnectStorm',
] as const;
export type FailedReason = (typeof failedReasons)[number];

/** In this order: when several hold, the first is the one shown. */
export const degradedReasons = ['healthCheck', 'flooding', 'partialCatalog'] as const;
export type DegradedReason = (typeof degradedReasons)[number];

/** Refines a {@link ServerState}; which reasons go with which state is in {@link reasonsOf}. */
export type StateReason =
  | BlockedReason
  | BackingOffReason
  | SuspendedReason
  | FailedReason
  | DegradedReason;

/** The reasons that may accompany each state; an empty list means the state needs none. */
export const reasonsOf: Readonly<Record<ServerState, readonly StateReason[]>> = {
  disabled: [],
  blocked: blockedReasons,
  dormant: [],
  queued: [],
  connecting: [],
  loadingTools: [],
  ready: [],
  degraded: degradedReasons,
  backingOff: backingOffReasons,
  authRequired: [],
  suspended: suspendedReasons,
  failed: failedReasons,
  stopping: [],
  stopped: [],
};

// The four predicates below are the chart's tags `usable`, `needsUser`, `atRest` and `busy`, for
// where only the word is at hand. The search through the chart compares both in every state.

/** Says whether a server in this state takes calls: it is ready, degraded or not. */
export function isUsable(state: ServerState): boolean {
  return state === 'ready' || state === 'degraded';
}

const statesThatNeedUser: ReadonlySet<ServerState> = new Set([
  'blocked',
  'authRequired',
  'suspended',
  'failed',
]);

/** Says whether a server in this state waits for a user's decision, repair or command. */
export function needsUser(state: ServerState): boolean {
  return statesThatNeedUser.has(state);
}

/** Says whether a server in this state will not become ready by itself. */
export function isAtRest(state: ServerState): boolean {
  return needsUser(state) || state === 'disabled' || state === 'stopped';
}

const movingStates: ReadonlySet<ServerState> = new Set([
  'queued',
  'connecting',
  'loadingTools',
  'stopping',
]);

/** Says whether a server in this state is on its way to another, however long it takes. */
export function isOnItsWay(state: ServerState): boolean {
  return movingStates.has(state);
}

/** Where the tools shown for a server come from. */
export const catalogStates = ['none', 'deferred', 'live', 'stale'] as const;
export type CatalogState = (typeof catalogStates)[number];

export const circuitStates = ['closed', 'open', 'halfOpen'] as const;
export type CircuitState = (typeof circuitStates)[number];

/** What admission says of one server: it may connect, it is switched off, or why it may not. */
export type Verdict = 'admitted' | 'disabled' | BlockedReason;
