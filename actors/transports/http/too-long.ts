/** Handles HTTP answers that are longer than the limit. */

import { type JSONRPCMessage, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

import { createEnvelopeReader } from '../connection/envelope.ts';
import { refusedAnswer, tooManyBytes } from '../connection/messages.ts';

// Whether it is a result or an error stands before the long part.
export const headBytes = 4_096;

/** The answer exceeds the limit, so the rest of it was not read. */
export class TooLongError extends SdkError {
  /** The beginning of the answer. */
  readonly head: Uint8Array;

  constructor(message: string, head: Uint8Array) {
    super(SdkErrorCode.ClientHttpUnexpectedContent, message);
    this.head = head;
  }
}

/**
 * The error answer that replaces it, if it certainly was an answer.
 *
 * @param id - the id of the request, if only one is possible
 */
export function tooLongAnswer(
  error: unknown,
  id: string | number | undefined,
): JSONRPCMessage | undefined {
  if (!(error instanceof TooLongError)) return undefined;
  const reader = createEnvelopeReader();
  reader.push(Buffer.from(error.head));
  return refusedAnswer({ ...(id !== undefined && { id }), ...reader.envelope() }, tooManyBytes)[0];
}
