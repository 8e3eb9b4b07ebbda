/**
 * Reads a response's body: decompressed, counted after decompression, and read no faster than its
 * reader asks for. Every chunk is passed on at once, so that no event is delayed until the next
 * one.
 */

import type { IncomingMessage } from 'node:http';
import { PassThrough, pipeline, type Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
} from 'node:zlib';

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { ProtocolFault, unexpected } from '../../../src/protocol/errors.ts';
import { EnvelopeReader, refusedAnswer, tooManyBytes } from '../../../src/protocol/messages.ts';
import { maxMessageBytes } from '../connection/connection.ts';

// Compressing twice serves no one but an attacker.
const maxCodings = 2;

// The beginning of a response shows whether it is a result or an error.
export const headBytes = 4_096;

/** Creates the error for a body above the limit, of which this is the beginning. */
export function tooLong(head: Buffer): ProtocolFault {
  return unexpected('The server sent more than 16 MB.', { head: head.subarray(0, headBytes) });
}

/**
 * Returns the error that replaces a response above the limit; undefined for other errors, and if
 * the body may not have been a response.
 *
 * @param id - the request's id, if only one is possible
 */
export function tooLongAnswer(
  error: unknown,
  id: string | number | undefined,
): JSONRPCMessage | undefined {
  if (!(error instanceof ProtocolFault) || error.head === undefined) return undefined;
  const reader = new EnvelopeReader();
  reader.push(Buffer.from(error.head));
  return refusedAnswer({ ...(id !== undefined && { id }), ...reader.envelope() }, tooManyBytes)[0];
}

/** The codings that {@link openBody} can undo, as the value of `Accept-Encoding`. */
export const acceptedCodings = 'gzip, deflate, br';

/** Reads a body once. `explain` maps an error that interrupts it to the one its reader gets. */
export async function* openBody(
  message: IncomingMessage,
  explain: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array, void, undefined> {
  // The reader of an event stream limits each event.
  const limit = isEndless(message) ? Infinity : maxMessageBytes;
  let head: Buffer = Buffer.alloc(0);
  let readBytes = 0;
  try {
    // It broke off before anything read it.
    if (message.errored !== null) throw message.errored;
    for await (const chunk of decoded(message) as AsyncIterable<Buffer>) {
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes)]);
      readBytes += chunk.length;
      if (readBytes > limit) throw tooLong(head);
      yield chunk;
    }
  } catch (error) {
    // The message's own error explains why a decoder ended early.
    const reason = message.errored ?? error;
    throw isOfZlib(reason)
      ? unexpected('The compressed answer cannot be read.', { cause: reason })
      : explain(reason);
  } finally {
    message.destroy();
  }
}

function isEndless(message: IncomingMessage): boolean {
  const { statusCode = 0 } = message;
  return isEventStream(message) && statusCode >= 200 && statusCode < 300;
}

type WithHeaders = Pick<IncomingMessage, 'headers'>;

export function isEventStream({ headers }: WithHeaders): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') === true;
}

export function isJson({ headers }: WithHeaders): boolean {
  return headers['content-type']?.toLowerCase().startsWith('application/json') === true;
}

function decoded(message: IncomingMessage): Readable {
  const codings = (message.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0) return message;
  const decoders = codings.reverse().flatMap((coding) => decoderOf(coding) ?? []);
  if (codings.length > maxCodings || decoders.length < codings.length)
    throw unexpected('The server compressed its answer with a coding that was not requested.');
  if (codings[0] === 'deflate' && codings.length === 1) return inflated(message);
  // Reading from the last decoder reports the error.
  return pipeline([message, ...decoders], () => {}) as unknown as Readable;
}

/**
 * Chooses the decoder by the first byte, because many servers send raw deflate data under the name
 * of the wrapped format.
 */
function inflated(message: IncomingMessage): Readable {
  const end = new PassThrough();
  message.once('error', (error) => end.destroy(error));
  message.once('readable', () => {
    const head = message.read() as Buffer | null;
    if (head !== null) message.unshift(head);
    const isWrapped = ((head?.[0] ?? 0) & 0x0f) === 0x08;
    const decoder = isWrapped ? createInflate(flushed) : createInflateRaw(flushed);
    pipeline([message, decoder, end], () => {});
  });
  return end;
}

function isOfZlib(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    /^(?:Z_|ERR_(?:BROTLI|_ERROR))/u.test(String(error.code))
  );
}

// Flushes every chunk at once, and keeps the data if the trailer is missing.
const flushed = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const brotliFlushed = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};

function decoderOf(coding: string): Transform | undefined {
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip(flushed);
  if (coding === 'br') return createBrotliDecompress(brotliFlushed);
  return coding === 'deflate' ? createInflate(flushed) : undefined;
}
