/**
 * The codes a caller compares, and the exit code of the command line for each.
 * Codes are stable; messages are not.
 */

/** Exit code of the command line for every caller code whose outcome is known. */
export const exitCodeOf = {
  USAGE: 2,
  INVALID_CONFIG: 2,
  SERVER_UNKNOWN: 2,
  TOOL_UNKNOWN: 2,
  SERVER_REMOVED: 2,
  INVALID_ARGUMENTS: 2,
  NOT_RUNNING: 3,
  CONNECTING: 4,
  TIMEOUT_WAITING: 4,
  BACKING_OFF: 5,
  UNAVAILABLE: 5,
  CIRCUIT_OPEN: 6,
  SUSPENDED: 6,
  OVERLOADED: 6,
  RATE_LIMITED: 6,
  NOT_ALLOWED: 7,
  EXCLUDED: 7,
  REJECTED: 7,
  UNTRUSTED: 7,
  DISABLED: 7,
  OVER_BUDGET: 7,
  PERMISSION_DENIED: 7,
  STOPPED: 7,
  FAILED: 8,
  CAPABILITY_MISSING: 8,
  VERSION_UNSUPPORTED: 8,
  PENDING_APPROVAL: 10,
  AUTH_REQUIRED: 11,
  TOOL_CHANGED: 12,
  CRASHED: 13,
  STREAM_LOST: 13,
  TIMEOUT: 13,
  CANCELLED: 13,
  SERVER_ERROR: 14,
  INPUT_REQUIRED: 14,
  RESULT_TOO_LARGE: 1,
  BAD_RESPONSE: 1,
  REDIRECT_BLOCKED: 1,
  ADDRESS_BLOCKED: 1,
  SHUTTING_DOWN: 1,
  INTERNAL: 1,
} as const;

export type CallerCode = keyof typeof exitCodeOf;

/**
 * What is known of a call that did not return: it never ran, it ran, or nobody
 * can tell. After the request left us it is `unknown` unless the answer proves
 * otherwise.
 */
export type Outcome = 'not_executed' | 'executed' | 'unknown';

/** An error as every face shows it. */
export interface ErrorDocument {
  readonly code: CallerCode;
  readonly server?: string;
  readonly tool?: string;
  readonly retryable: boolean;
  readonly outcome: Outcome;
  readonly retryAfterMs?: number;
  /** One plain sentence that ends with the next step. */
  readonly message: string;
}

/** The exit code of the command line for an error: 13 whenever the outcome is unknown. */
export function exitCodeFor(error: Pick<ErrorDocument, 'code' | 'outcome'>): number {
  return error.outcome === 'unknown' ? 13 : exitCodeOf[error.code];
}
