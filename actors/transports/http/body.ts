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
import { maxMessageBytes } from '../connection/connection.ts';
import { headBytes, TooLongError } from './too-long.ts';

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
  const fits = isEndless(message) ? () => true : createByteCounter();
  let isOver = false;
  let head: Buffer = Buffer.alloc(0);
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
          if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes)]);
          if (!fits(chunk)) {
            fail(controller, new TooLongError('The server sent more than 16 MB.', head));
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

/** Its events are counted one by one, by whoever reads them. */
function isEndless(message: IncomingMessage): boolean {
  const { statusCode = 0 } = message;
  return isEventStream(message) && statusCode >= 200 && statusCode < 300;
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

function createByteCounter(): (chunk: Uint8Array) => boolean {
  let readBytes = 0;
  return (chunk) => (readBytes += chunk.length) <= maxMessageBytes;
}
