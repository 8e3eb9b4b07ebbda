/** The variables of the environment that name proxies, as most programs read them. */

import type { Variables } from './expand-variables.ts';
import { decoded } from './text/redact.ts';

/** Lists the variables that name a proxy and are set, in both spellings. */
export function proxyVariables(variables: Variables): readonly string[] {
  const names = ['https_proxy', 'http_proxy', 'all_proxy'].flatMap(spellingsOf);
  return names.filter((name) => givenVariable(name, variables) !== undefined);
}

/** The lower-case spelling is older, and wins. */
export function spellingsOf(name: string): readonly string[] {
  return [name, name.toUpperCase()];
}

/** Returns a variable's value; an empty one counts as missing. */
export function givenVariable(name: string, variables: Variables): string | undefined {
  const value = variables[name]?.trim();
  return value === '' ? undefined : value;
}

/** Returns the parts of a proxy's address that must not be shown. */
export function proxySecrets(address: string): readonly string[] {
  const [, user = ''] = /^(?:[a-z][\w+.-]{0,20}:\/\/)?([^/?#]{1,2048})@/iu.exec(address) ?? [];
  const colon = user.indexOf(':');
  // A user without a password is a token.
  const secret = colon === -1 ? user : user.slice(colon + 1);
  return secret === '' ? [] : [secret, decoded(secret)];
}
