/** Headers that a host provides for remote servers. */

import type { Scope } from '../scope.ts';

/**
 * Why the host is asked: a session opens, the headers at hand are about to expire, or the server
 * refused them (401, 403).
 */
export type HeadersReason = 'connect' | 'expiring' | 'refused';

/** The server that the headers are sent to. */
export interface HeadersTarget {
  /** The server's name in the settings. */
  readonly name: string;
  /** Its address, with variables resolved. */
  readonly url: string;
  /** Where it was declared. A project's server may have any name and any address. */
  readonly scope: Scope;
}

/**
 * Provides headers for a remote server, in addition to those of its settings and instead of ones
 * with the same names. Undefined means none.
 */
export type ProvideHeaders = (
  server: HeadersTarget,
  reason: HeadersReason,
) => Promise<Readonly<Record<string, string>> | undefined>;
