/** Signs the assertion with which a client proves who it is: `private_key_jwt` (RFC 7523). */

import { constants, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';

import { isRecord } from '../../src/domain/data/is-record.ts';
import { jsonOf } from './metadata.ts';
import { refused } from './outcome.ts';

/** A client's key: a PEM, or a JWK as JSON. */
export interface SigningKey {
  readonly privateKey: string;
  /** Default: as a JWK says, or by the kind of key. */
  readonly algorithm?: string;
  /** Names the key among several of the client. Default: as a JWK says. */
  readonly keyId?: string;
}

// As long as a slow issuer may take, and the clocks of two machines may differ.
const lifetimeSeconds = 300;

/** @param audience - the issuer */
export function clientAssertion(key: SigningKey, clientId: string, audience: string): string {
  const given = jsonOf(key.privateKey);
  const stated = isRecord(given) ? given : {};
  const signing = keyObjectOf(key.privateKey, given);
  const algorithm = key.algorithm ?? textOf(stated['alg']) ?? usualAlgorithm(signing);
  const kid = key.keyId ?? textOf(stated['kid']);
  const header = { alg: algorithm, typ: 'JWT', ...(kid !== undefined && { kid }) };
  const issuedAt = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + lifetimeSeconds,
    jti: randomUUID(),
  };
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${signature(text, signing, algorithm)}`;
}

function signature(text: string, key: KeyObject, algorithm: string): string {
  const isProbabilistic = algorithm.startsWith('PS');
  const digest = algorithm === 'EdDSA' ? null : `sha${algorithm.slice(-3)}`;
  return sign(digest, Buffer.from(text), {
    key,
    // As JWTs have it (RFC 7518, section 3.4), instead of ASN.1.
    dsaEncoding: 'ieee-p1363',
    ...(isProbabilistic && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  }).toString('base64url');
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

function keyObjectOf(text: string, given: unknown): KeyObject {
  try {
    return isRecord(given)
      ? createPrivateKey({ key: given, format: 'jwk' })
      : createPrivateKey(text);
  } catch {
    throw refused('registration', 'the private key in the settings is neither a PEM nor a JWK');
  }
}

const byCurve: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

function usualAlgorithm({ asymmetricKeyType: type, asymmetricKeyDetails: of }: KeyObject): string {
  if (type === 'ed25519') return 'EdDSA';
  return byCurve[of?.namedCurve ?? ''] ?? (type === 'rsa-pss' ? 'PS256' : 'RS256');
}
