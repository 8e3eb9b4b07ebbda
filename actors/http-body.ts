/**
 * The body of an answer as a web stream: decompressed, counted after that, and
 * read only as fast as it is asked for. Whatever arrives is passed on at once,
 * so no event of a stream waits for the next.
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

import { SdkError, SdkErrorCode } from '@modelcontextprotocol/client';

import { maxMessageBytes } from './session-connection.ts';

// Nobody compresses what is compressed, except to see what the reader does.
const maxCodings = 2;

/** What {@link openBody} can undo; the value of the header with which it is asked for. */
export const acceptedCodings = 'gzip, deflate, br';

function unusable(message: string, cause?: unknown): SdkError {
  const error = new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, message);
  return cause === undefined ? error : Object.assign(error, { cause });
}

/** `explain` turns what breaks the stream off into what its reader is told. */
export function openBody(
  message: IncomingMessage,
  explain: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const isStream = isEventStream(message);
  const fits = isStream ? createEventCounter() : createByteCounter();
  let isOver = false;
  const fail = (controller: ReadableStreamDefaultController, error: unknown): void => {
    if (isOver) return;
    isOver = true;
    message.destroy();
    controller.error(error);
  };
  let source: Readable | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (message.errored !== null) {
          fail(controller, explain(message.errored));
          return;
        }
        source = decoded(message, (error) => fail(controller, explain(error)));
        source.on('data', (chunk: Buffer) => {
          if (isOver) return;
          if (!fits(chunk)) {
            fail(controller, unusable('The server sent more than 16 MB.'));
            return;
          }
          controller.enqueue(chunk);
          if ((controller.desiredSize ?? 0) <= 0) source?.pause();
        });
        source.once('end', () => {
          if (isOver) return;
          isOver = true;
          controller.close();
        });
        source.pause();
      },
      pull() {
        source?.resume();
      },
      cancel() {
        isOver = true;
        message.destroy();
      },
    },
    // Nothing is read ahead: what nobody asks for stays in the buffers of the system.
    { highWaterMark: 0 },
  );
}

export function isEventStream({ headers }: IncomingMessage): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') === true;
}

function decoded(message: IncomingMessage, onError: (error: unknown) => void): Readable {
  const codings = (message.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
  message.on('error', onError);
  if (codings.length === 0) return message;
  const decoders = codings.reverse().flatMap((coding) => decoderOf(coding) ?? []);
  if (codings.length > maxCodings || decoders.length < codings.length) {
    onError(unusable('The server compressed its answer in a way that it was not asked for.'));
    return message;
  }
  const onEnd = (error: Error | null | undefined): void => {
    // Of the connection's own errors the message tells by itself.
    if (isOfZlib(error)) onError(unusable('The compressed answer cannot be read.', error));
    else if (error) onError(error);
  };
  if (codings[0] === 'deflate' && codings.length === 1) return inflated(message, onEnd);
  pipeline([message, ...decoders], onEnd);
  return decoders.at(-1) ?? message;
}

/** Half of the world sends the bare format under the name of the wrapped one; the first byte tells. */
function inflated(
  message: IncomingMessage,
  onEnd: (error: Error | null | undefined) => void,
): Readable {
  const end = new PassThrough();
  message.once('readable', () => {
    const head = message.read() as Buffer | null;
    if (head !== null) message.unshift(head);
    const isWrapped = ((head?.[0] ?? 0) & 0x0f) === 0x08;
    const decoder = isWrapped ? createInflate(flushed) : createInflateRaw(flushed);
    pipeline([message, decoder, end], onEnd);
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

// Each chunk comes out as soon as it went in, and a missing trailer is no reason to lose the rest.
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

type Counter = (chunk: Uint8Array) => boolean;

function createByteCounter(): Counter {
  let readBytes = 0;
  return (chunk) => (readBytes += chunk.length) <= maxMessageBytes;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Counts the bytes of the event that is under way; an event ends with an empty line. */
export function createEventCounter(maxBytes = maxMessageBytes): Counter {
  let readBytes = 0;
  let before: Uint8Array = new Uint8Array();
  return (chunk) => {
    const lastEnd = lastEventEnd(chunk, before);
    const mayBeTooLong = readBytes + chunk.length > maxBytes;
    const fits = !mayBeTooLong || longestEvent(chunk, before, readBytes) <= maxBytes;
    readBytes = lastEnd === -1 ? readBytes + chunk.length : chunk.length - lastEnd;
    // An empty line may be spread over two chunks.
    before = endOf(before, chunk);
    return fits;
  };
}

function endOf(before: Uint8Array, chunk: Uint8Array): Uint8Array {
  return chunk.length > 1 ? chunk.slice(-2) : Uint8Array.of(...before.slice(-1), ...chunk);
}

function longestEvent(chunk: Uint8Array, before: Uint8Array, readBytes: number): number {
  let longest = 0;
  let bytes = readBytes;
  for (let at = 0; at < chunk.length; at += 1) {
    bytes += 1;
    longest = Math.max(longest, bytes);
    if (endsEvent(chunk, before, at)) bytes = 0;
  }
  return longest;
}

/** The empty line ends with this byte; lines end with a line feed, a carriage return or both. */
function endsEvent(chunk: Uint8Array, before: Uint8Array, at: number): boolean {
  const byteAt = (index: number): number | undefined =>
    index < 0 ? before[before.length + index] : chunk[index];
  const isPair = byteAt(at) === lineFeed && byteAt(at - 1) === carriageReturn;
  const previous = byteAt(isPair ? at - 2 : at - 1);
  return isLineEnd(byteAt(at)) && isLineEnd(previous);
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === lineFeed || byte === carriageReturn;
}

/** What follows the last event that is complete begins here; -1 when none is. */
function lastEventEnd(chunk: Uint8Array, before: Uint8Array): number {
  const hasReturns = chunk.includes(carriageReturn);
  const find = (from: number): number =>
    Math.max(
      chunk.lastIndexOf(lineFeed, from),
      hasReturns ? chunk.lastIndexOf(carriageReturn, from) : -1,
    );
  for (let at = find(chunk.length - 1); at >= 0; at = at === 0 ? -1 : find(at - 1)) {
    if (endsEvent(chunk, before, at)) return at + 1;
  }
  return -1;
}
