/**
 * An issuer's metadata (RFC 8414, OpenID Connect Discovery), fetched and checked.
 *
 * The SDK's `discoverAuthorizationServerMetadata` demands of OpenID metadata the fields that only a
 * sign-in needs, which issuers of access tokens and identity providers for workloads leave out.
 */

import {
  type AuthorizationServerMetadata,
  buildDiscoveryUrls,
  type FetchLike,
} from '@modelcontextprotocol/client';
import { z } from 'zod';

import { isRecord } from '../../src/domain/data/is-record.ts';
import { addressOf } from '../transports/connection/failure.ts';
import { assertAvailable, type IssuerAccess, permittedUrl } from './login-fetch.ts';
import { quoted, refused } from './outcome.ts';

const texts = z.array(z.string()).optional().catch(undefined);
const flag = z.literal(true).optional().catch(undefined);

// Loose: registration and authorization take the other fields too.
const schema = z.looseObject({
  issuer: z.string(),
  token_endpoint: z.string(),
  authorization_endpoint: z.string().optional(),
  registration_endpoint: z.string().optional(),
  device_authorization_endpoint: z.string().optional(),
  revocation_endpoint: z.string().optional(),
  // Issuers that leave it out mean the code flow.
  response_types_supported: z.array(z.string()).default(['code']),
  code_challenge_methods_supported: texts,
  token_endpoint_auth_methods_supported: texts,
  scopes_supported: texts,
  dpop_signing_alg_values_supported: texts,
  client_id_metadata_document_supported: flag,
  authorization_response_iss_parameter_supported: flag,
});

export type IssuerMetadata = z.infer<typeof schema>;

/** The metadata as the SDK's functions take it. Only that of an issuer with a page for users may be. */
export function forSdk(metadata: IssuerMetadata): AuthorizationServerMetadata {
  return metadata as unknown as AuthorizationServerMetadata;
}

/** Fetches the metadata from the known places, in the specified order. */
export async function fetchMetadata(access: IssuerAccess, issuer: string): Promise<IssuerMetadata> {
  await access.check(issuer, 'the issuer');
  const fetch = documentsOf(access);
  for (const { url } of buildDiscoveryUrls(issuer)) {
    const response = await fetch(url);
    if (!response.ok) continue;
    const metadata = parsed(await response.json(), url);
    // RFC 8414 section 3.3. The slash of a bare host is written or left out.
    if (metadata.issuer === issuer || `${metadata.issuer}/` === issuer) return metadata;
    throw refused(
      'discovery',
      `the metadata of ${quoted(issuer)} names another issuer, ${quoted(metadata.issuer)}`,
    );
  }
  throw refused('discovery', `the issuer ${quoted(issuer)} has no metadata at the known places`);
}

/** Fetches the document that the settings name. The user chose it, so it may name any issuer. */
export async function fetchMetadataAt(access: IssuerAccess, text: string): Promise<IssuerMetadata> {
  const url = await access.check(text, 'the metadata URL in the settings');
  const response = await documentsOf(access)(url);
  if (response.ok) return parsed(await response.json(), url);
  throw refused('discovery', `${addressOf(url)} has no metadata of an issuer`);
}

/**
 * Fetches metadata documents. Applications answer unknown paths with a page and status 200, which
 * becomes 404 here, so that the next place is tried.
 */
export function documentsOf(access: IssuerAccess): FetchLike {
  return async (url, init) => {
    const response = await access.fetch(url, init);
    assertAvailable(response, new URL(url), access.clock);
    const isMissing = !response.ok || !isRecord(jsonOf(await response.clone().text()));
    return isMissing ? new Response(null, { status: 404 }) : response;
  };
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const endpoints = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'device_authorization_endpoint',
  'revocation_endpoint',
] as const;

function parsed(document: unknown, url: URL): IssuerMetadata {
  const read = schema.safeParse(document);
  if (!read.success) {
    const fields = read.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw refused('discovery', `the metadata at ${addressOf(url)} is invalid: ${fields}`);
  }
  const metadata = read.data;
  permittedUrl(metadata.issuer, 'the issuer');
  // It is kept and shown as it is written.
  if (!/^[\x21-\x7e]+$/u.test(metadata.issuer))
    throw refused(
      'discovery',
      `the issuer ${quoted(metadata.issuer)} is not a URL as it is written`,
    );
  // One endpoint that may not be used makes all of the document suspect.
  for (const name of endpoints)
    if (metadata[name] !== undefined)
      permittedUrl(metadata[name], `the ${name} of ${quoted(metadata.issuer)}`);
  return metadata;
}
