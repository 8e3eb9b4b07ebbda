/**
 * Keeps numbers as they were written on their way through the SDK, which copies what it receives and writes
 * JSON itself. Copies get the number texts of their originals. What the SDK writes contains marks in place of
 * such numbers, which are replaced when that text is passed on.
 */

import { randomUUID } from 'node:crypto';
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';

import {
  graftNumbers,
  holdsNumberTexts,
  numberTextAt,
  parseJson,
} from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';

type Handler = ReturnType<Server['_wrapHandler']>;

/** What an object is a copy of. The SDK's own copies keep symbols, and it writes none. */
const original = Symbol('original');
/** The bodies of HTTP requests, of which the SDK passes on copies without symbols. */
const bodies = new WeakMap<Request, unknown>();
// Unguessable, so that no peer can send one.
const mark = `number-${randomUUID()}:`;
const markBytes = Buffer.from(mark);
/** Set with the first mark, so that processes without any never search for them. */
let hasMarks = false;
const marked = new RegExp(`"${mark}([-+.eE0-9]+)"`, 'g');

/** Parses a line. @throws unless it is a JSON-RPC message */
export function readMessage(line: string): JSONRPCMessage {
  const value = parseJson(line);
  const message = parseJSONRPCMessage(value);
  graftNumbers(message, value);
  return message;
}

/** Remembers the body with whose numbers a request for the SDK is handled. */
export function noteBody(request: Request, body: unknown): void {
  bodies.set(request, body);
}

/** Keeps the numbers of what a transport receives, and marks those of what it sends. */
export function keepNumbersOf(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('result' in message) regain(message.result);
    return send(withMarks(message), options);
  };
  // Called before the SDK's own handler.
  transport.onmessage = (message, extra) => {
    const body = extra?.request === undefined ? undefined : bodies.get(extra.request);
    if ('id' in message) graftNumbers(message, sameMessage(body, message));
    if ('params' in message && isRecord(message.params)) remember(message.params, message.params);
  };
}

/** Keeps the numbers of a request for a handler, and those of its result. */
export function keepNumbersIn(handler: Handler): Handler {
  return async (request, context) => {
    regain(request.params);
    const result = await handler(request, context);
    return remember({ ...result }, result);
  };
}

/** Replaces marks in text that the SDK or `JSON.stringify` wrote. */
export function withoutMarks(text: string): string {
  return hasMarks && text.includes(mark) ? text.replaceAll(marked, '$1') : text;
}

/** Does the same for a chunk that holds whole messages. */
export function chunkWithoutMarks(chunk: Uint8Array): Uint8Array {
  if (!hasMarks) return chunk;
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return bytes.includes(markBytes) ? Buffer.from(withoutMarks(bytes.toString('utf8'))) : chunk;
}

function remember<Copy extends object>(copy: Copy, from: object): Copy {
  return Object.assign(copy, { [original]: from });
}

function regain(copy: unknown): void {
  if (isRecord(copy)) graftNumbers(copy, (copy as { [original]?: unknown })[original]);
}

/** A batch may hold a request and an answer with one id, because each side counts its own requests. */
function sameMessage(body: unknown, message: JSONRPCMessage & { readonly id?: unknown }): unknown {
  return (Array.isArray(body) ? body : [body]).find(
    (each) =>
      isRecord(each) && each['id'] === message.id && 'method' in each === 'method' in message,
  );
}

function withMarks<Message>(message: Message): Message {
  if (!holdsNumberTexts(message)) return message;
  hasMarks = true;
  const text = JSON.stringify(message, function (this: object, key, part: unknown) {
    const literal = typeof part === 'number' ? numberTextAt(this, key) : undefined;
    return literal === undefined ? part : `${mark}${literal}`;
  });
  return JSON.parse(text) as Message;
}
