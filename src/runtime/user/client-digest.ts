/** Tells the clients of different settings apart. */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ResolvedOAuth } from '../../../actors/values/oauth.ts';

/** Identifies the client that the settings name. Nothing can be learnt from the digest of a secret key. */
export function digestOf({
  grant,
  clientId,
  clientMetadataUrl,
  metadataUrl,
  issuer,
  identity,
}: ResolvedOAuth): string {
  const text = canonicalize({
    grant,
    clientId: clientId ?? null,
    clientMetadataUrl: clientMetadataUrl ?? null,
    metadataUrl: metadataUrl ?? null,
    issuer: issuer ?? null,
    ...(identity && { identity: { issuer: identity.issuer, clientId: identity.clientId } }),
  });
  return createHash('sha256')
    .update(text ?? '')
    .digest('base64url');
}
