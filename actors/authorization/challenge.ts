/**
 * Reads the challenge of a server that refused a request, from its `WWW-Authenticate` header.
 *
 * The SDK's `extractWWWAuthenticateParams` finds a parameter also inside another one's text, and
 * none of a challenge that follows one of another scheme.
 */

import { defined } from '../../src/domain/data/defined.ts';

export interface Challenge {
  readonly scheme: 'Bearer' | 'DPoP';
  readonly resourceMetadataUrl?: string;
  readonly scope?: string;
  /** For example `insufficient_scope` or `use_dpop_nonce`. */
  readonly error?: string;
}

// Longer than any challenge; a header may have 16 KB.
const readCharacters = 8_192;

const part =
  /(?<name>[\w!#$%&'*+.^`|~-]+)(?:[ \t]*=[ \t]*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^\s,"]+))|(?=[ \t,]|$))/gu;

/** Returns the Bearer or DPoP challenge; DPoP if there are both. */
export function readChallenge(header = ''): Challenge | undefined {
  const found = challengesIn(header);
  const [bearer, dpop] = [found.get('bearer'), found.get('dpop')];
  if (dpop === undefined && bearer === undefined) return undefined;
  const given = new Map([...(bearer ?? []), ...(dpop ?? [])]);
  const [url, scope, error] = ['resource_metadata', 'scope', 'error'].map((name) =>
    given.get(name),
  );
  return {
    scheme: dpop === undefined ? 'Bearer' : 'DPoP',
    ...(url !== undefined && { resourceMetadataUrl: url }),
    ...(scope !== undefined && { scope }),
    ...(error !== undefined && { error }),
  };
}

/** What the server's refusals say: a later one may not repeat where the metadata is. */
export function latestChallenge(
  earlier: Challenge | undefined,
  latest: Challenge | undefined,
): Challenge | undefined {
  if (latest === undefined) return earlier;
  const { resourceMetadataUrl } = earlier ?? {};
  return { ...defined({ resourceMetadataUrl }), ...latest };
}

/** The parameters of each challenge, by scheme. */
function challengesIn(header: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const found = new Map<string, Map<string, string>>();
  let parameters = new Map<string, string>();
  for (const { groups = {} } of header.slice(0, readCharacters).matchAll(part)) {
    const { name = '', quoted, plain } = groups;
    const value = quoted?.replaceAll(/\\(.)/gsu, '$1') ?? plain;
    if (value === undefined) {
      parameters = new Map();
      found.set(name.toLowerCase(), parameters);
    } else parameters.set(name.toLowerCase(), value);
  }
  return found;
}
