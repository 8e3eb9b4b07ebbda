/** Messages that a client can miss: its servers' log lines, and its calls' progress. */

import { isRecord } from '../domain/data/is-record.ts';
import { parsedJson } from '../domain/data/parsed-json.ts';
import { methods } from '../protocol/methods.ts';

// Changes of lists and resources are not included: a client that misses one keeps stale data.
const notes: ReadonlySet<unknown> = new Set([methods.logMessage.name, methods.progress.name]);

export function isNote(message: unknown): boolean {
  return isRecord(message) && notes.has(message['method']) && !('id' in message);
}

/** Whether a stream's chunk is such a message; the SDK writes one event per chunk. */
export function isNoteEvent(chunk: Uint8Array): boolean {
  const data = /^data: (.*)$/mu.exec(Buffer.from(chunk).toString('utf8'))?.[1];
  return data !== undefined && isNote(parsedJson(data));
}
