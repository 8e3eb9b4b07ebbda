/**
 * Reads what arrives on a wire. An answer that is no proper JSON-RPC is turned
 * into an error for the request it names, because the SDK would drop it and let
 * the request wait for its whole timeout. The same way is taken to fail a
 * request whose response stream was lost.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { isRecord } from '../src/policies/is-record.ts';
import type { Envelope } from './message-envelope.ts';

/** Marks errors that we made ourselves; travels in `data` and is compared by identity. */
export const badResponse = Object.freeze({ code: 'BAD_RESPONSE' });
export const streamLost = Object.freeze({ code: 'STREAM_LOST' });
/** The result of a request is more than is taken; so it ran. */
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

// No honest message comes near; what follows a value by recursion breaks at some thousands.
const maxDepth = 256;
const tooDeep = `The server sent an answer of more than ${maxDepth} levels.`;

/** The same of what was read from a text of this many characters. */
export function tooDeepFor(value: unknown, characters: number): boolean {
  // A shorter one has no room for so many brackets.
  return characters > maxDepth * 2 && isTooDeep(value);
}

/** Says whether a JSON value is nested more deeply than anything may be. */
function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth >= maxDepth) return true;
    level = level.flatMap(innerOf);
  }
  return false;
}

function innerOf(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).filter((inner) => typeof inner === 'object' && inner !== null);
}

/** The message itself, unless it is nested too deeply: then what its request is told, if it answers one. */
function withinDepth(message: JSONRPCMessage): JSONRPCMessage | undefined {
  if (!isTooDeep(message)) return message;
  const isAnswer = !('method' in message) && 'id' in message && message.id !== undefined;
  if (!isAnswer) return undefined;
  const mark = 'result' in message ? resultTooLarge : badResponse;
  return ownErrorFor(message.id as string | number, mark, tooDeep);
}

export const tooManyBytes = 'The server sent an answer of more than 16 MB.';

/** What the request is told whose answer was too long to be held; nothing when it is not known which. */
export function oversizedAnswer({ id, isResult, isError }: Envelope): JSONRPCMessage | undefined {
  if (id === undefined || !(isResult || isError)) return undefined;
  return ownErrorFor(id, isError ? badResponse : resultTooLarge, tooManyBytes);
}

/** The messages of one line; none when it is not JSON-RPC at all. */
export function readMessages(line: string): readonly JSONRPCMessage[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [];
  }
  // The 2025-03-26 revision allowed batches.
  const candidates = Array.isArray(value) ? value : [value];
  const messages = candidates.flatMap((candidate: unknown) => readMessage(candidate) ?? []);
  // A shorter line has no room for so many brackets.
  if (line.length <= maxDepth * 2) return messages;
  return messages.flatMap((message) => withinDepth(message) ?? []);
}

function readMessage(value: unknown): JSONRPCMessage | undefined {
  if (!isRecord(value)) return undefined;
  if (typeof value['method'] === 'string') {
    return value['jsonrpc'] === '2.0' ? (value as JSONRPCMessage) : undefined;
  }
  const id = value['id'];
  if (typeof id !== 'number' && typeof id !== 'string') return undefined;
  if (value['jsonrpc'] !== '2.0') {
    return ownErrorFor(id, badResponse, 'The server answered without "jsonrpc": "2.0".');
  }
  if (isRecord(value['result']) || isRpcError(value['error'])) return value as JSONRPCMessage;
  return ownErrorFor(id, badResponse, 'The server answered with neither a result nor an error.');
}

function isRpcError(value: unknown): boolean {
  return isRecord(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string';
}
