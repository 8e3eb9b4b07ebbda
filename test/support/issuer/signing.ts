/** The keys with which the test issuer signs access tokens, without a library. */

import { generateKeyPairSync, type JsonWebKey, type KeyObject, sign } from 'node:crypto';

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: JsonWebKey;
}

/** A key pair for ES256. */
export function createSigningKey(kid: string): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' };
  return { kid, privateKey, jwk };
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs claims with ES256; the header's fields may be replaced. */
export function signedJwt(
  { kid, privateKey }: Pick<SigningKey, 'kid' | 'privateKey'>,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const text = `${encoded({ alg: 'ES256', typ: 'at+jwt', kid, ...header })}.${encoded(claims)}`;
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' as const };
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}
