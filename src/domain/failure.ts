/**
 * Session failures, classified by what to do next. Failures are values: they travel in events and
 * appear, redacted, in the status.
 */

/** Why a start, session or call failed. */
export const failureKinds = [
  /** The connection broke, or a request over it got no response in time. */
  'transport',
  /** The program or the address could not be reached, or the server responded with 5xx. */
  'unavailable',
  /** The process ended by a signal or an exit code, except for a clean exit of a ready server. */
  'crashed',
  /** A ready server's process ended with exit code 0. */
  'cleanExit',
  /** The handshake or the tool list did not finish in time. */
  'initTimeout',
  /** The handshake's last message could not be delivered. */
  'initNotification',
  /** The server lacks an essential capability. */
  'capabilityMissing',
  /** There is no common protocol version. */
  'versionUnsupported',
  /** The server responded with 401 or 403, or a login failed. */
  'authRequired',
  /** The server no longer knows the session; a new one is opened. */
  'sessionMissing',
  /** The server responded with 429; its `Retry-After` is honoured within bounds. */
  'rateLimited',
  /** The response violates the protocol. */
  'protocol',
  /**
   * Nothing was tried, and no attempt is counted: no start permit was granted, this process or
   * machine ran out of file descriptors or processes, or the entry is invalid.
   */
  'notStarted',
  /** No rule matches. */
  'unknown',
] as const;
/** Why a start, session or call failed. It decides whether a retry can help. */
export type FailureKind = (typeof failureKinds)[number];

/** One error in the chain that led to a failure. */
export interface FailureCause {
  /** The error's name, for example `TypeError`. */
  readonly name?: string;
  /** Code from Node, undici or the SDK, for example `ECONNREFUSED`. */
  readonly code?: string;
  /** One line without secrets. */
  readonly message: string;
}

/** The caller code of a request that was stopped before it reached its destination. */
export type BlockedCode = 'ADDRESS_BLOCKED' | 'REDIRECT_BLOCKED';

/** What a start needs and only the user can provide. */
export interface Missing {
  /** `reference`: it refers to what this host cannot provide. */
  readonly what: 'variable' | 'command' | 'input' | 'password' | 'reference';
  /** Its name, as the settings refer to it. */
  readonly name: string;
}

/** One failure of a session: plain data, bounded, without secrets. */
export interface Failure {
  /** What failed; it decides whether a retry can help. */
  readonly kind: FailureKind;
  /** One plain sentence, at most 500 characters, printable on a terminal. */
  readonly message: string;
  /** The caller code, where the kind does not determine it. */
  readonly code?: BlockedCode;
  /** The failure's causes, nearest first; at most 8, each of at most 200 characters. */
  readonly causes?: readonly FailureCause[];
  /** Exit code of the process, if it exited on its own. */
  readonly exitCode?: number;
  /** Signal that ended the process, for example `SIGKILL`. */
  readonly signal?: string;
  /** Last lines that the process wrote to stderr, oldest first, redacted. */
  readonly stderrTail?: readonly string[];
  /** What the server's process wrote about it. */
  readonly explanation?: string;
  /** What is missing, when the same start cannot succeed. */
  readonly missing?: Missing;
  /**
   * What in the entry may be wrong: the address, which did not answer as an MCP server does (404, 405, a
   * web page), or the era, about which the two sides did not agree.
   */
  readonly suspect?: 'url' | 'era';
  /** HTTP status of the response that reported it. */
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

// "Come back later" in its various forms: too slow, too many, broken, overloaded.
const busyStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529]);

/** Returns whether a peer reported that it is temporarily unable to serve. */
export function isBusy({ httpStatus }: Failure): boolean {
  return httpStatus !== undefined && busyStatuses.has(httpStatus);
}
