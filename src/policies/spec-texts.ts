/** The strings of a server's settings, by the names of their keys. */

import {
  type LogInSpec,
  type MemorySpec,
  type OAuthSpec,
  type RemoteSpec,
  type ServerSpec,
  tlsKeys,
} from '../domain/server-spec.ts';

export type Text = readonly [field: string, text: string];

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
export function specTexts(spec: Exclude<ServerSpec, MemorySpec>): readonly Text[] {
  if (spec.type !== 'stdio')
    return [
      ['url', spec.url],
      ...textsOf('headers', spec.headers),
      ...(spec.oauth ? oauthTexts(spec.oauth) : []),
      ...reachTexts(spec),
    ];
  const { command, args, cwd, env, values } = spec;
  return [
    ['command', command],
    ...args.map((text, index): Text => [`args[${index}]`, text]),
    ...textsOf('', { cwd, envFile: values?.envFile?.path }),
    ...textsOf('env', env),
  ];
}

/** Lists the strings that decide how a remote server is reached. */
export function reachTexts({ proxy, tls }: RemoteSpec): readonly Text[] {
  return [
    ...textsOf('', { proxy: proxy === false ? 'none' : proxy }),
    ...tlsKeys.flatMap((key) => textsOf('tls', { [key]: tls?.[key] })),
  ];
}

function oauthTexts(oauth: OAuthSpec): readonly Text[] {
  const { identity, keyFile, assertionFile, scopes = [] } = oauth;
  return [
    ...textsOf('oauth', {
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
    ...textsOf('oauth.identity', { ...identity }),
    ...scopes.map((scope, index): Text => [`oauth.scopes[${index}]`, scope]),
  ];
}

/** Lists everything that decides a login, for the user who approves it. */
export function logInFacts({ oauth, account }: LogInSpec): readonly Text[] {
  return [...textsOf('', { account }), ...(oauth === undefined ? [] : oauthFacts(oauth))];
}

function oauthFacts(oauth: OAuthSpec | false): readonly Text[] {
  if (oauth === false) return [['oauth', 'false']];
  const { grant, callbackPort, algorithm, tokenEndpointAuthMethod, dpop } = oauth;
  return [
    ['oauth.grant', grant],
    ...oauthTexts(oauth),
    ...textsOf('oauth', {
      callbackPort: callbackPort?.toString(),
      algorithm,
      tokenEndpointAuthMethod,
      dpop: dpop?.toString(),
    }),
  ];
}

/** Lists the strings of a group; without a name, those of the entry itself. */
export function textsOf(
  group: string,
  texts: Readonly<Record<string, string | undefined>>,
): readonly Text[] {
  return Object.entries(texts).flatMap(([name, text]): readonly Text[] =>
    text === undefined ? [] : [[group === '' ? name : `${group}.${name}`, text]],
  );
}
