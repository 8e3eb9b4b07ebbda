/** Reads what a client posts: JSON, within bounds of size and depth. */

import type { IncomingMessage } from 'node:http';
import { structureOf } from '../../actors/transports/connection/messages.ts';
import type { Refusal } from './http-door.ts';

/** As long as a line or a body of a server may be. */
export const maxBodyBytes = 16 * 1_048_576;
// Only the 2025-03-26 revision has batches, and its clients send a handful of messages in one. A body
// of 16 MB has room for 500,000, which would be answered in one turn of the event loop.
const maxBatch = 64;

const parseError = -32_700;
const invalidRequest = -32_600;

export type Body =
  | { readonly value: unknown }
  | { readonly refusal: Refusal & { readonly rpcCode?: number } };

/** Refuses what cannot be read before any of it is. */
export function refuseBody(headers: IncomingMessage['headers']): Refusal | undefined {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  // Also what keeps a form on some page from posting here: it can send no such type.
  if (type !== 'application/json')
    return { status: 415, message: 'send JSON: Content-Type: application/json' };
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity')
    return { status: 415, message: 'send the body without a Content-Encoding' };
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? tooLarge : undefined;
}

/** Resolves when the body is there or is refused; rejects when the client went away. */
export async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return { refusal: tooLarge };
    chunks.push(chunk);
  }
  return parse(Buffer.concat(chunks));
}

function parse(bytes: Buffer): Body {
  const refused = (message: string, rpcCode: number): Body => ({
    refusal: { status: 400, message, rpcCode },
  });
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // Checked before parsing, which blocks every other client.
    const { excess } = structureOf(text);
    if (excess !== undefined) return refused(`the body has ${excess}`, invalidRequest);
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.length > maxBatch)
      return refused(`a batch may hold ${maxBatch} messages; send several batches`, invalidRequest);
    return { value };
  } catch {
    return refused('the body is not JSON', parseError);
  }
}

const tooLarge: Refusal = {
  status: 413,
  message: `a body has ${maxBodyBytes} bytes at most`,
  headers: { connection: 'close' },
};
