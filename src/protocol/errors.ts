/**
 * Errors of the protocol layer. Their codes are those of the SDK's errors, which hosts' failure rules
 * may name.
 */

interface FaultDetails extends ErrorOptions {
  /** The beginning of a response that exceeds the limit, so that the rest was not read. */
  readonly head?: Uint8Array;
}

export class ProtocolFault extends Error {
  override readonly name: string = 'ProtocolFault';
  readonly code: string;
  readonly head: Uint8Array | undefined;

  constructor(code: string, message: string, { head, ...options }: FaultDetails = {}) {
    super(message, options);
    this.code = code;
    this.head = head;
  }
}

const unexpectedContent = 'CLIENT_HTTP_UNEXPECTED_CONTENT';

/** Creates the error for a response that violates HTTP or MCP. */
export function unexpected(message: string, details?: FaultDetails): ProtocolFault {
  return new ProtocolFault(unexpectedContent, message, details);
}

export function isUnexpected(error: unknown): boolean {
  return error instanceof ProtocolFault && error.code === unexpectedContent;
}

/** The response to a refused HTTP request. */
export interface RefusalDetails {
  readonly status: number;
  readonly statusText?: string | undefined;
  /** The body. */
  readonly text?: string | undefined;
  /** Whether it says how to log in. */
  readonly hasChallenge?: boolean;
}

/** An HTTP response with an error status, or one to a WebSocket that was not opened. */
export class RefusedError extends ProtocolFault {
  override readonly name = 'RefusedError';
  readonly data: RefusalDetails;

  constructor(message: string, data: RefusalDetails, code = 'CLIENT_HTTP_NOT_IMPLEMENTED') {
    super(code, message);
    this.data = data;
  }

  get status(): number {
    return this.data.status;
  }
}

/** Rejects a message before any byte of it is sent. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
  readonly code = 'NOT_SENT';
  /** Whether it cannot be serialized as JSON, for example because it contains itself. */
  readonly isUnwritable: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUnwritable?: boolean } = {}) {
    super(message, options);
    this.isUnwritable = options.isUnwritable ?? false;
  }
}
