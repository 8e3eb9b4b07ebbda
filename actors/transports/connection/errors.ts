/**
 * Errors of the protocol layer. Their codes are those of the SDK's errors, which hosts' failure rules
 * may name.
 */

export class ProtocolFault extends Error {
  override readonly name: string = 'ProtocolFault';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** A response that violates HTTP or MCP. */
export class UnexpectedAnswerError extends ProtocolFault {
  constructor(message: string, cause?: unknown) {
    super('CLIENT_HTTP_UNEXPECTED_CONTENT', message, cause);
  }
}

/** What a refused HTTP request was answered with. */
export interface RefusalDetails {
  readonly status: number;
  readonly statusText?: string | undefined;
  /** The body. */
  readonly text?: string | undefined;
  /** Whether it says how to log in. */
  readonly hasChallenge?: boolean;
}

/** An HTTP response with an error status. */
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

/** A JSON-RPC error response. */
export class AnsweredError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
