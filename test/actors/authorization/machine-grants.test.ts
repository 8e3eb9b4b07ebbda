/** Tokens without a user, and tokens bound to a key: LOGIN.md row 25. */

import { generateKeyPairSync } from 'node:crypto';

import { describe, expect, it } from 'vitest';
import { tokenHeaders } from '../../../actors/authorization/credential-facts.ts';
import { createDpopKey, restoreDpopKey } from '../../../actors/authorization/dpop.ts';
import { type MachineGrant, requestToken } from '../../../actors/authorization/machine-grants.ts';
import { refresh } from '../../../actors/authorization/tokens.ts';
import type { IssuerSettings, KnownClient } from '../../support/issuer/settings.ts';
import { accessTo, called, failureOf, loggedIn, type Ready, readyAt, valueOf } from './bench.ts';

const withSecret: KnownClient = { id: 'machine', method: 'client_secret_basic', secret: 'secret' };
const settings = { clientId: 'machine', clientSecret: 'secret' };

function requested({ access, found, client }: Ready, grant: MachineGrant, scope?: string) {
  return requestToken(access, found, client, grant, { ...(scope !== undefined && { scope }) });
}

async function works({ issuer }: Ready, accessToken: string): Promise<boolean> {
  return (await called(issuer, { authorization: `Bearer ${accessToken}` })).ok;
}

describe('client credentials', () => {
  it('obtain a token with a secret', async () => {
    const ready = await readyAt({ clients: [withSecret] }, { settings, redirectUris: [] });
    const tokens = valueOf(await requested(ready, { type: 'client_credentials' }, 'read'));
    expect(tokens.scope).toBe('read');
    expect(await works(ready, tokens.accessToken)).toBe(true);
  });

  it('obtain a token with a key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicJwk = publicKey.export({ format: 'jwk' });
    const client: KnownClient = { id: 'machine', method: 'private_key_jwt', publicJwk };
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const own = { clientId: 'machine', privateKey: pem };
    const ready = await readyAt({ clients: [client] }, { settings: own, redirectUris: [] });
    const tokens = valueOf(await requested(ready, { type: 'client_credentials' }));
    expect(await works(ready, tokens.accessToken)).toBe(true);
  });

  it('are refused for a client without a secret', async () => {
    const ready = await readyAt();
    const failure = failureOf(await requested(ready, { type: 'client_credentials' }));
    expect(failure).toMatchObject({ kind: 'registration', code: 'unauthorized_client' });
  });
});

describe('an identity provider', () => {
  const grantOf = (origin: string, subjectToken: string): MachineGrant => ({
    type: 'enterprise',
    provider: { issuer: `${origin}/idp`, clientId: 'at-provider', subjectToken },
  });

  async function enterprise(issuer: Partial<IssuerSettings> = {}) {
    const given = { clients: [withSecret], idTokens: ['planted-identity'], ...issuer };
    return readyAt(given, { settings, redirectUris: [] });
  }

  it('issues a grant for the server, which the issuer exchanges', async () => {
    const ready = await enterprise();
    const grant = grantOf(ready.issuer.origin, 'planted-identity');
    const tokens = valueOf(await requested(ready, grant, 'read'));
    expect(await works(ready, tokens.accessToken)).toBe(true);
    expect(Object.fromEntries(ready.issuer.seenAt('/idp/token')[0]?.form ?? [])).toMatchObject({
      audience: ready.issuer.issuer(),
      resource: ready.issuer.server,
      client_id: 'at-provider',
      scope: 'read',
    });
  });

  it('may be named by its token endpoint and reached by its own route', async () => {
    const ready = await enterprise();
    const { origin } = ready.issuer;
    const grant: MachineGrant = {
      type: 'enterprise',
      provider: {
        issuer: 'https://provider.example',
        tokenEndpoint: `${origin}/idp/token`,
        clientId: 'at-provider',
        clientSecret: 'secret',
        subjectToken: 'planted-identity',
      },
    };
    const { access, found, client } = ready;
    const options = { providerAccess: accessTo(origin) };
    const tokens = valueOf(await requestToken(access, found, client, grant, options));
    expect(await works(ready, tokens.accessToken)).toBe(true);
  });

  it('does not repeat an identity that it rejects', async () => {
    const ready = await enterprise();
    const failure = failureOf(
      await requested(ready, grantOf(ready.issuer.origin, 'planted-other')),
    );
    expect(failure.kind).toBe('grant');
    expect(JSON.stringify(failure)).not.toContain('planted');
  });

  it('is refused when it returns another kind of token', async () => {
    const ready = await enterprise();
    const body = JSON.stringify({ access_token: 'x', issued_token_type: 'other' });
    ready.issuer.settings.faults.set('/idp/token', { fault: { status: 200, body } });
    const failure = failureOf(
      await requested(ready, grantOf(ready.issuer.origin, 'planted-identity')),
    );
    expect(failure.message).toContain('gave no valid grant');
    expect(ready.issuer.seenAt('/token')).toEqual([]);
  });
});

describe('a workload', () => {
  const known: KnownClient = { id: 'workload', method: 'none' };

  it('gets a token for its identity', async () => {
    const own = { clientId: 'workload' };
    const ready = await readyAt({ clients: [known], workloads: ['signed'] }, { settings: own });
    const tokens = valueOf(await requested(ready, { type: 'workload', assertion: 'signed' }));
    expect(await works(ready, tokens.accessToken)).toBe(true);
  });

  it('asks only once when it is refused', async () => {
    const own = { clientId: 'workload' };
    const ready = await readyAt({ clients: [known] }, { settings: own });
    const grant = { type: 'workload', assertion: 'planted' } as const;
    const failure = failureOf(await requested(ready, grant));
    expect(failure).toMatchObject({ kind: 'grant', isFinal: true });
    expect(JSON.stringify(failure)).not.toContain('planted');
    expect(ready.issuer.seenAt('/token')).toHaveLength(1);
  });
});

describe('a token that is bound to a key', () => {
  it.each(['required', 'nonce'] as const)('works where DPoP is %s', async (dpop) => {
    const ready = await readyAt({ dpop });
    expect(ready.found.isDpopWanted).toBe(true);
    const { session, jwk } = await createDpopKey();
    const tokens = valueOf(await loggedIn(ready, { dpop: session }));
    expect(tokens.tokenType).toBe('DPoP');
    const url = new URL(ready.issuer.server);
    const call = async (key: typeof session) =>
      called(ready.issuer, await tokenHeaders(tokens, 'POST', url, key));
    // The nonce of the token request is known.
    expect((await call(session)).status).toBe(200);
    expect((await call(session)).status).toBe(200);
    // The next process has only what was stored.
    const restored = await restoreDpopKey(JSON.parse(JSON.stringify(jwk)) as typeof jwk);
    expect(restored.session.thumbprint).toBe(session.thumbprint);
    const again = await call(restored.session);
    restored.session.observeNonce(again, url);
    expect((await call(restored.session)).status).toBe(200);
  });

  it('is renewed only with the same key', async () => {
    const ready = await readyAt({ dpop: 'required' });
    const { session } = await createDpopKey();
    const tokens = valueOf(await loggedIn(ready, { dpop: session }));
    const { access, found, client } = ready;
    const other = (await createDpopKey()).session;
    const stolen = await refresh(access, found, client, { tokens, isEarly: false, dpop: other });
    expect(failureOf(stolen).kind).toBe('grant');
    valueOf(await refresh(access, found, client, { tokens, isEarly: false, dpop: session }));
  });

  it('cannot be used without the key', async () => {
    const ready = await readyAt({ dpop: 'required' });
    const { session } = await createDpopKey();
    const { accessToken } = valueOf(await loggedIn(ready, { dpop: session }));
    expect((await called(ready.issuer, { authorization: `Bearer ${accessToken}` })).status).toBe(
      401,
    );
  });

  it('is not requested if the server does not want one', async () => {
    const ready = await readyAt({ dpop: 'offered' });
    expect(ready.found.isDpopWanted).toBe(false);
    expect(valueOf(await loggedIn(ready)).tokenType).toBe('Bearer');
  });
});
