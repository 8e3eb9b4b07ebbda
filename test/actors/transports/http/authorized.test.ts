/** Requests that a server refuses for want of a token, or of a nonce for its proof. */

import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';

import type { Authenticator } from '../../../../src/domain/authorization.ts';
import { guarded, peer } from './bench.ts';

/** Has another token and another nonce after each refusal. */
function renewing(): Authenticator {
  let tokens = 0;
  let nonce = 'none';
  return {
    headers: () => Promise.resolve({ authorization: `Bearer ${tokens}`, nonce }),
    refused: ({ dpopNonce }) => {
      if (dpopNonce === undefined) tokens += 1;
      else nonce = dpopNonce;
      return Promise.resolve(true);
    },
  };
}

type Wants = (headers: IncomingHttpHeaders) => 'token' | 'nonce' | undefined;

async function posted(wants: Wants) {
  const seen: IncomingHttpHeaders[] = [];
  const server = await peer((request, response) => {
    request.resume();
    seen.push(request.headers);
    const wanted = wants(request.headers);
    if (wanted === undefined) return void response.end('{}');
    if (wanted === 'nonce') response.setHeader('dpop-nonce', `n${seen.length}`);
    response.writeHead(401, { 'www-authenticate': 'DPoP' }).end();
  });
  const home = guarded(server.origin, { authenticator: renewing() });
  const answer = await home.post({}, '{}', new AbortController().signal, true);
  return { seen, status: typeof answer === 'string' ? 200 : answer.status };
}

describe('a refused request', () => {
  it('is repeated with another token, and then with the nonce that this token needs', async () => {
    const { seen, status } = await posted(({ authorization, nonce }) => {
      if (authorization !== 'Bearer 1') return 'token';
      return nonce === 'n2' ? undefined : 'nonce';
    });
    expect(status).toBe(200);
    expect(seen).toHaveLength(3);
  });

  it.each([
    ['token', 2],
    ['nonce', 2],
  ] as const)('is repeated once, however often another %s is wanted', async (wanted, count) => {
    const { seen, status } = await posted(() => wanted);
    expect([status, seen.length]).toEqual([401, count]);
  });

  it('is repeated twice at most', async () => {
    const { seen } = await posted(({ nonce }) => (nonce === 'none' ? 'nonce' : 'token'));
    expect(seen).toHaveLength(3);
  });
});
