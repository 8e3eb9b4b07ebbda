/** Reads the body of a POST request: JSON, limited in size and depth. */

import type { IncomingMessage } from 'node:http';
import { declaresJson, readBody } from '../../actors/host/http-server.ts';
import { structureOf } from '../../actors/transports/connection/messages.ts';
import type { Refusal } from './request-guard.ts';

/** The same limit as for a message of a server. */
export const maxBodyBytes = 16 * 1_048_576;
// Only the 2025-03-26 revision has batches, and its clients send a handful of messages in one. A body
// of 16 MB has room for 500,000, which would be answered in one turn of the event loop.
const maxBatch = 64;

const parseError = -32_700;
const invalidRequest = -32_600;

export type Body =
  | { readonly value: unknown }
  | { readonly refusal: Refusal & { readonly rpcCode?: number } };

/** Refuses a body by its headers, before any of it is read. */
export function refuseBody(headers: IncomingMessage['headers']): Refusal | undefined {
  if (!declaresJson(headers))
    return { status: 415, message: 'send JSON: Content-Type: application/json' };
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity')
    return { status: 415, message: 'send the body without a Content-Encoding' };
  return Number(headers['content-length'] ?? 0) > maxBodyBytes ? tooLarge : undefined;
}

/** Resolves with the value or a refusal; rejects when the client disconnects. */
export async function readJson(request: IncomingMessage): Promise<Body> {
  const bytes = await readBody(request, maxBodyBytes);
  return bytes === undefined ? { refusal: tooLarge } : parse(bytes);
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
  message: `a body may have ${maxBodyBytes} bytes`,
  headers: { connection: 'close' },
};
