/** Tells the clients of different settings apart. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { OAuthSpec } from '../../domain/server-spec.ts';

type Client = Pick<
  OAuthSpec,
  'grant' | 'clientId' | 'clientMetadataUrl' | 'metadataUrl' | 'issuer' | 'identity'
>;

/** Identifies the client that the settings name. Nothing can be learnt from the digest of a secret key. */
export function digestOf(client: Client): string {
  return createHash('sha256').update(textOf(client)).digest('base64url');
}

/** Whether a part of the client is known only once its references are resolved. */
export function hasReferences(client: Client): boolean {
  return textOf(client).includes('${');
}

function textOf({
  grant,
  clientId,
  clientMetadataUrl,
  metadataUrl,
  issuer,
  identity,
}: Client): string {
  const text = canonicalize({
    grant,
    clientId: clientId ?? null,
    clientMetadataUrl: clientMetadataUrl ?? null,
    metadataUrl: metadataUrl ?? null,
    issuer: issuer ?? null,
    ...(identity && { identity: { issuer: identity.issuer, clientId: identity.clientId } }),
  });
  return text ?? '';
}
