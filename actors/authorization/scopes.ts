/** Chooses the scopes that a login asks for. */

import type { Discovered } from './discovery.ts';

export interface ScopeWishes {
  /** The scopes in the settings, which override all others. */
  readonly pinned?: readonly string[];
  /** The `scope` of the server's challenge. */
  readonly challenged?: string;
  /** The scopes granted to an earlier login; a step-up keeps them. */
  readonly granted?: readonly string[];
  /** Omit the scopes that only metadata names, because the issuer refused them. */
  readonly asksForLess?: boolean;
}

/**
 * Returns the scopes, or undefined to leave them to the issuer. `offline_access`, for a refresh
 * token, is added to other scopes only if the issuer offers it.
 */
export function scopesFor(
  { metadata, scopesSupported }: Pick<Discovered, 'metadata' | 'scopesSupported'>,
  { pinned, challenged, granted = [], asksForLess = false }: ScopeWishes,
): string | undefined {
  if (pinned !== undefined) return unionOf(pinned.join(' '));
  if (asksForLess) return unionOf(granted.join(' '), challenged);
  const offersOffline = metadata.scopes_supported?.includes(offline) === true;
  const known = scopesSupported?.filter((scope) => scope !== offline || offersOffline);
  const wanted = unionOf(granted.join(' '), challenged ?? known?.join(' '));
  return wanted !== undefined && offersOffline ? unionOf(wanted, offline) : wanted;
}

/** Whether fewer scopes can be requested; those that the settings or a challenge name stay. */
export function hasLess<Asked extends { readonly asksForLess: boolean }>(
  asked: Asked,
  scopeOf: (asked: Asked) => string | undefined,
): boolean {
  return scopeOf(asked) !== scopeOf({ ...asked, asksForLess: true });
}

const offline = 'offline_access';

// RFC 6749 section 3.3. Servers and issuers name scopes, and users read them.
const scopeName = /^[\x21\x23-\x5b\x5d-\x7e]+$/u;

/** Splits a scope string into valid scopes, sorted and without duplicates. */
export function scopeList(scope: string | undefined): readonly string[] {
  const names = unionOf(scope)?.split(' ') ?? [];
  return names.filter((name) => scopeName.test(name)).sort();
}

/** Returns each scope once, in the order of its first mention; undefined if there is none. */
function unionOf(...scopes: readonly (string | undefined)[]): string | undefined {
  const names = new Set(scopes.flatMap((scope = '') => scope.split(/\s+/u)).filter(Boolean));
  return names.size > 0 ? [...names].join(' ') : undefined;
}
