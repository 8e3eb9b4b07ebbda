/**
 * Who may come in over HTTP. Pure: facts of a request in, a refusal or nothing out. Every path
 * asks here first, the ones that do not exist included, so that no page in a browser learns
 * even that we are here.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';

export interface DoorRules {
  /** Only this machine can reach us. */
  readonly isLoopback: boolean;
  /** Names under which we may be called besides those of this machine. */
  readonly hosts: readonly string[];
  /** Absent: everybody on this machine may come in. */
  readonly token?: string;
}

export interface Knock {
  /** As it came; a proxy would be asked for a whole URL. */
  readonly target: string;
  /** Every `Host` header there was. */
  readonly hosts: readonly string[];
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses who calls us by a name that is not ours, which is what a page does that has turned
 * its own name to our address, and what other pages send.
 */
export function refuseStranger(
  { target, hosts, origin }: Knock,
  rules: DoorRules,
): Refusal | undefined {
  const [host] = hosts;
  if (!target.startsWith('/')) return forbidden('this is no proxy');
  if (host === undefined || hosts.length > 1 || !isOurs(host, rules))
    return forbidden('the Host header names somebody else');
  // A page that we serve would be of our own origin; there is none, and no other is welcome.
  if (origin !== undefined && origin !== `http://${host}`)
    return forbidden('pages of another origin are not let in');
  return undefined;
}

/** Refuses who does not bring the token. */
export function refuseUnknown({ authorization }: Knock, { token }: DoorRules): Refusal | undefined {
  if (token === undefined) return undefined;
  const given = /^Bearer ([\w.~+/-]+=*)$/i.exec(authorization ?? '')?.[1];
  if (given !== undefined && isSame(given, token)) return undefined;
  const challenge = given === undefined ? 'Bearer' : 'Bearer error="invalid_token"';
  return {
    status: 401,
    message: 'send the token of the file that troupe serve names: Authorization: Bearer TOKEN',
    headers: { 'www-authenticate': challenge },
  };
}

function isOurs(host: string, { isLoopback, hosts }: DoorRules): boolean {
  const name = /^(\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase();
  if (name === undefined) return false;
  if (loopbackNames.has(name) || hosts.includes(name)) return true;
  // An address cannot be turned to another machine, unlike a name.
  return !isLoopback && isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** Compares digests, so that neither length nor content can be felt in the time it takes. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function forbidden(message: string): Refusal {
  return { status: 403, message };
}
