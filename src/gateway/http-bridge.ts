/** Converts between Node's requests and the web requests that the SDK uses. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Outbox } from '../../actors/host/slow-readers.ts';
import { writeJson } from '../domain/data/exact-json.ts';
import { headerNames } from '../protocol/headers.ts';
import { isNoteEvent } from './droppable-messages.ts';
import { chunkWithoutMarks } from './exact-numbers.ts';
import type { LightAnswer } from './http-sessions.ts';

// The headers that the protocol uses. The token is not passed on.
const passedHeaders: ReadonlySet<string> = new Set(['accept', 'content-type', 'last-event-id']);

const ownHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

/** The request for the SDK; its parsed body is passed separately. */
export function webRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value !== 'string') continue;
    if (passedHeaders.has(name) || name.startsWith('mcp-')) headers.set(name, value);
  }
  return new Request('http://gateway/mcp', { method: request.method ?? 'GET', headers, signal });
}

/** Fires when the client disconnects before it has the whole answer. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  if (response.destroyed) gone.abort();
  return gone.signal;
}

/** Sends an answer made without the SDK. */
export function sendLight(
  { session, document }: Extract<LightAnswer, { readonly session: string }>,
  response: ServerResponse,
): void {
  const headers = { [headerNames.session]: session, ...ownHeaders };
  if (document === undefined) {
    // The request was cancelled, so the stream ends without an answer.
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end();
    return;
  }
  const body = Buffer.from(writeJson({ jsonrpc: '2.0', ...document }));
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': body.length,
      ...headers,
    })
    .end(body);
}

/** Sends the SDK's answer; resolves when it is sent or the client is gone. */
export async function sendWeb(
  answer: Response,
  response: ServerResponse,
  gone: AbortSignal,
  outbox: Outbox,
): Promise<void> {
  const { connection: _connection, ...headers } = Object.fromEntries(answer.headers);
  // Node manages the connection itself.
  response.writeHead(answer.status, { ...headers, ...ownHeaders });
  if (answer.body === null) {
    response.end();
    return;
  }
  const reader = answer.body.getReader();
  const leave = (): void => void reader.cancel().catch(() => undefined);
  gone.addEventListener('abort', leave, { once: true });
  if (gone.aborted) leave();
  // A stream may stay silent for long, so send the headers at once.
  response.flushHeaders();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const chunk = chunkWithoutMarks(value);
      // Chunks are inspected only for a client that lags; nearly all are written as they are.
      if (outbox.lags(response) && isNoteEvent(chunk)) outbox.note(response, chunk);
      else outbox.write(response, chunk);
    }
  } finally {
    gone.removeEventListener('abort', leave);
    response.end();
  }
}
