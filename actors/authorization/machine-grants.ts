/** Requests tokens without a user: by a secret, a key, an identity provider, or a workload's identity. */

import type { DpopSession } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Discovered } from './discovery.ts';
import type { IssuerAccess } from './login-fetch.ts';
import { fetchMetadata, type IssuerMetadata } from './metadata.ts';
import type { Client } from './oauth-client.ts';
import { attempt, type Outcome, quoted, refused } from './outcome.ts';
import { postForm, requestTokens, type Tokens } from './tokens.ts';

/** An organization's identity provider, which says who may use which server. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Default: found in the metadata of the issuer. */
  readonly tokenEndpoint?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** The user's identity, from an earlier sign-in at the provider. */
  readonly subjectToken: string;
  /** Default: an OpenID Connect ID token. */
  readonly subjectTokenType?: string;
}

export type MachineGrant =
  /** The client's own secret or key. */
  | { readonly type: 'client_credentials' }
  /** A grant of the identity provider, exchanged for a token of the issuer (ID-JAG). */
  | { readonly type: 'enterprise'; readonly provider: IdentityProvider }
  /** A signed identity that the platform gives to a workload. */
  | { readonly type: 'workload'; readonly assertion: string };

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const idToken = 'urn:ietf:params:oauth:token-type:id_token';
const idJag = 'urn:ietf:params:oauth:token-type:id-jag';

/**
 * Requests a token. A refusal is never followed by another grant.
 *
 * @param options.providerAccess - to the identity provider, whose address comes from the settings;
 *   default: the access to the issuer
 */
export function requestToken(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  grant: MachineGrant,
  options: {
    readonly scope?: string;
    readonly dpop?: DpopSession;
    readonly providerAccess?: IssuerAccess;
  } = {},
): Promise<Outcome<Tokens>> {
  return attempt(access.signal, async () => {
    const { scope, dpop, providerAccess = access } = options;
    const own = await parametersFor(grant, providerAccess, found, scope);
    const parameters = { ...own, ...(scope !== undefined && { scope }) };
    return requestTokens(access, found, client, { parameters, scope, dpop });
  });
}

async function parametersFor(
  grant: MachineGrant,
  providerAccess: IssuerAccess,
  found: Discovered,
  scope: string | undefined,
): Promise<Record<string, string>> {
  if (grant.type === 'client_credentials') return { grant_type: 'client_credentials' };
  const assertion =
    grant.type === 'workload'
      ? grant.assertion
      : await authorizationGrant(providerAccess, grant.provider, found, scope);
  return { grant_type: jwtBearer, assertion };
}

const grantResponse = z.object({
  access_token: z.string().min(1),
  issued_token_type: z.literal(idJag),
});

/** Exchanges the user's identity for a grant that names the issuer and the server (RFC 8693). */
async function authorizationGrant(
  access: IssuerAccess,
  provider: IdentityProvider,
  found: Discovered,
  scope: string | undefined,
): Promise<string> {
  const { clientId, clientSecret, subjectToken, subjectTokenType = idToken } = provider;
  const metadata = await providerMetadata(access, provider);
  const information = {
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
  };
  const parameters = {
    grant_type: tokenExchange,
    requested_token_type: idJag,
    audience: found.issuer,
    resource: found.resource,
    subject_token: subjectToken,
    subject_token_type: subjectTokenType,
    ...(scope !== undefined && { scope }),
  };
  const body = await postForm(
    access,
    { metadata },
    { how: 'settings', information },
    { url: metadata.token_endpoint, parameters },
  );
  const read = grantResponse.safeParse(body);
  if (read.success) return read.data.access_token;
  throw refused('denied', `the identity provider ${quoted(provider.issuer)} gave no valid grant`);
}

async function providerMetadata(
  access: IssuerAccess,
  { issuer, tokenEndpoint }: IdentityProvider,
): Promise<IssuerMetadata> {
  if (tokenEndpoint === undefined) return fetchMetadata(access, issuer);
  return { issuer, token_endpoint: tokenEndpoint, response_types_supported: [] };
}
