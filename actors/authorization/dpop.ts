/**
 * Keys for DPoP (RFC 9449), one per credential. The key is exportable, because a token that is
 * bound to it is of no use to the next process without it; it is stored beside the token.
 */

import { createHash, type JsonWebKey, webcrypto } from 'node:crypto';

import { DpopSession, generateDpopKeyPair } from '@modelcontextprotocol/client';

import { dpopAlgorithm } from './discovery.ts';

export interface DpopKey {
  /** Signs proofs, and remembers the nonces of the issuer and the server. */
  readonly session: DpopSession;
  /** The private key. Secret. */
  readonly jwk: JsonWebKey;
}

export async function createDpopKey(): Promise<DpopKey> {
  const keyPair = await generateDpopKeyPair({ alg: dpopAlgorithm, extractable: true });
  const jwk = (await webcrypto.subtle.exportKey('jwk', keyPair.privateKey)) as JsonWebKey;
  return { session: await DpopSession.create({ keyPair }), jwk };
}

/** Restores a stored key. Rejects if it is not a P-256 key. */
export async function restoreDpopKey(jwk: JsonWebKey): Promise<DpopKey> {
  const { kty = '', crv = '', x = '', y = '' } = jwk;
  const publicJwk = { kty, crv, x, y };
  const kind = { name: 'ECDSA', namedCurve: 'P-256' };
  const load = (key: JsonWebKey, use: 'sign' | 'verify') =>
    webcrypto.subtle.importKey('jwk', { ...key, key_ops: [use] }, kind, true, [use]);
  const keyPair = {
    privateKey: await load(jwk, 'sign'),
    publicKey: await load(publicJwk, 'verify'),
    publicJwk,
    // RFC 7638: these members in this order.
    thumbprint: createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url'),
    alg: dpopAlgorithm,
  } as const;
  return { session: await DpopSession.create({ keyPair }), jwk };
}
