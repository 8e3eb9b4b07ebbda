/** The assertion with which a client proves who it is (RFC 7523). */

import { createPublicKey, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { clientAssertion } from '../../../actors/authorization/oauth-client.ts';

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const jwk = (key: KeyObject): object => key.export({ format: 'jwk' });
const elliptic = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
const edwards = generateKeyPairSync('ed25519').privateKey;

const issuer = 'https://issuer.example';

const curves: Readonly<Record<string, string>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
};

/** What Web Crypto calls an algorithm of JWTs (RFC 7518). */
function webAlgorithm(algorithm: string) {
  const bits = Number(algorithm.slice(-3));
  const hash = `SHA-${bits}`;
  if (algorithm === 'EdDSA') return { name: 'Ed25519' };
  if (algorithm.startsWith('ES')) return { name: 'ECDSA', namedCurve: curves[algorithm], hash };
  return algorithm.startsWith('PS')
    ? { name: 'RSA-PSS', hash, saltLength: bits / 8 }
    : { name: 'RSASSA-PKCS1-v1_5', hash };
}

type Part = Readonly<Record<string, unknown>>;

async function verified(assertion: string, key: KeyObject, algorithm: string) {
  const [head = '', body = '', signature = ''] = assertion.split('.');
  const how = webAlgorithm(algorithm) as never;
  const { subtle } = webcrypto;
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const publicKey = await subtle.importKey('spki', spki, how, false, ['verify']);
  const bytes = Buffer.from(signature, 'base64url');
  expect(await subtle.verify(how, publicKey, bytes, Buffer.from(`${head}.${body}`))).toBe(true);
  const parsed = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Part;
  const payload = parsed(body);
  expect(payload).toMatchObject({ iss: 'me', sub: 'me', aud: issuer });
  return { payload, protectedHeader: parsed(head) };
}

describe("a client's assertion", () => {
  it.each([
    ['ES256', elliptic('prime256v1')],
    ['ES384', elliptic('secp384r1')],
    ['ES512', elliptic('secp521r1')],
    ['RS256', rsa],
    ['EdDSA', edwards],
  ])('is signed with the usual algorithm of the key, %s', async (algorithm, key) => {
    for (const privateKey of [pem(key), JSON.stringify(jwk(key))]) {
      const { payload, protectedHeader } = await verified(
        clientAssertion({ privateKey }, 'me', issuer),
        key,
        algorithm,
      );
      expect(protectedHeader).toEqual({ alg: algorithm, typ: 'JWT' });
      expect(Number(payload['exp']) - Number(payload['iat'])).toBe(300);
    }
  });

  it.each(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'])('may be signed with %s', async (alg) => {
    const assertion = clientAssertion({ privateKey: pem(rsa), algorithm: alg }, 'me', issuer);
    expect((await verified(assertion, rsa, alg)).protectedHeader['alg']).toBe(alg);
  });

  it('names the key as the settings or a JWK do', async () => {
    const privateKey = JSON.stringify({ ...jwk(edwards), kid: 'of-the-key', alg: 'EdDSA' });
    const kidOf = async (keyId?: string) => {
      const key = keyId === undefined ? { privateKey } : { privateKey, keyId };
      const { protectedHeader } = await verified(
        clientAssertion(key, 'me', issuer),
        edwards,
        'EdDSA',
      );
      return protectedHeader['kid'];
    };
    expect([await kidOf(), await kidOf('of-the-settings')]).toEqual([
      'of-the-key',
      'of-the-settings',
    ]);
  });

  it('is used once', () => {
    const one = clientAssertion({ privateKey: pem(rsa) }, 'me', issuer);
    expect(clientAssertion({ privateKey: pem(rsa) }, 'me', issuer)).not.toBe(one);
  });
});
