/**
 * What can go wrong with a session, told apart by what to do next. Failures are
 * values: they travel in events and end up, redacted, in the status.
 */

export const failureKinds = [
  'transport',
  'unavailable',
  'crashed',
  'cleanExit',
  'initTimeout',
  'initNotification',
  'capabilityMissing',
  'versionUnsupported',
  'authRequired',
  'sessionMissing',
  'rateLimited',
  'protocol',
  'notStarted',
  'unknown',
] as const;
export type FailureKind = (typeof failureKinds)[number];

/** One error in the chain of those that led to a failure. */
export interface FailureCause {
  readonly name?: string;
  /** Code of Node, undici or the SDK, for example `ECONNREFUSED`. */
  readonly code?: string;
  readonly message: string;
}

/** What a caller compares when a request was not let go where it was meant to go. */
export type BlockedCode = 'ADDRESS_BLOCKED' | 'REDIRECT_BLOCKED';

/** One failure of a session. Plain data, bounded, without secrets. */
export interface Failure {
  readonly kind: FailureKind;
  /** One plain sentence, at most 500 characters, printable on a terminal. */
  readonly message: string;
  /** The code shown to callers, where the kind alone would not tell it. */
  readonly code?: BlockedCode;
  /** What led to it, nearest first; at most 8, each of at most 200 characters. */
  readonly causes?: readonly FailureCause[];
  /** Exit code of the process, when it ended by itself. */
  readonly exitCode?: number;
  /** Signal that ended the process, for example `SIGKILL`. */
  readonly signal?: string;
  /** Last lines the process wrote to stderr, oldest first, redacted. */
  readonly stderrTail?: readonly string[];
  /** HTTP status of the answer that told of it. */
  readonly httpStatus?: number;
  /** How long the peer asked us to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

const permanentKinds: ReadonlySet<FailureKind> = new Set([
  'capabilityMissing',
  'versionUnsupported',
  'authRequired',
]);

/** Says whether trying again without a person's help is pointless. */
export function isPermanent(kind: FailureKind): boolean {
  return permanentKinds.has(kind);
}

/** Says whether another attempt may well succeed. `notStarted` and `unknown` are neither. */
export function isTransient(kind: FailureKind): boolean {
  return !permanentKinds.has(kind) && kind !== 'notStarted' && kind !== 'unknown';
}

// "Come back later" in its several forms: too slow, too many, broken, overloaded.
const busyStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Says whether a peer answered that it can do nothing for us at the moment. */
export function isBusy({ httpStatus }: Failure): boolean {
  return httpStatus !== undefined && busyStatuses.has(httpStatus);
}
