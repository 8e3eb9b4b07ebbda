/** The strings of a server's login settings, by the names of their keys. */

import type { LogInSpec, OAuthSpec } from '../domain/server-spec.ts';

type Text = readonly [field: string, text: string];

/** Keys whose values are secrets, however they are written. */
const secretFields: ReadonlySet<string> = new Set([
  'oauth.clientSecret',
  'oauth.privateKey',
  'oauth.assertion',
  'oauth.identity.clientSecret',
  'oauth.identity.idToken',
]);

export function isSecretField(field: string): boolean {
  return secretFields.has(field);
}

/** Lists the strings that may hold references, in a fixed order. */
export function oauthTexts(oauth: OAuthSpec): readonly Text[] {
  const { identity, keyFile, assertionFile, scopes = [] } = oauth;
  return [
    ...present('oauth', {
      clientId: oauth.clientId,
      clientSecret: oauth.clientSecret,
      clientMetadataUrl: oauth.clientMetadataUrl,
      issuer: oauth.issuer,
      metadataUrl: oauth.metadataUrl,
      redirectUri: oauth.redirectUri,
      privateKey: oauth.privateKey,
      keyFile: keyFile?.path,
      keyId: oauth.keyId,
      assertion: oauth.assertion,
      assertionFile: assertionFile?.path,
    }),
    ...present('oauth.identity', { ...identity }),
    ...scopes.map((scope, index): Text => [`oauth.scopes[${index}]`, scope]),
  ];
}

/** Lists everything that decides a login, for the user who approves it. */
export function logInFacts({ oauth, account }: LogInSpec): readonly Text[] {
  return [...present('', { account }), ...(oauth === undefined ? [] : oauthFacts(oauth))];
}

function oauthFacts(oauth: OAuthSpec | false): readonly Text[] {
  if (oauth === false) return [['oauth', 'false']];
  const { grant, callbackPort, algorithm, tokenEndpointAuthMethod, dpop } = oauth;
  return [
    ['oauth.grant', grant],
    ...oauthTexts(oauth),
    ...present('oauth', {
      callbackPort: callbackPort?.toString(),
      algorithm,
      tokenEndpointAuthMethod,
      dpop: dpop?.toString(),
    }),
  ];
}

function present(
  group: string,
  texts: Readonly<Record<string, string | undefined>>,
): readonly Text[] {
  return Object.entries(texts).flatMap(([name, text]): readonly Text[] =>
    text === undefined ? [] : [[group === '' ? name : `${group}.${name}`, text]],
  );
}
