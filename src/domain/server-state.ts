/**
 * The names of a server's states and reasons. They are a public contract: every interface (library,
 * command line, gateway, inspector) shows these and no others. The comments here are the tables of
 * `docs/states.md`.
 */

/** A server's public states. */
export const serverStates = [
  /** Switched off by `"enabled": false`. */
  'disabled',
  /** Not admitted; the reason says why. Nothing is started. */
  'blocked',
  /** Admitted and deliberately not started. */
  'dormant',
  /** Waits for a start permit, so that not all servers start at once. */
  'queued',
  /** The process runs, or the address is being contacted; the handshake is in progress. */
  'connecting',
  /** Connected; the tool list is being fetched. */
  'loadingTools',
  /** Connected, and its tools were listed in this session. */
  'ready',
  /** Like `ready`, but impaired; calls are sent. */
  'degraded',
  /** Lost or unreachable; the status shows the time of the next attempt. */
  'backingOff',
  /** The server requires a login. */
  'authRequired',
  /** Stopped because it connected and disconnected too often; not retried automatically. */
  'suspended',
  /** Not retried automatically. */
  'failed',
  /** The session is closing and the process ending. */
  'stopping',
  /** A user stopped it; it stays stopped until a user starts it. */
  'stopped',
] as const;
/** A server's public state. */
export type ServerState = (typeof serverStates)[number];

/** Why a server may not start. */
export const blockedReasons = [
  /** The host declared that files of this project folder do not count. */
  'untrusted',
  /** `mcp.excluded` of some settings file names it, or another rule leaves it out. */
  'excluded',
  /** There is an allow-list that does not contain it. */
  'notAllowed',
  /** A project folder brought it, and no user has approved its current form. */
  'pendingApproval',
  /** A project folder brought it, and a user rejected it. */
  'rejected',
  /** Its entry is invalid; `lastError` has file, line, key and the remedy. */
  'invalidConfig',
  /** The server budget is exhausted; it starts when a slot is free. */
  'overBudget',
] as const;
/** Why a server may not start. */
export type BlockedReason = (typeof blockedReasons)[number];

/** Why a server backs off. */
export const backingOffReasons = [
  /** An attempt of the current outage failed and more are left. */
  'retrying',
  /** A remote server used up its attempts; it is retried quietly and rarely. */
  'lost',
] as const;
/** Why a server backs off. */
export type BackingOffReason = (typeof backingOffReasons)[number];

/** Why a server is suspended. */
export const suspendedReasons = [
  /** Its process crashed too often within a short time. */
  'crashLoop',
  /** Its session was lost too often within a short time, or three floods in a row ended it. */
  'reconnectStorm',
] as const;
/** Why a server is suspended. */
export type SuspendedReason = (typeof suspendedReasons)[number];

/** Why a server is not retried automatically. */
export const failedReasons = [
  /** All attempts of one start or outage failed. */
  'attemptsExhausted',
  /** So many starts in a row failed the same way that the policy (`startup.sameExits`) makes no other. */
  'sameFailure',
  /** It lacks, or demands, an essential capability. */
  'capabilityMissing',
  /** It supports no protocol version that we support. */
  'versionUnsupported',
  /**
   * A variable, an input or a password that its settings name is not there, or its command does not
   * exist. It is tried again by the next call, a start, a change of its settings or a restart.
   */
  'notStartable',
  /** The session ended and the `restart` rule forbids another. */
  'restartNever',
  /** Its process crashed too often within a short time. */
  'crashLoop',
  /** Its session was lost too often within a short time. */
  'reconnectStorm',
] as const;
/** Why a server is not retried automatically. */
export type FailedReason = (typeof failedReasons)[number];

/** In order of precedence: if several apply, the first one is shown. */
export const degradedReasons = [
  /** It did not respond to a health check. */
  'healthCheck',
  /**
   * It sends more than is read (docs/guide.md#limits-and-policy). Excess notifications are dropped,
   * excess requests refused, and reading pauses; after 10 s over its budget, it is disconnected.
   */
  'flooding',
  /** A list of tools, resources or prompts failed or is incomplete; what it has is shown. */
  'partialCatalog',
] as const;
/** Why a ready server is degraded: it serves, but not fully. */
export type DegradedReason = (typeof degradedReasons)[number];

/** Refines a {@link ServerState}; which reasons go with which state is in {@link reasonsOf}. */
export type StateReason =
  | BlockedReason
  | BackingOffReason
  | SuspendedReason
  | FailedReason
  | DegradedReason;

/** The reasons that may accompany each state; an empty list means that the state needs none. */
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
// code that has only the state's name. The search through the chart compares both in every state.

/** Returns whether a server in this state takes calls: it is ready or degraded. */
export function isUsable(state: ServerState): boolean {
  return state === 'ready' || state === 'degraded';
}

const statesThatNeedUser: ReadonlySet<ServerState> = new Set([
  'blocked',
  'authRequired',
  'suspended',
  'failed',
]);

/** Returns whether a server in this state waits for a user's decision, fix or command. */
export function needsUser(state: ServerState): boolean {
  return statesThatNeedUser.has(state);
}

/** Returns whether a server in this state will not become ready by itself. */
export function isAtRest(state: ServerState): boolean {
  return needsUser(state) || state === 'disabled' || state === 'stopped';
}

const movingStates: ReadonlySet<ServerState> = new Set([
  'queued',
  'connecting',
  'loadingTools',
  'stopping',
]);

/** Returns whether a server in this state is on its way to another, however long that takes. */
export function isOnItsWay(state: ServerState): boolean {
  return movingStates.has(state);
}

/** States that need the user first, working servers last. */
export const statesByConcern: readonly ServerState[] = [
  'failed',
  'suspended',
  'authRequired',
  'blocked',
  'degraded',
  'backingOff',
  'connecting',
  'loadingTools',
  'queued',
  'stopping',
  'ready',
  'dormant',
  'stopped',
  'disabled',
];

/** Where the tools shown for a server come from. */
export const catalogStates = [
  /** No tools are shown: it may not run, is not needed, gave up, or none are known. */
  'none',
  /** The tools known from an earlier session, shown before the server starts. */
  'deferred',
  /** Listed in the current session. */
  'live',
  /** The session was lost; its tools stay listed until the next one. */
  'stale',
] as const;
/** Where the shown tools of a server come from. */
export type CatalogState = (typeof catalogStates)[number];

/** Whether calls reach a server. */
export const circuitStates = [
  /** Calls are sent. */
  'closed',
  /** Consecutive calls failed: further calls are refused at once with `CIRCUIT_OPEN`. */
  'open',
  /** The cool-down is over and our own tool list probes the server; calls are still refused. */
  'halfOpen',
] as const;
/** Whether calls reach a server: `closed` lets them pass, `open` refuses them, `halfOpen` probes. */
export type CircuitState = (typeof circuitStates)[number];

/**
 * What admission decides for one server: that it may connect, that it is switched off, or why it
 * may not.
 */
export type Verdict = 'admitted' | 'disabled' | BlockedReason;
