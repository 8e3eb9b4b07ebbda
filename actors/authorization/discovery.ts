/**
 * Finds out who issues tokens for a server: the server's metadata (RFC 9728) names the issuer, and
 * the issuer's metadata its endpoints.
 *
 * A server without metadata predates the RFC, so its origin is the issuer. An issuer without
 * metadata is refused, because nothing shows that it checks PKCE.
 */

import {
  checkResourceAllowed,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';

import { addressOf, RequestFailedError } from '../transports/connection/failure.ts';
import { canonicalResource } from '../transports/http/addresses.ts';
import type { Challenge } from './challenge.ts';
import type { IssuerAccess } from './login-fetch.ts';
import { documentsOf, fetchMetadata, fetchMetadataAt, type IssuerMetadata } from './metadata.ts';
import { attempt, type Outcome, quoted, refused, StepError } from './outcome.ts';

/** What is known before discovery. */
export interface DiscoveryHints {
  /** What the server sent with its refusal. */
  readonly challenge?: Challenge;
  /** The issuer to prefer if the server names several: that of the stored credential. */
  readonly issuer?: string;
  /** The only issuer that the settings allow. */
  readonly requiredIssuer?: string;
  /** The URL of the issuer's metadata in the settings, used instead of what the server names. */
  readonly metadataUrl?: string;
}

/** The checked metadata of a server and its issuer. */
export interface Discovered {
  /** Exactly as the issuer writes it: it is compared and stored in this form. */
  readonly issuer: string;
  readonly metadata: IssuerMetadata;
  /** The `resource` parameter of all requests (RFC 8707). */
  readonly resource: string;
  /** The scopes that the server supports. */
  readonly scopesSupported?: readonly string[];
  readonly offers: {
    readonly registration: boolean;
    readonly clientIdMetadata: boolean;
    readonly device: boolean;
    readonly revocation: boolean;
  };
  /** The server wants tokens bound to a key, and the issuer can bind them. */
  readonly isDpopWanted: boolean;
}

/** The algorithm of DPoP keys, which all implementations have. */
export const dpopAlgorithm = 'ES256';

export function discover(
  access: IssuerAccess,
  server: URL,
  hints: DiscoveryHints = {},
): Promise<Outcome<Discovered>> {
  return attempt(access.signal, async () => {
    const resource = await resourceMetadataOf(access, server, hints.challenge);
    if (resource !== undefined) assertFits(server, resource);
    const metadata =
      hints.metadataUrl === undefined
        ? await fetchMetadata(access, issuerOf(server, resource, hints))
        : await fetchMetadataAt(access, hints.metadataUrl);
    assertAllowed(metadata, hints.requiredIssuer);
    return discovered(server, resource, metadata, hints.challenge);
  });
}

type ResourceMetadata = OAuthProtectedResourceMetadata;

function discovered(
  server: URL,
  resource: ResourceMetadata | undefined,
  metadata: IssuerMetadata,
  challenge: Challenge | undefined,
): Discovered {
  const { scopes_supported: scopes, dpop_bound_access_tokens_required: isRequired } =
    resource ?? {};
  const canBind = metadata.dpop_signing_alg_values_supported?.includes(dpopAlgorithm) === true;
  return {
    issuer: metadata.issuer,
    metadata,
    resource: resource?.resource ?? canonicalResource(server),
    ...(scopes !== undefined && { scopesSupported: scopes }),
    offers: {
      registration: metadata.registration_endpoint !== undefined,
      clientIdMetadata: metadata.client_id_metadata_document_supported === true,
      device: metadata.device_authorization_endpoint !== undefined,
      revocation: metadata.revocation_endpoint !== undefined,
    },
    isDpopWanted: canBind && (challenge?.scheme === 'DPoP' || isRequired === true),
  };
}

async function resourceMetadataOf(
  access: IssuerAccess,
  server: URL,
  challenge: Challenge | undefined,
): Promise<ResourceMetadata | undefined> {
  const named = challenge?.resourceMetadataUrl;
  if (named !== undefined) {
    if (!URL.canParse(named))
      throw refused('discovery', `the server's metadata has no valid URL, ${quoted(named)}`);
    const given = await askForResource(access, server, new URL(named));
    if (given !== undefined) return given;
  }
  // The query may contain a key for the server.
  return askForResource(access, new URL(canonicalResource(server)));
}

async function askForResource(
  access: IssuerAccess,
  server: URL,
  resourceMetadataUrl?: URL,
): Promise<ResourceMetadata | undefined> {
  let last = '';
  let isFound = false;
  const fetchDocument = documentsOf(access);
  const fetch: FetchLike = async (url, init) => {
    last = String(url);
    const response = await fetchDocument(url, init);
    isFound = response.ok;
    return response;
  };
  const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  try {
    return await discoverOAuthProtectedResourceMetadata(server, options, fetch);
  } catch (error) {
    if (error instanceof StepError || error instanceof RequestFailedError) throw error;
    // Either no place has it, or the SDK's schema rejects it.
    if (!isFound) return undefined;
    throw refused('discovery', `the server's metadata at ${addressOf(last)} is invalid`);
  }
}

/**
 * A server must not send its users to the issuer of another one. Real servers often name their
 * origin or a parent path, which RFC 9728, section 3.3, does not allow: the user is shown that.
 */
function assertFits(server: URL, { resource }: ResourceMetadata): void {
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  if (url !== undefined && `${url.username}${url.password}` !== '')
    throw refused(
      'discovery',
      `the metadata of ${addressOf(server)} names a resource with a user name or password`,
    );
  const isFitting =
    url !== undefined &&
    checkResourceAllowed({ requestedResource: server, configuredResource: resource });
  if (isFitting) return;
  throw refused(
    'discovery',
    `the metadata of ${addressOf(server)} is about another resource, ${quoted(resource)}`,
  );
}

function issuerOf(
  server: URL,
  resource: ResourceMetadata | undefined,
  { issuer, requiredIssuer }: DiscoveryHints,
): string {
  const named = resource?.authorization_servers ?? [];
  const preferred = requiredIssuer ?? issuer;
  // The metadata may be at a place that only a refusal names, and there may have been none yet.
  const chosen =
    resource === undefined ? preferred : (named.find((each) => each === preferred) ?? named[0]);
  if (chosen !== undefined) return chosen;
  if (resource !== undefined)
    throw refused('discovery', `the metadata of ${addressOf(server)} names no issuer`);
  return `${server.origin}/`;
}

function assertAllowed({ issuer }: IssuerMetadata, required: string | undefined): void {
  if (required === undefined || required === issuer) return;
  throw refused(
    'discovery',
    `the server names the issuer ${quoted(issuer)}, but the settings allow ${quoted(required)} only`,
  );
}
