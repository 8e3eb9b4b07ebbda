/**
 * Parses wire data into JSON-RPC messages of a checked shape.
 *
 * A message that is nested too deeply or contains too many values is refused before it is parsed,
 * because parsing blocks the event loop. A malformed response becomes an error for the request it
 * names; dropping it would let the request time out. Requests whose response stream was
 * lost fail the same way.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import {
  beginsNumber,
  endOfNumber,
  endOfString,
  isExact,
  parseJson,
  writeJson,
} from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { NotSentError } from './errors.ts';

/** Marks errors that we created; travels in `data` and is compared by identity. */
export const badResponse = Object.freeze({ code: 'BAD_RESPONSE' });
export const streamLost = Object.freeze({ code: 'STREAM_LOST' });
/** A request's result exceeds a limit, so the request did run. */
export const resultTooLarge = Object.freeze({ code: 'RESULT_TOO_LARGE' });
export type OwnErrorMark = typeof badResponse | typeof streamLost | typeof resultTooLarge;

// Outside the range that JSON-RPC and MCP reserve; never leaves this process.
const ownErrorCode = 1_000_001;

export function ownErrorFor(
  id: string | number,
  mark: OwnErrorMark,
  message: string,
): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ownErrorCode, message, data: mark } };
}

// No honest message comes close; recursion over a value fails at a few thousand levels.
const maxDepth = 256;
// `{`, `[`, `,` and `:` outside strings. JSON.parse takes 60 ms for half a million as objects and
// 10 ms as numbers, during which no other server is served. A table of 45,000 rows and 5 columns
// fits.
const maxMarks = 500_000;
// Reading one takes as long as reading some twenty others, because its text is kept.
const maxInexact = 100_000;
// Batches exist only in the 2025-03-26 revision, and known servers send only a few messages in one.
const maxBatch = 256;
const tooDeep = `more than ${maxDepth} levels`;
// Not `toLocaleString`, which loads the languages of the world: a tenth of the import's time.
const tooManyValues = `more than ${maxMarks / 1_000},000 values`;
const tooManyInexact = `more than ${maxInexact / 1_000},000 numbers such as 1.0, which JavaScript would change`;
export const tooManyBytes = 'The server sent an answer of more than 16 MB.';

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Counts the structure of a JSON document in one pass, without parsing it. The pass stops at the
 * first exceeded limit, which `excess` names; such a document must not be parsed.
 */
export function structureOf(text: string): {
  readonly marks: number;
  readonly excess?: string;
  /** The count of numbers that JavaScript would write differently. */
  readonly inexact: number;
} {
  let depth = 0;
  let marks = 0;
  let inexact = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      marks += 1;
      if (depth > maxDepth) return { marks, excess: tooDeep, inexact };
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (code === comma || code === colon) marks += 1;
    else if (beginsNumber(code)) {
      const end = endOfNumber(text, at);
      if (!isExact(text, at, end)) inexact += 1;
      if (inexact > maxInexact) return { marks, excess: tooManyInexact, inexact };
      at = end - 1;
    }
    if (marks > maxMarks) return { marks, excess: tooManyValues, inexact };
  }
  return { marks, inexact };
}

// Decoding and scanning 2 kB, parsing 16 values, or keeping the text of a number, costs about as much as
// one small message.
export const charactersPerWork = 2_048;
const marksPerWork = 16;

/**
 * Reads a stdio line or an event's data; returns no messages if it is not JSON-RPC. One unit of
 * `work`, the cost of reading it, is about 2 µs.
 */
export function readText(text: string): {
  readonly messages: readonly JSONRPCMessage[];
  readonly work: number;
} {
  const base = 1 + text.length / charactersPerWork;
  if (!mayBeMessage(text)) return { messages: [], work: base };
  const { marks, excess, inexact } = structureOf(text);
  const work = base + marks / marksPerWork + inexact;
  if (excess !== undefined)
    return { messages: excessive(text, `The server sent a message of ${excess}.`), work };
  let value: unknown;
  try {
    value = parseJson(text, inexact > 0);
  } catch {
    return { messages: [], work };
  }
  if (!Array.isArray(value)) return { messages: shaped(value), work };
  return { messages: value.slice(0, maxBatch).flatMap(shaped), work };
}

/** Returns whether a string can be a JSON-RPC message at all, judging by its first character. */
function mayBeMessage(text: string): boolean {
  let at = 0;
  if (text.charCodeAt(0) === openBrace) return true;
  // JSON allows no other whitespace.
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  const first = text.charCodeAt(at);
  return first === openBrace || first === openBracket;
}

// Most servers write the id before the result, so the rest of a huge message need not be scanned.
const envelopePiece = 65_536;

function excessive(text: string, why: string): readonly JSONRPCMessage[] {
  const reader = new EnvelopeReader();
  for (let at = 0; at < text.length; at += envelopePiece) {
    reader.push(Buffer.from(text.slice(at, at + envelopePiece)));
    const { id, isResult, isError } = reader.envelope();
    if (id !== undefined && (isResult || isError)) break;
  }
  return refusedAnswer(reader.envelope(), why);
}

/**
 * Returns the error for the request whose response is refused; no message if that request is
 * unknown.
 */
export function refusedAnswer(envelope: Envelope, why: string): readonly JSONRPCMessage[] {
  const { id, isResult, isError, isMethod } = envelope;
  if (id === undefined || isMethod || !(isResult || isError)) return [];
  return [ownErrorFor(id, isError ? badResponse : resultTooLarge, why)];
}

/**
 * Normalizes a message to the shape that later stages rely on; a malformed response becomes an
 * error.
 */
function shaped(value: unknown): readonly JSONRPCMessage[] {
  if (!isRecord(value)) return [];
  // Servers in the style of JSON-RPC 1.0 write null for the absent half.
  const result = value['result'] ?? undefined;
  const error = value['error'] ?? undefined;
  if ((value['method'] ?? undefined) === undefined) return shapedAnswer(value, result, error);
  if (result === undefined && error === undefined) return shapedRequest(value);
  return wrong(value['id'], 'The server sent a request and an answer in one message.');
}

function shapedRequest({ jsonrpc, id, method, params }: Record<string, unknown>) {
  const isFit = jsonrpc === '2.0' && typeof method === 'string';
  // Some servers write null for absent parameters.
  const given = params ?? undefined;
  if (!isFit || !(given === undefined || isRecord(given))) return [];
  const rest = given === undefined ? { method } : { method, params: given };
  // Some servers write null for the id that a notification does not have.
  if (id === undefined || id === null) return [{ jsonrpc, ...rest }] as readonly JSONRPCMessage[];
  return isId(id) ? ([{ jsonrpc, id, ...rest }] as readonly JSONRPCMessage[]) : [];
}

// Enough to recognize an error by its text.
const saidCharacters = 500;

function shapedAnswer(
  { jsonrpc, id }: Record<string, unknown>,
  result: unknown,
  error: unknown,
): readonly JSONRPCMessage[] {
  if (!isId(id)) return [];
  if (jsonrpc !== '2.0') return wrong(id, 'The server answered without "jsonrpc": "2.0".');
  if (result !== undefined && error !== undefined)
    return wrong(id, 'The server answered with both a result and an error.');
  if (isRecord(result)) return [{ jsonrpc, id, result }];
  if (isRpcError(error)) return [{ jsonrpc, id, error }];
  if (result === undefined && error === undefined)
    return wrong(id, 'The server answered with neither a result nor an error.');
  if (error === undefined) return wrong(id, 'The server answered with a result that is no object.');
  const said = isRecord(error) ? error['message'] : error;
  const words = typeof said === 'string' ? `: ${said.slice(0, saidCharacters)}` : '.';
  return wrong(id, `The server answered with an error of a wrong shape${words}`);
}

function wrong(id: unknown, why: string): readonly JSONRPCMessage[] {
  return isId(id) ? [ownErrorFor(id, badResponse, why)] : [];
}

/** Returns whether a value is an id that MCP allows: a string or an integer. */
function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function isRpcError(value: unknown): value is { code: number; message: string; data?: unknown } {
  return isRecord(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string';
}

/** A message's envelope: how it is addressed, without its contents. */
interface Envelope {
  /** The message's id; absent if it has none, or an unreadable one. */
  readonly id?: string | number;
  readonly isResult: boolean;
  readonly isError: boolean;
  readonly isMethod: boolean;
}

// Longer names and ids are not ours.
const maxWordBytes = 128;

/**
 * Reads the envelope of a JSON-RPC message that is too long to be kept: its id, and whether it is a
 * result or an error. Skips deeper levels, so an id in a tool's output does not count.
 */
export class EnvelopeReader {
  #depth = 0;
  /** Where the next byte stands; `escaped`: in a string, after a backslash. */
  #place: 'outside' | 'string' | 'escaped' = 'outside';
  /** Bytes of the current name or plain value on the outer level. */
  #word: number[] = [];
  #name: string | undefined;
  #id: string | number | undefined;
  readonly #names = new Set<string>();

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#place !== 'outside') {
        at = this.#readString(bytes, at);
        continue;
      }
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#place = 'string';
        this.#keep(byte);
      } else this.#readStructure(byte);
      at += 1;
    }
  }

  /** Returns what has been read so far. */
  envelope(): Envelope {
    return {
      ...(this.#id !== undefined && { id: this.#id }),
      isResult: this.#names.has('result'),
      isError: this.#names.has('error'),
      isMethod: this.#names.has('method'),
    };
  }

  #readStructure(byte: number): void {
    if (byte === openBrace || byte === openBracket) this.#depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      if (this.#depth === 1) this.#endValue();
      this.#depth -= 1;
    } else if (this.#depth !== 1) return;
    else if (byte === colon) this.#endName();
    else if (byte === comma) this.#endValue();
    else this.#keep(byte);
  }

  /** Reads inside a string; returns the next position. */
  #readString(bytes: Buffer, at: number): number {
    const byte = bytes[at] as number;
    if (this.#place === 'escaped') this.#place = 'string';
    else if (byte === backslash) this.#place = 'escaped';
    else if (byte === quote) this.#place = 'outside';
    else if (this.#depth > 1) return nextMark(bytes, at);
    this.#keep(byte);
    return at + 1;
  }

  #keep(byte: number): void {
    if (this.#depth === 1 && this.#word.length <= maxWordBytes) this.#word.push(byte);
  }

  #endName(): void {
    this.#name = String(parsed(this.#word));
    this.#names.add(this.#name);
    this.#word = [];
  }

  #endValue(): void {
    const value = this.#name === 'id' ? parsed(this.#word) : undefined;
    // The last of several counts, as in `JSON.parse`.
    if (typeof value === 'string' || typeof value === 'number') this.#id = value;
    this.#name = undefined;
    this.#word = [];
  }
}

/** Returns the position of the next byte that may end a string or escape its end. */
function nextMark(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== quote && bytes[at] !== backslash) at += 1;
  return at;
}

function parsed(word: readonly number[]): unknown {
  try {
    return JSON.parse(Buffer.from(word).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** What `send` returns when it has handed the message over before it returns. */
export const alreadySent: Promise<void> = Promise.resolve();

/** Serializes a message as JSON; throws a {@link NotSentError} if that is impossible. */
export function serialize(message: JSONRPCMessage): string {
  try {
    return writeJson(message);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new NotSentError(why, { cause, isUnwritable: true });
  }
}
