/** What is told of an answer over HTTP that is longer than anything is read. */

import { type JSONRPCMessage, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

import { createEnvelopeReader } from '../connection/envelope.ts';
import { refusedAnswer, tooManyBytes } from '../connection/messages.ts';

// Whether it is a result or an error stands before what makes it long.
export const headBytes = 4_096;

/** Reading was broken off; the rest of it is never seen. */
export class TooLongError extends SdkError {
  /** How it began. */
  readonly head: Uint8Array;

  constructor(message: string, head: Uint8Array) {
    super(SdkErrorCode.ClientHttpUnexpectedContent, message);
    this.head = head;
  }
}

/**
 * The answer that a request gets in its place, when it is certain that it was one.
 *
 * @param id - of the request, where only one can be meant
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
