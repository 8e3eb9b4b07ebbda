/**
 * Parses an entry's key `oauth`: its schema, then the rules between its keys. Messages never repeat
 * a value.
 */

import path from 'node:path';

import type { Grant } from '../../domain/authorization.ts';
import { defined } from '../../domain/data/defined.ts';
import type { OAuthSpec, SecretFile } from '../../domain/server-spec.ts';
import { isLoopback, secureUrlFault } from '../../policies/secure-url.ts';
import { firstOf, schemaFault } from '../settings-tree.ts';
import { type OAuthEntry, type OAuthValue, oauthSchema } from './oauth-schema.ts';
import { type BrokenRule, parseUrl } from './rules.ts';

export type ParsedOAuth = { readonly oauth?: OAuthEntry | false } | { readonly fault: BrokenRule };

/** @param isLiteral - no string is a reference */
export function parseOAuth(given: unknown, isLiteral: boolean): ParsedOAuth {
  if (given === undefined) return {};
  if (given === false) return { oauth: false };
  const parsed = oauthSchema.safeParse(given);
  if (parsed.success) {
    const broken = firstOf(rules, (rule) => rule(parsed.data, isLiteral));
    return broken === undefined ? { oauth: parsed.data } : { fault: placed(broken) };
  }
  return { fault: placed(schemaFault(oauthSchema, parsed.error)) };
}

function placed({ path: where, message }: BrokenRule): BrokenRule {
  return { path: ['oauth', ...where], message };
}

type Key = keyof OAuthEntry;
type Rule = (oauth: OAuthEntry, isLiteral: boolean) => BrokenRule | undefined;

const broken = (key: string, message: string): BrokenRule => ({ path: [key], message });

/** Two ways to give the same thing. */
export const alternatives: readonly (readonly [Key, Key])[] = [
  ['privateKey', 'keyFile'],
  ['assertion', 'assertionFile'],
  ['clientId', 'clientMetadataUrl'],
];

const hasOneOfEach: Rule = (oauth) => {
  const both = alternatives.find((keys) => keys.every((key) => oauth[key] !== undefined));
  return both && broken(both[1], `"${both[0]}" and "${both[1]}" exclude each other; keep one`);
};

/** Keys that only one grant uses. */
export const keysByGrant: Readonly<Partial<Record<Grant, readonly Key[]>>> = {
  authorization_code: ['callbackPort', 'redirectUri', 'clientMetadataUrl'],
  enterprise: ['identity'],
  workload: ['assertion', 'assertionFile'],
};

const grantOf = ({ grant = 'authorization_code' }: OAuthEntry): Grant => grant;

const fitsGrant: Rule = (oauth) => {
  const own = grantOf(oauth);
  for (const [grant, keys] of Object.entries(keysByGrant)) {
    const key = grant === own ? undefined : keys.find((name) => oauth[name] !== undefined);
    if (key !== undefined)
      return broken(
        key,
        `"${key}" goes with "grant": "${grant}" only; set that, or remove the key`,
      );
  }
  return undefined;
};

/** What each grant needs: one key of each group. */
export const needsByGrant: Readonly<Record<Grant, readonly (readonly Key[])[]>> = {
  authorization_code: [],
  client_credentials: [['clientId'], ['clientSecret', 'privateKey', 'keyFile']],
  enterprise: [['clientId'], ['identity']],
  workload: [['assertion', 'assertionFile']],
};

const hasCredentials: Rule = (oauth) => {
  const missing = needsByGrant[grantOf(oauth)].find((keys) =>
    keys.every((key) => oauth[key] === undefined),
  );
  if (missing === undefined) return undefined;
  const words = missing.map((key) => `"${key}"`).join(' or ');
  return broken('grant', `"grant": "${grantOf(oauth)}" needs ${words}; add it`);
};

const keyWords: readonly Key[] = ['privateKey', 'keyFile'];
const secretWords: readonly Key[] = ['clientSecret', ...keyWords];

const hasClient: Rule = (oauth) => {
  if (oauth.clientId !== undefined) return undefined;
  const key = secretWords.find((name) => oauth[name] !== undefined);
  return key && broken(key, `"${key}" belongs to a client; add its "clientId"`);
};

const hasKey: Rule = (oauth) => {
  if (keyWords.some((key) => oauth[key] !== undefined)) return undefined;
  const key = (['algorithm', 'keyId'] as const).find((name) => oauth[name] !== undefined);
  return key && broken(key, `"${key}" belongs to a key; add "privateKey" or "keyFile"`);
};

const fitsMethod: Rule = (oauth) => {
  const { tokenEndpointAuthMethod: method, clientId, clientSecret } = oauth;
  // A client that is registered by the issuer gets its secret there.
  if (method === undefined || clientId === undefined) return undefined;
  const isWrong = (message: string): BrokenRule => broken('tokenEndpointAuthMethod', message);
  const hasPrivateKey = keyWords.some((key) => oauth[key] !== undefined);
  if (method === 'private_key_jwt')
    return hasPrivateKey
      ? undefined
      : isWrong('"private_key_jwt" needs "privateKey" or "keyFile"; add one');
  if (method === 'none')
    return clientSecret === undefined && !hasPrivateKey
      ? undefined
      : isWrong('"none" sends neither a secret nor a signature; remove the secret or this key');
  return clientSecret === undefined
    ? isWrong(`"${method}" needs "clientSecret"; add it`)
    : undefined;
};

const urlKeys = ['clientMetadataUrl', 'issuer', 'metadataUrl', 'redirectUri'] as const;

const hasSecureUrls: Rule = (oauth, isLiteral) =>
  firstOf(urlKeys, (key) => urlFault(oauth, [key], oauth[key], isLiteral)) ??
  urlFault(oauth, ['identity', 'issuer'], oauth.identity?.issuer, isLiteral);

function urlFault(
  { callbackPort }: OAuthEntry,
  where: readonly [string, ...string[]],
  text: string | undefined,
  isLiteral: boolean,
): BrokenRule | undefined {
  if (text === undefined) return undefined;
  const key = where.at(-1) ?? '';
  const fault = (words: string): BrokenRule => ({ path: where, message: `"${key}" ${words}` });
  // What a reference leads to is checked when it is resolved.
  if (!isLiteral && text.includes('${')) return undefined;
  const url = parseUrl(text, true);
  if (url === undefined)
    return fault('is not an address; write it whole, as in "https://login.example.com"');
  const words = secureUrlFault(url) ?? faultOf(key, url, callbackPort);
  return words === undefined ? undefined : fault(words);
}

/** The rules of single keys. */
function faultOf(key: string, url: URL, callbackPort: number | undefined): string | undefined {
  switch (key) {
    case 'issuer':
      return url.search === '' ? undefined : 'must not have a query; remove "?" and what follows';
    case 'clientMetadataUrl':
      return url.protocol === 'https:' && url.pathname !== '/'
        ? undefined
        : 'must be an https:// address with a path, as in "https://host/client.json"';
    case 'redirectUri':
      if (callbackPort === undefined || !isLoopback(url)) return undefined;
      return url.port === String(callbackPort)
        ? undefined
        : 'and "callbackPort" name different ports; remove "callbackPort"';
    default:
      return undefined;
  }
}

// RFC 6749, section 3.3.
const scopeToken = /^[\u0021\u0023-\u005b\u005d-\u007e]+$/u;

const hasPlainScopes: Rule = (oauth, isLiteral) => {
  const wrong = scopesOf(oauth)?.find(
    (scope) => (isLiteral || !scope.includes('${')) && !scopeToken.test(scope),
  );
  return wrong === undefined
    ? undefined
    : broken('scopes', 'a scope holds a blank or another character that none may have; fix it');
};

const hasPlainFiles: Rule = (oauth) => {
  const key = (['keyFile', 'assertionFile'] as const).find((name) => oauth[name]?.startsWith('~'));
  return key && broken(key, `"${key}" begins with "~", which only a shell expands; write \${HOME}`);
};

const rules: readonly Rule[] = [
  hasOneOfEach,
  fitsGrant,
  hasCredentials,
  hasClient,
  hasKey,
  fitsMethod,
  hasSecureUrls,
  hasPlainScopes,
  hasPlainFiles,
];

function scopesOf({ scopes }: OAuthEntry): readonly string[] | undefined {
  return typeof scopes === 'string' ? scopes.split(/\s+/u).filter((it) => it !== '') : scopes;
}

/** Values that may come from a command, with their paths in the entry. */
export function oauthValues(
  oauth: OAuthEntry,
): readonly (readonly [path: readonly string[], value: OAuthValue])[] {
  const { clientId, clientSecret, privateKey, assertion, identity } = oauth;
  const own = { clientId, clientSecret, privateKey, assertion };
  const { issuer: _, ...ofIdentity } = identity ?? { issuer: '' };
  return [
    ...Object.entries(own).map(([name, value]) => [['oauth', name], value] as const),
    ...Object.entries(ofIdentity).map(
      ([name, value]) => [['oauth', 'identity', name], value] as const,
    ),
  ].flatMap(([where, value]) => (value === undefined ? [] : [[where, value] as const]));
}

/** Texts that may hold references, and never come from a command. */
export function oauthPlainTexts(
  oauth: OAuthEntry,
): readonly { readonly path: readonly [string, ...(string | number)[]]; readonly text: string }[] {
  const keys = [...urlKeys, 'keyFile', 'keyId', 'assertionFile'] as const;
  const scopes = oauth.scopes ?? [];
  return [
    ...keys.map((key) => ({ path: ['oauth', key] as const, text: oauth[key] ?? '' })),
    { path: ['oauth', 'identity', 'issuer'] as const, text: oauth.identity?.issuer ?? '' },
    ...[scopes].flat().map((text, index) => ({
      path:
        typeof scopes === 'string'
          ? (['oauth', 'scopes'] as const)
          : (['oauth', 'scopes', index] as const),
      text,
    })),
  ];
}

/**
 * Returns the settings as a connection has them.
 *
 * @param textAt - the text of a value; undefined if a command gives it
 * @param within - the folder that a project's files must be in
 */
export function oauthSpecOf(
  oauth: OAuthEntry,
  textAt: (key: string) => string | undefined,
  { folder, isLiteral, within }: { folder: string; isLiteral: boolean; within?: string },
): OAuthSpec {
  const { clientMetadataUrl, issuer, metadataUrl, callbackPort, redirectUri } = oauth;
  const { algorithm, keyId, tokenEndpointAuthMethod, keyFile, assertionFile, identity, dpop } =
    oauth;
  const fileOf = (file: string | undefined): SecretFile | undefined => {
    if (file === undefined) return undefined;
    const isOpen = !isLiteral && file.startsWith('${');
    return {
      path: isOpen ? file : path.resolve(folder, file),
      ...defined({ within }),
    };
  };
  return {
    grant: grantOf(oauth),
    ...defined({
      clientId: textAt('oauth.clientId'),
      clientSecret: textAt('oauth.clientSecret'),
      clientMetadataUrl,
      scopes: scopesOf(oauth),
      metadataUrl,
      issuer,
      callbackPort,
      redirectUri,
      privateKey: textAt('oauth.privateKey'),
      keyFile: fileOf(keyFile),
      algorithm,
      keyId,
      tokenEndpointAuthMethod,
      assertion: textAt('oauth.assertion'),
      assertionFile: fileOf(assertionFile),
    }),
    ...(identity && {
      identity: {
        issuer: identity.issuer,
        ...defined({
          clientId: textAt('oauth.identity.clientId'),
          clientSecret: textAt('oauth.identity.clientSecret'),
          idToken: textAt('oauth.identity.idToken'),
        }),
      },
    }),
    ...(dpop === true && { dpop }),
  };
}
