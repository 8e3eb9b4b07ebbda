/**
 * Finds the client that logs in at an issuer: the one in the settings, the one registered before, a
 * client ID metadata document, or a dynamic registration.
 */

import { constants, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import {
  type OAuthClientInformationFull,
  type OAuthClientInformationMixed,
  RegistrationRejectedError,
  registerClient,
  selectClientAuthMethod,
} from '@modelcontextprotocol/client';
import { defined } from '../../src/domain/data/defined.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import type { OAuthSpec } from '../../src/domain/server-spec.ts';
import { isLoopback } from '../../src/policies/secure-url.ts';
import type { Discovered } from './discovery.ts';
import { assertAvailable, type IssuerAccess } from './login-fetch.ts';
import { forSdk, jsonOf } from './metadata.ts';
import { attempt, type Outcome, quoted, refused, StepError, shownText } from './outcome.ts';

/** The client in the settings, with resolved values. */
export interface ClientSettings
  extends Pick<
    OAuthSpec,
    'clientId' | 'clientSecret' | 'clientMetadataUrl' | 'privateKey' | 'keyId'
  > {
  readonly authMethod?: ClientAuthMethod;
  /** Default: by the kind of key. */
  readonly signingAlgorithm?: string;
}

export const clientAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;
export type ClientAuthMethod = (typeof clientAuthMethods)[number];

/** A client as an earlier login stored it. */
export interface StoredClient {
  readonly issuer: string;
  readonly information: OAuthClientInformationMixed;
}

export interface Client {
  readonly how: 'settings' | 'stored' | 'metadataDocument' | 'registered';
  /** Stored with the credential, except for a client of the settings. */
  readonly information: OAuthClientInformationMixed;
  readonly key?: SigningKey;
}

export interface ClientNeeds {
  readonly settings?: ClientSettings;
  readonly stored?: StoredClient;
  /** Of the loopback listener; none for grants without a user. */
  readonly redirectUris: readonly string[];
  readonly scope?: string;
}

/** A client id is valid at the issuer that gave it only, so a stored one of another is not used. */
export function findClient(
  access: IssuerAccess,
  found: Discovered,
  needs: ClientNeeds,
): Promise<Outcome<Client>> {
  return attempt(access.signal, async () => {
    const { settings = {}, stored } = needs;
    if (settings.clientId !== undefined) return clientOf(settings, settings.clientId);
    if (settings.clientMetadataUrl !== undefined && found.offers.clientIdMetadata) {
      assertDocumentUrl(settings.clientMetadataUrl);
      const information = {
        client_id: settings.clientMetadataUrl,
        token_endpoint_auth_method: 'none',
        redirect_uris: [...needs.redirectUris],
      };
      return { how: 'metadataDocument', information };
    }
    if (stored !== undefined && isUsable(stored, found, needs.redirectUris, access))
      return { how: 'stored', information: stored.information };
    if (found.offers.registration) return register(access, found, needs);
    throw refused(
      'clientNeeded',
      `${quoted(found.issuer)} registers no clients by itself; register one there and set "oauth.clientId"`,
    );
  });
}

function clientOf(settings: ClientSettings, clientId: string): Client {
  const { clientSecret, privateKey, authMethod, signingAlgorithm, keyId } = settings;
  return {
    how: 'settings',
    information: {
      client_id: clientId,
      ...(clientSecret !== undefined && { client_secret: clientSecret }),
      ...(authMethod !== undefined && {
        token_endpoint_auth_method: authMethod,
        redirect_uris: [],
      }),
    },
    ...(privateKey !== undefined && {
      key: { privateKey, ...defined({ algorithm: signingAlgorithm, keyId }) },
    }),
  };
}

function assertDocumentUrl(text: string): void {
  const isValid = URL.canParse(text) && /^https:\/\/[^/]+\/./u.test(new URL(text).href);
  if (!isValid)
    throw refused('registration', `"clientMetadataUrl" ${quoted(text)} is not https with a path`);
}

function isUsable(
  { issuer, information }: StoredClient,
  found: Discovered,
  redirectUris: readonly string[],
  { clock }: IssuerAccess,
): boolean {
  if (issuer !== found.issuer) return false;
  const { client_secret_expires_at: expiresAt = 0 } = information;
  if (expiresAt !== 0 && expiresAt * 1_000 <= clock.wallNow()) return false;
  const registered = registeredRedirects(information);
  // Issuers may allow any port of this machine (RFC 8252), but many compare the whole URI.
  return registered.length === 0 || redirectUris.every((uri) => registered.includes(uri));
}

/** The redirect URIs of a client, so that a listener can use the port of its registration again. */
export function registeredRedirects(information: OAuthClientInformationMixed): readonly string[] {
  return 'redirect_uris' in information ? information.redirect_uris : [];
}

async function register(
  access: IssuerAccess,
  found: Discovered,
  { redirectUris, scope }: ClientNeeds,
): Promise<Client> {
  const { metadata } = found;
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['none'];
  const method = ['none', 'client_secret_basic', 'client_secret_post'].find((each) =>
    methods.includes(each),
  );
  const clientMetadata = {
    client_name: 'mcp-troupe',
    redirect_uris: [...redirectUris],
    grant_types: ['authorization_code', 'refresh_token', ...(found.offers.device ? [device] : [])],
    response_types: ['code'],
    // By its redirect URIs a client on this machine is native (OpenID Connect Registration).
    application_type: redirectUris.every((uri) => isLoopback(new URL(uri))) ? 'native' : 'web',
    ...(method !== undefined && { token_endpoint_auth_method: method }),
  };
  const fetchFn: IssuerAccess['fetch'] = async (url, init) => {
    const response = await access.fetch(url, init);
    assertAvailable(response, new URL(url), access.clock);
    return response;
  };
  const options = {
    metadata: forSdk(metadata),
    clientMetadata,
    fetchFn,
    ...(scope !== undefined && { scope }),
  };
  try {
    const information = await registerClient(found.issuer, options);
    return { how: 'registered', information: withRedirects(information, redirectUris) };
  } catch (error) {
    throw rejection(error, found.issuer);
  }
}

const device = 'urn:ietf:params:oauth:grant-type:device_code';

/** An issuer may leave out what it registered as asked. */
function withRedirects(
  information: OAuthClientInformationFull,
  asked: readonly string[],
): OAuthClientInformationFull {
  const { redirect_uris: registered } = information;
  return { ...information, redirect_uris: registered.length === 0 ? [...asked] : registered };
}

function rejection(error: unknown, issuer: string): unknown {
  if (error instanceof RegistrationRejectedError) {
    const body = jsonOf(error.body);
    const { error: code, error_description: text } = isRecord(body) ? body : {};
    const reason = [code, text].filter((each) => typeof each === 'string').join(': ');
    const shown = shownText(reason === '' ? `status ${error.status}` : reason);
    return refused(
      'registration',
      `${quoted(issuer)} rejected the registration (${shown}); register a client there and set "oauth.clientId"`,
      typeof code === 'string' ? code : undefined,
    );
  }
  if (error instanceof StepError || !(error instanceof Error)) return error;
  const isUnreadable = error.name.includes('ZodError') || error instanceof SyntaxError;
  return isUnreadable
    ? refused('registration', `${quoted(issuer)} answered the registration with no valid client`)
    : error;
}

const jwtAssertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Adds the client's authentication to a request to the issuer. */
export function authenticate(
  { information, key }: Client,
  { metadata }: Pick<Discovered, 'metadata'>,
  headers: Headers,
  parameters: URLSearchParams,
): void {
  const { client_id: id, client_secret: secret } = information;
  if (key !== undefined) {
    parameters.set('client_id', id);
    parameters.set('client_assertion', clientAssertion(key, id, metadata.issuer));
    parameters.set('client_assertion_type', jwtAssertion);
    return;
  }
  const supported = metadata.token_endpoint_auth_methods_supported ?? [];
  const method = selectClientAuthMethod(information, supported);
  // The SDK's own Basic credentials are not encoded as RFC 6749 section 2.3.1 wants.
  if (method === 'client_secret_basic' && secret !== undefined) {
    const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    return;
  }
  parameters.set('client_id', id);
  if (method === 'client_secret_post' && secret !== undefined)
    parameters.set('client_secret', secret);
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/** A client's key: a PEM, or a JWK as JSON. */
interface SigningKey {
  readonly privateKey: string;
  /** Default: as a JWK says, or by the kind of key. */
  readonly algorithm?: string;
  /** Names the key among several of the client. Default: as a JWK says. */
  readonly keyId?: string;
}

// As long as a slow issuer may take, and the clocks of two machines may differ.
const lifetimeSeconds = 300;

/** @param audience - the issuer */
export function clientAssertion(key: SigningKey, clientId: string, audience: string): string {
  const given = jsonOf(key.privateKey);
  const stated = isRecord(given) ? given : {};
  const signing = keyObjectOf(key.privateKey, given);
  const algorithm = key.algorithm ?? textOf(stated['alg']) ?? usualAlgorithm(signing);
  const kid = key.keyId ?? textOf(stated['kid']);
  const header = { alg: algorithm, typ: 'JWT', ...(kid !== undefined && { kid }) };
  const issuedAt = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + lifetimeSeconds,
    jti: randomUUID(),
  };
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${signature(text, signing, algorithm)}`;
}

function signature(text: string, key: KeyObject, algorithm: string): string {
  const isProbabilistic = algorithm.startsWith('PS');
  const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(-3)}`;
  return sign(digest, Buffer.from(text), {
    key,
    // As JWTs have it (RFC 7518, section 3.4), instead of ASN.1.
    dsaEncoding: 'ieee-p1363',
    ...(isProbabilistic && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  }).toString('base64url');
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

function keyObjectOf(text: string, given: unknown): KeyObject {
  try {
    return isRecord(given)
      ? createPrivateKey({ key: given, format: 'jwk' })
      : createPrivateKey(text);
  } catch {
    throw refused('registration', 'the private key in the settings is neither a PEM nor a JWK');
  }
}

const byCurve: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

function usualAlgorithm({ asymmetricKeyType: type, asymmetricKeyDetails: of }: KeyObject): string {
  if (type === 'ed25519') return 'EdDSA';
  return byCurve[of?.namedCurve ?? ''] ?? (type === 'rsa-pss' ? 'PS256' : 'RS256');
}
