/**
 * Decides which HTTP requests the gateway accepts, and reads the bodies of those: JSON, limited in size and
 * depth. Every path is checked, also one that does not exist, so that a web page cannot even find out that the
 * gateway runs.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { declaresJson, foreignRequest, readBody } from '../../actors/host/http-server.ts';
import { parseJson } from '../domain/data/exact-json.ts';
import { structureOf } from '../protocol/messages.ts';
import { invalidRequest, parseError } from '../protocol/rpc-codes.ts';
import type { ProtectedResourceOptions } from './oauth/protected-resource.ts';

export interface AccessRules {
  /** Whether only this machine can connect. */
  readonly isLoopback: boolean;
  /** Accepted host names besides those of this machine. */
  readonly hosts: readonly string[];
  /** Absent, without `oauth`: every program on this machine is accepted. */
  readonly token?: string;
  /** Accepts access tokens of an issuer instead. */
  readonly oauth?: ProtectedResourceOptions;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the server's own, -32000. */
  readonly rpcCode?: number;
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Refuses requests that a web page caused. The gateway serves no pages itself. */
export function refuseForeign(request: IncomingMessage, rules: AccessRules): Refusal | undefined {
  const message = foreignRequest(request, (host) => isOwnHost(host, rules));
  return message === undefined ? undefined : { status: 403, message };
}

/** Refuses requests without the token. */
export function refuseUnauthorized(
  { headers: { authorization = '' } }: IncomingMessage,
  { token }: AccessRules,
): Refusal | undefined {
  if (token === undefined) return undefined;
  const given = /^Bearer ([\w.~+/-]+=*)$/i.exec(authorization)?.[1];
  // Comparing digests keeps the token's length and content out of the response time.
  if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return undefined;
  const challenge = given === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
  return {
    status: 401,
    message: 'send the token from the file that troupe serve names: Authorization: Bearer TOKEN',
    headers: { 'www-authenticate': challenge },
  };
}

const methodsOf: Readonly<Record<string, string>> = {
  '/mcp': 'POST, GET, DELETE',
  '/metrics': 'GET',
  '/healthz': 'GET',
};

/** The name of the view in a path, `/mcp/NAME`; undefined for any other path. */
export function viewIn(path: string): string | undefined {
  return /^\/mcp\/([\w.-]{1,64})$/.exec(path)?.[1];
}

/** Refuses requests for unknown paths, and methods that a path does not have. */
export function refusePath({ url = '', method = '' }: IncomingMessage): Refusal | undefined {
  const path = viewIn(url) === undefined ? url : '/mcp';
  const methods = Object.hasOwn(methodsOf, path) ? methodsOf[path] : undefined;
  if (methods === undefined) return { status: 404, message: 'not found; use /mcp' };
  if (methods.split(', ').includes(method)) return undefined;
  return { status: 405, message: `use ${methods}`, headers: { allow: methods } };
}

function isOwnHost(host: string, { isLoopback, hosts }: AccessRules): boolean {
  const name = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
  if (name === undefined) return false;
  if (loopbackNames.has(name) || hosts.includes(name)) return true;
  // Unlike a name, an IP address cannot be rebound to another machine.
  return !isLoopback && isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** As for a message of a server. */
export const maxBodyBytes = 16 * 1_048_576;
// Only the 2025-03-26 revision has batches, and its clients send a handful of messages in one. A body
// of 16 MB has room for 500,000, which would be answered in one turn of the event loop.
const maxBatch = 64;

const decoder = new TextDecoder('utf-8', { fatal: true });

type Body = { readonly value: unknown } | { readonly refusal: Refusal };

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
    const text = decoder.decode(bytes);
    // Checked before parsing, which blocks every other client.
    const { excess, inexact } = structureOf(text);
    if (excess !== undefined) return refused(`the body has ${excess}`, invalidRequest);
    const value = parseJson(text, inexact > 0);
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
