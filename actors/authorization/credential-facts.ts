/** What the steps of a login read from settings and from a stored credential. */

import type { DpopSession } from '@modelcontextprotocol/client';

import type { TokenFacts } from '../../src/domain/authorization.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { isLoopback } from '../../src/policies/secure-url.ts';
import type { StoredCredential } from '../stores/credentials-record.ts';
import { otherResource } from '../transports/http/addresses.ts';
import type { ResolvedOAuth } from '../values/oauth.ts';
import type { CredentialPorts, ShownUrl } from './credential-ports.ts';
import type { Discovered } from './discovery.ts';
import type { DpopKey } from './dpop.ts';
import type { MachineGrant } from './machine-grants.ts';
import type { Client, ClientSettings } from './oauth-client.ts';
import type { RedirectPlace } from './redirect-listener.ts';
import { scopeList } from './scopes.ts';
import type { Tokens } from './tokens.ts';

/** Returns the facts about a credential that charts and users may see. */
export function factsOf({ generation, issuer, tokens }: StoredCredential): TokenFacts {
  return {
    generation,
    issuer,
    scopes: scopeList(tokens.scope),
    expiresAtMs: tokens.expiresAtMs ?? null,
    isRefreshable: tokens.refreshToken !== undefined,
  };
}

/** Returns where on this machine the redirect arrives; undefined for the default place. */
export function ownPlaceOf(redirectUri: string | undefined): RedirectPlace | undefined {
  const url = redirectUri === undefined ? undefined : new URL(redirectUri);
  if (url === undefined || !isLoopback(url)) return undefined;
  return { hostname: url.hostname, path: url.pathname };
}

export function isPast(timeMs: number | undefined, nowMs: number): boolean {
  return timeMs !== undefined && timeMs <= nowMs;
}

export function clientSettingsOf(settings: ResolvedOAuth): ClientSettings {
  const { clientId, clientSecret, clientMetadataUrl, tokenEndpointAuthMethod, key } = settings;
  return defined({
    clientId,
    clientSecret,
    clientMetadataUrl,
    authMethod: tokenEndpointAuthMethod,
    privateKey: key?.privateKey,
    signingAlgorithm: key?.algorithm,
    keyId: key?.keyId,
  });
}

/** Returns the grant that needs no user; undefined if a user has to log in. */
export function grantOf(settings: ResolvedOAuth): MachineGrant | undefined {
  const { grant, identity, assertion } = settings;
  if (grant === 'client_credentials') return { type: grant };
  if (grant === 'workload' && assertion !== undefined) return { type: grant, assertion };
  if (grant !== 'enterprise' || identity === undefined) return undefined;
  const { issuer, clientId, clientSecret, idToken } = identity;
  const provider = { issuer, clientId, subjectToken: idToken, ...defined({ clientSecret }) };
  return { type: grant, provider };
}

/** Returns the headers that present a token with a request to the server. */
export async function tokenHeaders(
  { accessToken, tokenType }: { readonly accessToken: string; readonly tokenType: string },
  method: string,
  url: URL,
  session: DpopSession | undefined,
): Promise<Readonly<Record<string, string>>> {
  if (tokenType !== 'DPoP' || session === undefined)
    return { authorization: `Bearer ${accessToken}` };
  const proof = await session.buildProof({ htm: method, htu: url, accessToken });
  return { authorization: `DPoP ${accessToken}`, dpop: proof };
}

/** Returns what the issuer is asked for, which the user sees before the login. */
export function asksFor(
  { server }: Pick<CredentialPorts, 'server'>,
  { resource }: Pick<Discovered, 'resource'>,
  scope: string | undefined,
): Pick<ShownUrl, 'scopes' | 'resource'> {
  return { scopes: scopeList(scope), ...defined({ resource: otherResource(server, resource) }) };
}

export type NewRecord = Omit<StoredCredential, 'generation'>;

/** Returns the record of tokens that were just obtained. */
export function recordOf(
  id: StoredCredential['id'],
  issuer: string,
  { information }: Client,
  { tokens, key, nowMs }: { tokens: Tokens; key: DpopKey | undefined; nowMs: number },
): NewRecord {
  return {
    id,
    issuer,
    client: information,
    tokens,
    ...(key !== undefined && { dpopKey: key.jwk }),
    obtainedAtMs: nowMs,
  };
}
