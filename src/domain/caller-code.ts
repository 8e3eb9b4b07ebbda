/**
 * The codes that callers compare, and the command line's exit code for each. Codes are stable;
 * messages are not. The comments here are the tables of `docs/codes.md`.
 */

/** The command line's exit code for every caller code whose outcome is known. */
export const exitCodeOf = {
  /** The command line is invalid: an unknown flag, or two flags that exclude each other. */
  USAGE: 2,
  /** The server's entry in the settings is invalid. */
  INVALID_CONFIG: 2,
  /** No server has this name. */
  SERVER_UNKNOWN: 2,
  /** No tool has this name, or a filter hides it. */
  TOOL_UNKNOWN: 2,
  /** The server was removed from the settings. */
  SERVER_REMOVED: 2,
  /** The arguments do not have the expected shape. */
  INVALID_ARGUMENTS: 2,
  /** The command needs a running troupe, and there is none for this project and state folder. */
  NOT_RUNNING: 3,
  /** The server was still starting at the call's deadline. */
  CONNECTING: 4,
  /** The awaited state was not reached in time. */
  TIMEOUT_WAITING: 4,
  /** The server's next attempt is after the call's deadline; `retryAfterMs` says when. */
  BACKING_OFF: 5,
  /** The server could not be reached, or the request could not be written. */
  UNAVAILABLE: 5,
  /** Recent calls to the server failed, so calls are refused for a moment. */
  CIRCUIT_OPEN: 6,
  /** The server connected and disconnected too often and waits for a user. */
  SUSPENDED: 6,
  /** Too many calls to this server are running or queued. */
  OVERLOADED: 6,
  /** The server reported too many requests, or a limit in the settings is reached. */
  RATE_LIMITED: 6,
  /** An allow-list leaves this server out. */
  NOT_ALLOWED: 7,
  /** The settings exclude this server. */
  EXCLUDED: 7,
  /** A user rejected this server. */
  REJECTED: 7,
  /** Files in this project folder do not count. */
  UNTRUSTED: 7,
  /** The settings disable the server. */
  DISABLED: 7,
  /** The server budget is exhausted. */
  OVER_BUDGET: 7,
  /** A rule, the host or the user refused the call, or the system denied access. */
  PERMISSION_DENIED: 7,
  /** A user stopped the server. */
  STOPPED: 7,
  /** The server gave up and is not retried automatically. */
  FAILED: 8,
  /** The server lacks, or demands, an essential capability. */
  CAPABILITY_MISSING: 8,
  /** The server supports no protocol version that we support. */
  VERSION_UNSUPPORTED: 8,
  /** A project folder brought the server, and no user has approved it yet. */
  PENDING_APPROVAL: 10,
  /** The server requires a login. */
  AUTH_REQUIRED: 11,
  /** The tool's definition differs from the approved one, or from the one in the caller's catalog. */
  TOOL_CHANGED: 12,
  /** The server's process ended during the call. */
  CRASHED: 13,
  /** The connection broke during the call. */
  STREAM_LOST: 13,
  /** The server did not respond within the deadline. */
  TIMEOUT: 13,
  /** The caller cancelled the call, or its server stopped or its session closed in the meantime. */
  CANCELLED: 13,
  /** The server returned a JSON-RPC error. */
  SERVER_ERROR: 14,
  /** The server asks a question before it responds, and nothing could answer it. */
  INPUT_REQUIRED: 14,
  /** The result exceeds the size limits. */
  RESULT_TOO_LARGE: 1,
  /** The server's response is invalid. */
  BAD_RESPONSE: 1,
  /** The server redirected to another origin, which is not followed. */
  REDIRECT_BLOCKED: 1,
  /** Connections to the server's address are forbidden. */
  ADDRESS_BLOCKED: 1,
  /** The troupe is stopping. */
  SHUTTING_DOWN: 1,
  /** A bug in mcp-troupe; please report it. */
  INTERNAL: 1,
} as const;

/** A stable code for what went wrong; its comment in `exitCodeOf` says what that is. */
export type CallerCode = keyof typeof exitCodeOf;

/**
 * Whether a call ran. Once the request is sent, it is `unknown` unless the response proves
 * otherwise.
 */
export type Outcome =
  /**
   * The call did not run: no byte of it was sent, or the response's HTTP status is defined to mean
   * that. It may be repeated.
   */
  | 'not_executed'
  /** The call ran, and the server confirmed it. */
  | 'executed'
  /** The request was sent and nothing proves whether it ran. Check before you call again. */
  | 'unknown';

/** An error as every interface shows it. */
export interface ErrorDocument {
  /** Stable; compare this and not the message. */
  readonly code: CallerCode;
  /** The server that it is about; absent if it is about none. */
  readonly server?: string;
  /** The tool's exposed name, for calls. */
  readonly tool?: string;
  /** Whether the same request may succeed later without a change by the user. */
  readonly retryable: boolean;
  /** Whether the call ran. */
  readonly outcome: Outcome;
  /** How long to wait before the next try, in milliseconds, if that is known. */
  readonly retryAfterMs?: number;
  /** One plain sentence that ends with the next step. */
  readonly message: string;
}

/** Returns the command line's exit code for an error: 13 whenever the outcome is unknown. */
export function exitCodeFor(error: Pick<ErrorDocument, 'code' | 'outcome'>): number {
  return error.outcome === 'unknown' ? 13 : exitCodeOf[error.code];
}
