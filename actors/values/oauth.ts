/**
 * Resolves the login settings of a remote server. What a reference leads to is checked by the rules
 * that the settings apply to plain text.
 */

import { createPrivateKey, type KeyObject } from 'node:crypto';

import { defined } from '../../src/domain/data/defined.ts';
import type { OAuthSpec, SignatureAlgorithm } from '../../src/domain/server-spec.ts';
import { isLoopback, secureUrlFault } from '../../src/policies/secure-url.ts';
import { SettingError } from './setting-error.ts';

/** Login settings with their values. Everything in it may be secret. */
export interface ResolvedOAuth
  extends Omit<
    OAuthSpec,
    'privateKey' | 'keyFile' | 'keyId' | 'algorithm' | 'assertionFile' | 'identity' | 'dpop'
  > {
  /** As written: issuers are compared character by character (RFC 8414, section 3.3). */
  readonly issuer?: string;
  /** The client's key, for `private_key_jwt`. */
  readonly key?: ClientKey;
  readonly identity?: {
    readonly issuer: string;
    readonly clientId: string;
    readonly clientSecret?: string;
    readonly idToken: string;
  };
  readonly dpop: boolean;
}

export interface ClientKey {
  /** PKCS #8 in PEM. */
  readonly privateKey: string;
  readonly algorithm: SignatureAlgorithm;
  /** Names the key among several of the client. */
  readonly keyId?: string;
}

interface Resolving {
  readonly expand: (key: string, text: string) => string;
  /** Collects the secrets that are found. */
  readonly secrets: string[];
  readonly values: {
    readonly commands: ReadonlyMap<string, string>;
    readonly files: ReadonlyMap<string, string>;
  };
}

/** @throws SettingError */
export function resolveOAuth(
  oauth: OAuthSpec,
  { expand, secrets, values }: Resolving,
): ResolvedOAuth {
  const { grant, scopes, callbackPort, tokenEndpointAuthMethod, dpop = false, identity } = oauth;
  const textOf = (key: string, text: string | undefined): string | undefined => {
    const value = values.commands.get(key) ?? (text === undefined ? undefined : expand(key, text));
    if (value === '') throw new SettingError(`The value of "${key}" is empty.`);
    return value;
  };
  const urlOf = (key: string, text: string | undefined): string | undefined => {
    const value = textOf(key, text);
    if (value !== undefined) assertSecure(key, value);
    return value;
  };
  const own = (name: keyof OAuthSpec, text: string | undefined) => textOf(`oauth.${name}`, text);
  const privateKey = own('privateKey', oauth.privateKey) ?? values.files.get('oauth.keyFile');
  const assertion =
    own('assertion', oauth.assertion) ?? values.files.get('oauth.assertionFile')?.trim();
  return {
    grant,
    dpop,
    ...defined({
      clientId: own('clientId', oauth.clientId),
      clientSecret: own('clientSecret', oauth.clientSecret),
      clientMetadataUrl: urlOf('oauth.clientMetadataUrl', oauth.clientMetadataUrl),
      scopes: scopes?.map((scope, index) => expand(`oauth.scopes[${index}]`, scope)),
      metadataUrl: urlOf('oauth.metadataUrl', oauth.metadataUrl),
      issuer: urlOf('oauth.issuer', oauth.issuer),
      ...callbackOf(callbackPort, urlOf('oauth.redirectUri', oauth.redirectUri)),
      key:
        privateKey === undefined
          ? undefined
          : clientKey(privateKey, oauth, { keyId: own('keyId', oauth.keyId), secrets }),
      tokenEndpointAuthMethod,
      assertion,
    }),
    ...(identity && {
      identity: {
        issuer: urlOf('oauth.identity.issuer', identity.issuer) ?? '',
        clientId: textOf('oauth.identity.clientId', identity.clientId) ?? '',
        idToken: textOf('oauth.identity.idToken', identity.idToken) ?? '',
        ...defined({
          clientSecret: textOf('oauth.identity.clientSecret', identity.clientSecret),
        }),
      },
    }),
  };
}

/**
 * Completes the callback. A client that is registered with a port usually has Claude Code's address;
 * an address on this machine implies the port to listen on.
 */
function callbackOf(
  callbackPort: number | undefined,
  redirectUri: string | undefined,
): Pick<ResolvedOAuth, 'callbackPort' | 'redirectUri'> {
  if (redirectUri === undefined)
    return callbackPort === undefined
      ? {}
      : { callbackPort, redirectUri: `http://localhost:${callbackPort}/callback` };
  const url = new URL(redirectUri);
  const port = callbackPort ?? (isLoopback(url) && url.port !== '' ? Number(url.port) : undefined);
  return { redirectUri, ...defined({ callbackPort: port }) };
}

function assertSecure(key: string, text: string): void {
  const fault = URL.canParse(text) ? secureUrlFault(new URL(text)) : 'is not a valid URL';
  if (fault !== undefined) throw new SettingError(`The value of "${key}" ${fault}.`);
}

function clientKey(
  text: string,
  { algorithm, keyFile }: OAuthSpec,
  { keyId, secrets }: { readonly keyId: string | undefined; readonly secrets: string[] },
): ClientKey {
  const key = keyFile === undefined ? 'oauth.privateKey' : 'oauth.keyFile';
  let parsed: KeyObject;
  let jwk: Readonly<Record<string, unknown>> = {};
  try {
    if (text.trimStart().startsWith('{')) jwk = JSON.parse(text) as typeof jwk;
    parsed =
      'kty' in jwk
        ? createPrivateKey({ key: jwk, format: 'jwk' })
        : // In an environment, line ends of keys are often written as `\n`.
          createPrivateKey(text.replaceAll('\\n', '\n'));
  } catch {
    // The exception's message may contain parts of the key.
    throw new SettingError(
      `The value of "${key}" is not a private key, in PEM without a passphrase or as a JWK.`,
    );
  }
  const possible = algorithmsOf(parsed);
  const [usual] = possible;
  if (usual === undefined)
    throw new SettingError(
      `The key of "${key}" cannot sign; use an EC key (P-256, P-384, P-521), RSA or Ed25519.`,
    );
  const stated = algorithm ?? jwk['alg'];
  const chosen = stated === undefined ? usual : possible.find((name) => name === stated);
  if (chosen === undefined)
    throw new SettingError(
      `The key of "${key}" cannot sign with ${algorithm ?? 'the algorithm that it names'}; set "algorithm" to ${possible.join(' or ')}.`,
    );
  const privateKey = parsed.export({ type: 'pkcs8', format: 'pem' }).toString();
  const { d, p, q, kid } = jwk;
  secrets.push(privateKey, ...[d, p, q].filter((part) => typeof part === 'string'));
  const name = keyId ?? (typeof kid === 'string' ? kid : undefined);
  return { privateKey, algorithm: chosen, ...defined({ keyId: name }) };
}

const curves: Readonly<Record<string, SignatureAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};
const pss: readonly SignatureAlgorithm[] = ['PS256', 'PS384', 'PS512'];

/** Lists the algorithms that a key can be used with, the usual one first. */
function algorithmsOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): readonly SignatureAlgorithm[] {
  switch (type) {
    case 'rsa':
      return ['RS256', 'RS384', 'RS512', ...pss];
    case 'rsa-pss':
      return pss;
    case 'ed25519':
      return ['EdDSA'];
    case 'ec': {
      const algorithm = curves[details?.namedCurve ?? ''];
      return algorithm === undefined ? [] : [algorithm];
    }
    default:
      return [];
  }
}
