/**
 * Failures of a session, classified by what to do next. Failures are values: they
 * travel in events and end up, redacted, in the status.
 */

export const failureKinds = [
  /** The connection broke, or a request over it was not answered in time. */
  'transport',
  /** The program or the address could not be reached, or the server answered 5xx. */
  'unavailable',
  /** The process ended by a signal or an exit code, except for a clean exit of a ready server. */
  'crashed',
  /** The process of a ready server ended with exit code 0. */
  'cleanExit',
  /** The handshake or the tool list did not finish in time. */
  'initTimeout',
  /** The last message of the handshake could not be delivered. */
  'initNotification',
  /** The server lacks an essential capability. */
  'capabilityMissing',
  /** There is no common version of the protocol. */
  'versionUnsupported',
  /** The server answered 401 or 403, or a log-in failed. */
  'authRequired',
  /** The server no longer knows the session; a new one is opened. */
  'sessionMissing',
  /** The server answered 429; its `Retry-After` is honoured within bounds. */
  'rateLimited',
  /** The answer violates the protocol. */
  'protocol',
  /**
   * Nothing was tried, and no attempt is counted: no start permit came, this process or machine ran
   * out of file descriptors or processes, or the entry is invalid.
   */
  'notStarted',
  /** No rule matches. */
  'unknown',
] as const;
export type FailureKind = (typeof failureKinds)[number];

/** One error in the chain that led to a failure. */
export interface FailureCause {
  readonly name?: string;
  /** Code of Node, undici or the SDK, for example `ECONNREFUSED`. */
  readonly code?: string;
  readonly message: string;
}

/** The caller code of a request that was stopped before it reached its destination. */
export type BlockedCode = 'ADDRESS_BLOCKED' | 'REDIRECT_BLOCKED';

/** One failure of a session. Plain data, bounded, without secrets. */
export interface Failure {
  readonly kind: FailureKind;
  /** One plain sentence, at most 500 characters, printable on a terminal. */
  readonly message: string;
  /** The caller code, where the kind does not determine it. */
  readonly code?: BlockedCode;
  /** Its causes, nearest first; at most 8, each of at most 200 characters. */
  readonly causes?: readonly FailureCause[];
  /** Exit code of the process, when it ended by itself. */
  readonly exitCode?: number;
  /** Signal that ended the process, for example `SIGKILL`. */
  readonly signal?: string;
  /** Last lines the process wrote to stderr, oldest first, redacted. */
  readonly stderrTail?: readonly string[];
  /** HTTP status of the answer that reported it. */
  readonly httpStatus?: number;
  /** How long the peer asked us to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

const permanentKinds: ReadonlySet<FailureKind> = new Set([
  'capabilityMissing',
  'versionUnsupported',
  'authRequired',
]);

/** Returns whether a retry without the user's help is pointless. */
export function isPermanent(kind: FailureKind): boolean {
  return permanentKinds.has(kind);
}

/** Returns whether a retry may succeed. `notStarted` and `unknown` are neither. */
export function isTransient(kind: FailureKind): boolean {
  return !permanentKinds.has(kind) && kind !== 'notStarted' && kind !== 'unknown';
}

// "Come back later" in its several forms: too slow, too many, broken, overloaded.
const busyStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Returns whether a peer answered that it is temporarily unable to serve. */
export function isBusy({ httpStatus }: Failure): boolean {
  return httpStatus !== undefined && busyStatuses.has(httpStatus);
}
