/** Checks of signed tokens, without a library, so that the tested code's library is not trusted. */

import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';

export interface Jwt {
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
}

const parsed = (part = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;

/** Returns an ES256 or RS256 token's content if this key signed it; undefined otherwise. */
export function verifiedJwt(token: string, jwk?: JsonWebKey): Jwt | undefined {
  const [head, body, signature = ''] = token.split('.');
  try {
    const header = parsed(head);
    const key = createPublicKey({ key: jwk ?? (header['jwk'] as JsonWebKey), format: 'jwk' });
    const isSigned = verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
    return isSigned ? { header, claims: parsed(body) } : undefined;
  } catch {
    return undefined;
  }
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** The thumbprint of an elliptic key (RFC 7638). */
function thumbprintOf(jwk: JsonWebKey): string {
  const { crv, kty, x, y } = jwk;
  return hashOf(JSON.stringify({ crv, kty, x, y }));
}

/** What a DPoP proof is checked against. */
export interface ProofTarget {
  readonly method: string;
  readonly url: string;
  readonly nowMs: number;
  readonly nonce?: string | undefined;
  readonly accessToken?: string;
  /** The proofs seen before. */
  readonly seen: Set<string>;
}

/** Returns the key's thumbprint, or what is wrong with the proof (RFC 9449 section 4.3). */
export function checkProof(
  proof: string | undefined,
  target: ProofTarget,
): { readonly jkt: string } | { readonly error: 'invalid_dpop_proof' | 'use_dpop_nonce' } {
  const invalid = { error: 'invalid_dpop_proof' } as const;
  const jwt = verifiedJwt(proof ?? '');
  if (jwt === undefined) return invalid;
  const { header, claims } = jwt;
  const jwk = header['jwk'] as JsonWebKey;
  if (header['typ'] !== 'dpop+jwt' || header['alg'] !== 'ES256' || jwk.d !== undefined)
    return invalid;
  if (claims['htm'] !== target.method || claims['htu'] !== target.url) return invalid;
  if (Math.abs(Number(claims['iat']) * 1_000 - target.nowMs) > 300_000) return invalid;
  const id = String(claims['jti']);
  if (target.seen.has(id)) return invalid;
  target.seen.add(id);
  const { accessToken, nonce } = target;
  if (accessToken !== undefined && claims['ath'] !== hashOf(accessToken)) return invalid;
  if (nonce !== undefined && claims['nonce'] !== nonce) return { error: 'use_dpop_nonce' };
  return { jkt: thumbprintOf(jwk) };
}
