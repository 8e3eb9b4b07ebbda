import type { CallerCode, ErrorDocument, Outcome } from './caller-code.ts';

/** What a `TroupeError` says besides its code. Default: not retryable, not executed. */
export interface TroupeErrorDetails {
  /** The server that it is about. Default: none. */
  readonly server?: string | undefined;
  /** The tool's exposed name, for calls. Default: none. */
  readonly tool?: string | undefined;
  /** Whether a retry may succeed. Default: false. */
  readonly retryable?: boolean | undefined;
  /** Whether the call ran. Default: `not_executed`. */
  readonly outcome?: Outcome | undefined;
  /** How long to wait before the next try, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The code of the JSON-RPC error that the server returned. Default: none. */
  readonly rpcCode?: number | undefined;
  /** The server's further details, at most 4 KB as JSON. Default: none. */
  readonly rpcData?: Readonly<Record<string, unknown>> | undefined;
  /** The error behind it. */
  readonly cause?: unknown;
}

/**
 * The only error class that the public API throws. Compare `code`, never the message: codes are
 * stable, messages are for users.
 */
export class TroupeError extends Error implements ErrorDocument {
  /** Stable; compare this and not the message. */
  readonly code: CallerCode;
  /** Whether the same request may succeed later without a change by the user. */
  readonly retryable: boolean;
  /** Whether the call ran. */
  readonly outcome: Outcome;
  /** The server that it is about; absent if it is about none. */
  readonly server?: string;
  /** The tool's exposed name, for calls. */
  readonly tool?: string;
  /** How long to wait before the next try, in milliseconds, if that is known. */
  readonly retryAfterMs?: number;
  /** The code of the JSON-RPC error that the server returned; only for `SERVER_ERROR`. */
  readonly rpcCode?: number;
  /** The server's further details, unchanged, at most 4 KB as JSON. */
  readonly rpcData?: Readonly<Record<string, unknown>>;

  constructor(code: CallerCode, message: string, details: TroupeErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TroupeError';
    this.code = code;
    this.retryable = details.retryable ?? false;
    this.outcome = details.outcome ?? 'not_executed';
    if (details.server !== undefined) this.server = details.server;
    if (details.tool !== undefined) this.tool = details.tool;
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.rpcCode !== undefined) this.rpcCode = details.rpcCode;
    if (details.rpcData !== undefined) this.rpcData = details.rpcData;
  }

  /** Returns the error as plain data, in the shape that every interface prints. */
  toJSON(): ErrorDocument {
    return {
      code: this.code,
      ...(this.server === undefined ? {} : { server: this.server }),
      ...(this.tool === undefined ? {} : { tool: this.tool }),
      retryable: this.retryable,
      outcome: this.outcome,
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
      message: this.message,
    };
  }
}
