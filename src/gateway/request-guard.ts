/**
 * Decides which HTTP requests the gateway accepts. Every path is checked, also one that does not exist, so
 * that a web page cannot even find out that the gateway runs.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { foreignRequest } from '../../actors/host/http-server.ts';

export interface AccessRules {
  /** Whether only this machine can connect. */
  readonly isLoopback: boolean;
  /** Accepted host names besides those of this machine. */
  readonly hosts: readonly string[];
  /** Absent: every program on this machine is accepted. */
  readonly token?: string;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
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
