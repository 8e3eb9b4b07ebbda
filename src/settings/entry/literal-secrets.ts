/** Finds literal values of an entry that look like secrets. */

import { isRecord } from '../../domain/data/is-record.ts';
import { proxySecrets } from '../../policies/proxy-variables.ts';
import { isSecretField } from '../../policies/spec-texts.ts';
import { isPem } from '../../policies/text/pem.ts';
import { looksSecret, secretsInArgs, secretsInText } from '../../policies/text/redact.ts';
import type { TreePath } from '../settings-tree.ts';

// Prefixes that services give their keys so that scanners find them.
const knownKey =
  /\b(?:sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|npm_|hf_|eyJ[\w-]+\.)[\w-]{6,}/u;
// "key" alone may be that of a map; in the name of a variable or header it hardly ever is.
const keyName = /(?:^|[_-])key$/iu;
const reference = /\$\{[^}]*\}/gu;
// Shorter ones are words such as "on" and "Bearer".
const shortest = 4;

/** The paths of such values within an entry. */
export function literalSecretsOf(entry: Readonly<Record<string, unknown>>): readonly TreePath[] {
  const args = textsOf(entry['args']);
  const inArgs = new Set(secretsInArgs(args));
  return [
    ...['env', 'headers', 'tls'].flatMap((key) =>
      textEntriesOf(entry[key]).flatMap(([name, value]) =>
        isLiteral(value) && holdsSecretUnder(key, name, value) ? [[key, name]] : [],
      ),
    ),
    ...oauthSecretsOf(entry['oauth']),
    ...args.flatMap((value, index) => {
      const hasSecret = [...inArgs].some((secret) => value.includes(secret) && isLiteral(secret));
      return hasSecret || (isLiteral(value) && holdsSecret(value)) ? [['args', index]] : [];
    }),
    ...textsOf([entry['proxy']]).flatMap((proxy) =>
      proxySecrets(proxy).some(isLiteral) ? [['proxy']] : [],
    ),
    ...textsOf([entry['url']]).flatMap((url) =>
      hasSecretQuery(url) || holdsSecret(url) ? [['url']] : [],
    ),
  ];
}

function holdsSecretUnder(group: string, name: string, value: string): boolean {
  // The key of a certificate is a file, unless it is the key itself.
  if (group === 'tls') return name === 'passphrase' || (name === 'key' && isPem(value));
  return looksSecret(name) || keyName.test(name) || holdsSecret(value);
}

/** Redacts those values, to show the entry. */
export function withoutSecrets(
  entry: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const copy = structuredClone(entry) as Record<string, unknown>;
  for (const where of literalSecretsOf(entry)) {
    let holder: object = copy;
    for (const key of where.slice(0, -1)) holder = Reflect.get(holder, key) as object;
    Reflect.set(holder, where.at(-1) ?? '', '[redacted]');
  }
  return copy;
}

/** Finds the literal secrets of a login. A client id is not one. */
function oauthSecretsOf(oauth: unknown): readonly TreePath[] {
  const inner = isRecord(oauth) ? oauth['identity'] : undefined;
  const places = [
    ...textEntriesOf(oauth).map(([name, value]) => [['oauth', name], value] as const),
    ...textEntriesOf(inner).map(([name, value]) => [['oauth', 'identity', name], value] as const),
  ];
  return places.flatMap(([where, value]) =>
    isSecretField(where.join('.')) && isLiteral(value) ? [where] : [],
  );
}

/** Returns whether a string holds more than references and a scheme such as "Bearer". */
function isLiteral(text: string): boolean {
  const rest = text
    .replaceAll(reference, '')
    .replace(/^\s*(?:bearer|basic|token)\b/iu, '')
    .trim();
  return rest.length >= shortest;
}

function holdsSecret(text: string): boolean {
  return knownKey.test(text) || secretsInText(text).some(isLiteral);
}

function hasSecretQuery(url: string): boolean {
  return [...url.matchAll(/[?&]([^=&#]+)=([^&#]*)/gu)].some(
    ([, name = '', value = '']) => looksSecret(name) && isLiteral(value),
  );
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((it): it is string => typeof it === 'string') : [];
}

function textEntriesOf(value: unknown): readonly (readonly [string, string])[] {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return entries.filter((it): it is [string, string] => typeof it[1] === 'string');
}
