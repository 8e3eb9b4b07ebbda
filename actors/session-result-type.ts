/**
 * Some servers of the 2026-07-28 revision forget the `resultType` of a result. A client must take
 * such a result as complete; the SDK refuses it, and the answer to a call that ran would be lost.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import { isRecord } from '../src/policies/is-record.ts';

/** Adds what is missing to all results that arrive from now on. */
export function completeResults(transport: Transport): void {
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => onmessage?.(completed(message), extra);
}

function completed<Message extends JSONRPCMessage>(message: Message): Message {
  if (!('result' in message) || !isRecord(message.result)) return message;
  if ('resultType' in message.result) return message;
  return { ...message, result: { ...message.result, resultType: 'complete' } };
}
