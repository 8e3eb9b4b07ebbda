/** What a server says when it refuses a request. */

import { describe, expect, it } from 'vitest';

import { readChallenge } from '../../../actors/authorization/challenge.ts';

describe('a challenge', () => {
  it.each([
    ['Bearer', { scheme: 'Bearer' }],
    [
      'Bearer resource_metadata="https://a.example/m", scope="a b"',
      { scheme: 'Bearer', resourceMetadataUrl: 'https://a.example/m', scope: 'a b' },
    ],
    ['bearer error=invalid_token', { scheme: 'Bearer', error: 'invalid_token' }],
    ['Bearer error="x",error_description="scope=\\"no\\", y"', { scheme: 'Bearer', error: 'x' }],
    ['Basic realm="r", Bearer scope="a"', { scheme: 'Bearer', scope: 'a' }],
    [
      'Bearer scope="a", DPoP error="use_dpop_nonce", algs="ES256"',
      { scheme: 'DPoP', scope: 'a', error: 'use_dpop_nonce' },
    ],
  ])('%s is read', (header, expected) => {
    expect(readChallenge(header)).toEqual(expected);
  });

  it.each([undefined, '', 'Basic realm="Bearer"', 'Negotiate abc=='])('%s is none', (header) => {
    expect(readChallenge(header)).toBeUndefined();
  });
});
