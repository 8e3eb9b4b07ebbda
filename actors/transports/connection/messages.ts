/**
 * Parses text from the wire into JSON-RPC messages of a checked shape.
 *
 * Text that is nested too deeply or holds too many values is refused before it is parsed, because
 * parsing blocks the event loop. A malformed answer becomes an error for the request it names; the
 * SDK would drop it and let the request run into its timeout. Requests whose response stream was
 * lost fail in the same way.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isRecord } from '../../../src/policies/is-record.ts';
import { createEnvelopeReader, type Envelope } from './envelope.ts';

/** Marks errors that we made; travels in `data` and is compared by identity. */
export const badResponse = Object.freeze({ code: 'BAD_RESPONSE' });
export const streamLost = Object.freeze({ code: 'STREAM_LOST' });
/** The result of a request exceeds a limit, so the request did run. */
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
// `{`, `[`, `,` and `:` outside of strings. Half a million take JSON.parse 60 ms as objects and
// 10 ms as numbers, during which no other server is served. A table of 45,000 rows and 5 columns fits.
const maxMarks = 500_000;
// Batches exist only in the 2025-03-26 revision, and known servers send only a few messages in one.
const maxBatch = 256;
const tooDeep = `more than ${maxDepth} levels`;
const tooManyValues = `more than ${maxMarks.toLocaleString('en')} values`;
export const tooManyBytes = 'The server sent an answer of more than 16 MB.';

/** The structure of a JSON text, counted without parsing it. */
export interface Structure {
  readonly marks: number;
  /** Why the text must not be parsed. */
  readonly excess?: string;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
// A short string is scanned by character; in a longer one `indexOf` searches for the end.
const walkedCharacters = 32;

/** Counts in one pass, which stops at the first exceeded limit. */
export function structureOf(text: string): Structure {
  let depth = 0;
  let marks = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      marks += 1;
      if (depth > maxDepth) return { marks, excess: tooDeep };
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (code === comma || code === colon) marks += 1;
    if (marks > maxMarks) return { marks, excess: tooManyValues };
  }
  return { marks };
}

/** Returns the position of the string's closing quote, or of the text's end without one. */
function endOfString(text: string, start: number): number {
  let at = start;
  let walkUntil = start + walkedCharacters;
  while (at < text.length) {
    if (at >= walkUntil) {
      const end = text.indexOf('"', at);
      if (end === -1) return text.length;
      if (!isEscaped(text, end, at)) return end;
      at = end + 1;
      walkUntil = at + walkedCharacters;
      continue;
    }
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    at += code === backslash ? 2 : 1;
  }
  return text.length;
}

/** Says whether an odd number of backslashes stands before the quote. */
function isEscaped(text: string, end: number, start: number): boolean {
  let first = end;
  while (first > start && text.charCodeAt(first - 1) === backslash) first -= 1;
  return (end - first) % 2 === 1;
}

/** The messages of a text, and the cost of reading it. */
export interface Reading {
  readonly messages: readonly JSONRPCMessage[];
  /** Cost of reading it; one unit is about 2 µs. */
  readonly work: number;
}

// Decoding and scanning 2 kB, or parsing 16 values, costs about as much as one small message.
export const charactersPerWork = 2_048;
const marksPerWork = 16;

/** Reads a stdio line or an event's data; returns no messages when it is not JSON-RPC. */
export function readText(text: string): Reading {
  const base = 1 + text.length / charactersPerWork;
  if (!mayBeMessage(text)) return { messages: [], work: base };
  const { marks, excess } = structureOf(text);
  const work = base + marks / marksPerWork;
  if (excess !== undefined)
    return { messages: excessive(text, `The server sent a message of ${excess}.`), work };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { messages: [], work };
  }
  if (!Array.isArray(value)) return { messages: shaped(value), work };
  return { messages: value.slice(0, maxBatch).flatMap(shaped), work };
}

/** Says whether a text can be a JSON-RPC message at all, by its first character. */
function mayBeMessage(text: string): boolean {
  let at = 0;
  // JSON allows no other white space.
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  const first = text.charCodeAt(at);
  return first === openBrace || first === openBracket;
}

// Most servers write the id before the result, so the rest of a huge text need not be scanned.
const envelopePiece = 65_536;

function excessive(text: string, why: string): readonly JSONRPCMessage[] {
  const reader = createEnvelopeReader();
  for (let at = 0; at < text.length; at += envelopePiece) {
    reader.push(Buffer.from(text.slice(at, at + envelopePiece)));
    const { id, isResult, isError } = reader.envelope();
    if (id !== undefined && (isResult || isError)) break;
  }
  return refusedAnswer(reader.envelope(), why);
}

/** Returns the error for the request whose answer is refused; nothing when that request is unknown. */
export function refusedAnswer(envelope: Envelope, why: string): readonly JSONRPCMessage[] {
  const { id, isResult, isError, isMethod } = envelope;
  if (id === undefined || isMethod || !(isResult || isError)) return [];
  return [ownErrorFor(id, isError ? badResponse : resultTooLarge, why)];
}

/** Normalizes a message to the shape that later stages rely on; a malformed answer becomes an error. */
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
  if (id === undefined) return [{ jsonrpc, ...rest }] as readonly JSONRPCMessage[];
  return isId(id) ? ([{ jsonrpc, id, ...rest }] as readonly JSONRPCMessage[]) : [];
}

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
  return wrong(id, 'The server answered with neither a result nor an error.');
}

function wrong(id: unknown, why: string): readonly JSONRPCMessage[] {
  return isId(id) ? [ownErrorFor(id, badResponse, why)] : [];
}

/** Accepts ids as the SDK does: a string or an integer. */
function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

function isRpcError(value: unknown): value is { code: number; message: string; data?: unknown } {
  return isRecord(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string';
}
