/**
 * Finds out who issues tokens for a server: the server's metadata (RFC 9728) names the issuer, and
 * the issuer's metadata (RFC 8414, OpenID Connect Discovery) its endpoints.
 *
 * A server without metadata predates it; its origin is then the issuer. An issuer without metadata
 * is refused, because nothing would say that it checks PKCE.
 */

import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';

import { isRecord } from '../../src/policies/is-record.ts';
import { addressOf, RequestFailedError } from '../transports/connection/failure.ts';
import { assertAvailable, type IssuerAccess, permittedUrl } from './access.ts';
import type { Challenge } from './challenge.ts';
import { attempt, type Outcome, quoted, refused, StepError } from './outcome.ts';

/** What is known before discovery. */
export interface DiscoveryHints {
  /** What the server sent with its refusal. */
  readonly challenge?: Challenge;
  /** The issuer to prefer if the server names several: the one of the stored credential. */
  readonly issuer?: string;
  /** The only issuer that the settings allow. */
  readonly requiredIssuer?: string;
  /** The issuer's metadata by the settings, instead of what the server names. */
  readonly metadataUrl?: string;
}

/** What a server and its issuer say about themselves, checked. */
export interface Discovered {
  /** Exactly as the issuer writes it: it is compared and stored in this form. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** The `resource` parameter of all requests (RFC 8707). */
  readonly resource: string;
  /** The scopes that the server knows. */
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
        ? await metadataOf(access, issuerOf(server, resource, hints))
        : await metadataAt(access, hints.metadataUrl);
    assertIssuer(metadata, hints.requiredIssuer);
    assertEndpoints(metadata);
    return discovered(server, resource, metadata, hints.challenge);
  });
}

type Metadata = AuthorizationServerMetadata;
type ResourceMetadata = OAuthProtectedResourceMetadata;

function discovered(
  server: URL,
  resource: ResourceMetadata | undefined,
  metadata: Metadata,
  challenge: Challenge | undefined,
): Discovered {
  const { scopes_supported: scopes, dpop_bound_access_tokens_required: isRequired } =
    resource ?? {};
  const algorithms = extra(metadata, 'dpop_signing_alg_values_supported');
  const canBind = Array.isArray(algorithms) && algorithms.includes(dpopAlgorithm);
  return {
    issuer: metadata.issuer,
    metadata,
    resource: resource?.resource ?? canonicalResource(server),
    ...(scopes !== undefined && { scopesSupported: scopes }),
    offers: {
      registration: metadata.registration_endpoint !== undefined,
      clientIdMetadata: extra(metadata, 'client_id_metadata_document_supported') === true,
      device: typeof extra(metadata, 'device_authorization_endpoint') === 'string',
      revocation: typeof extra(metadata, 'revocation_endpoint') === 'string',
    },
    isDpopWanted: canBind && (challenge?.scheme === 'DPoP' || isRequired === true),
  };
}

/** The algorithm of DPoP keys, which all implementations have. */
export const dpopAlgorithm = 'ES256';

/** Reads a field that the types know in one of the two kinds of metadata only, or not at all. */
export function extra(metadata: Metadata, name: string): unknown {
  return (metadata as Readonly<Record<string, unknown>>)[name];
}

/** The server's URL as a resource indicator: without query, fragment and the slash of a bare host. */
export function canonicalResource(server: URL): string {
  return server.pathname === '/' ? server.origin : `${server.origin}${server.pathname}`;
}

async function resourceMetadataOf(
  access: IssuerAccess,
  server: URL,
  challenge: Challenge | undefined,
): Promise<ResourceMetadata | undefined> {
  const named = challenge?.resourceMetadataUrl;
  if (named !== undefined && URL.canParse(named)) {
    const given = await askForResource(access, server, new URL(named));
    if (given !== undefined) return given;
  }
  const plain = new URL(canonicalResource(server));
  return askForResource(access, plain);
}

async function askForResource(
  access: IssuerAccess,
  server: URL,
  resourceMetadataUrl?: URL,
): Promise<ResourceMetadata | undefined> {
  const place = documents(access);
  const options = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl };
  try {
    return await discoverOAuthProtectedResourceMetadata(server, options, place.fetch);
  } catch (error) {
    if (place.lastStatus() === 404) return undefined;
    throw invalidAt(error, place.lastUrl());
  }
}

/** A server must not send its users to the issuer of another one. */
function assertFits(server: URL, { resource }: ResourceMetadata): void {
  const isFitting =
    URL.canParse(resource) &&
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
  const chosen = named.find((each) => each === preferred) ?? named[0];
  if (chosen !== undefined) return chosen;
  if (resource !== undefined)
    throw refused('discovery', `the metadata of ${addressOf(server)} names no issuer`);
  return `${server.origin}/`;
}

async function metadataOf(access: IssuerAccess, issuer: string): Promise<Metadata> {
  await access.check(issuer, 'the issuer');
  const place = documents(access);
  // Keeps the server's spelling, with which the metadata is compared.
  const options = { fetchFn: place.fetch };
  const metadata = await discoverAuthorizationServerMetadata(issuer, options).catch((error) => {
    throw invalidAt(error, place.lastUrl());
  });
  if (metadata !== undefined) return metadata;
  throw refused('discovery', `the issuer ${quoted(issuer)} has no metadata at the known places`);
}

async function metadataAt(access: IssuerAccess, text: string): Promise<Metadata> {
  const url = await access.check(text, 'the metadata URL in the settings');
  const place = documents(access);
  // The document is the user's choice, so it may name any issuer.
  const options = { fetchFn: () => place.fetch(url), skipIssuerValidation: true };
  const metadata = await discoverAuthorizationServerMetadata(url.origin, options).catch((error) => {
    throw invalidAt(error, place.lastUrl());
  });
  if (metadata !== undefined) return metadata;
  throw refused('discovery', `${addressOf(url)} has no metadata of an issuer`);
}

/**
 * Fetches metadata documents. Applications answer unknown paths with a page and status 200, which
 * becomes 404 here, so that the next place is tried.
 */
function documents(access: IssuerAccess) {
  let status = 0;
  let last = '';
  const fetch: FetchLike = async (url, init) => {
    last = String(url);
    const response = await access.fetch(url, init);
    assertAvailable(response, new URL(url), access.clock);
    const isMissing = !response.ok || !isRecord(jsonOf(await response.clone().text()));
    status = isMissing ? 404 : response.status;
    return isMissing ? new Response(null, { status: 404 }) : response;
  };
  return { fetch, lastStatus: () => status, lastUrl: () => last };
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Names the document that the SDK's schema rejected; passes on other errors. */
function invalidAt(error: unknown, url: string): unknown {
  if (!(error instanceof Error) || error instanceof StepError) return error;
  if (error instanceof RequestFailedError || !error.name.includes('ZodError')) return error;
  const issues = 'issues' in error && Array.isArray(error.issues) ? error.issues : [];
  const field = issues.map(({ path }: { path: unknown[] }) => path.join('.')).join(', ');
  return refused('discovery', `the metadata at ${addressOf(url)} is invalid: ${field}`);
}

function assertIssuer({ issuer }: Metadata, required: string | undefined): void {
  permittedUrl(issuer, 'the issuer');
  if (required === undefined || required === issuer) return;
  throw refused(
    'discovery',
    `the server names the issuer ${quoted(issuer)}, but the settings allow ${quoted(required)} only`,
  );
}

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'device_authorization_endpoint',
  'revocation_endpoint',
];

/** One endpoint that may not be used makes all of the document suspect. */
function assertEndpoints(metadata: Metadata): void {
  for (const name of endpoints) {
    const url = extra(metadata, name);
    if (typeof url === 'string') permittedUrl(url, `the ${name} of ${quoted(metadata.issuer)}`);
  }
}
