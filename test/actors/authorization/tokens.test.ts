/** Tokens from the token endpoint: LOGIN.md rows 8 and 19, and bugs 3, 4 and 5. */

import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tokenHeaders } from '../../../actors/authorization/credential-facts.ts';
import { createDpopKey } from '../../../actors/authorization/dpop.ts';
import { refresh, type Tokens } from '../../../actors/authorization/tokens.ts';
import type { Fault, IssuerSettings } from '../../support/issuer/settings.ts';
import { called, failureOf, loggedIn, type Ready, readyAt, valueOf } from './bench.ts';

async function authorized(settings: Partial<IssuerSettings> = {}, scope?: string) {
  const ready = await readyAt(settings);
  const options = scope === undefined ? {} : { scope };
  return { ready, tokens: valueOf(await loggedIn(ready, options)) };
}

function refreshed({ access, found, client }: Ready, tokens: Tokens, isEarly = false) {
  return refresh(access, found, client, { tokens, isEarly });
}

async function callStatus({ issuer }: Ready, tokens: Tokens): Promise<number> {
  const headers = await tokenHeaders(tokens, 'POST', new URL(issuer.server), undefined);
  return (await called(issuer, headers)).status;
}

describe('a token', () => {
  it('is accepted by the server', async () => {
    const { ready, tokens } = await authorized();
    expect(await callStatus(ready, tokens)).toBe(200);
  });

  it('is refused by the server if it is for another audience', async () => {
    const { ready, tokens } = await authorized({ audience: 'https://other.example' });
    expect(await callStatus(ready, tokens)).toBe(401);
  });

  it("expires by our clock, whatever the issuer's clock says", async () => {
    const before = Date.now();
    const { tokens } = await authorized({ clockSkewMs: 86_400_000, expiresInSeconds: 60 });
    expect(tokens.expiresAtMs).toBeGreaterThanOrEqual(before + 60_000);
    expect(tokens.expiresAtMs).toBeLessThanOrEqual(Date.now() + 60_000);
  });

  it.each([
    ['has the requested scope', { scope: undefined }, { scope: 'read' }],
    ['omits an invalid scope', { scope: 'read \u001b[2J' }, { scope: 'read' }],
    ['may have fewer scopes', { scope: 'less' }, { scope: 'less' }],
    [
      'may have its lifetime as a string',
      { expires_in: '60' },
      { expiresAtMs: expect.any(Number) },
    ],
    ['may have no type', { token_type: undefined }, { tokenType: 'Bearer' }],
    ['may have a lower-case type', { token_type: 'bearer' }, { tokenType: 'Bearer' }],
  ])('%s', async (_what, change, expected) => {
    const token = (response: object) => ({ ...response, ...change });
    const { tokens } = await authorized({ tamper: { token } }, 'read');
    expect(tokens).toMatchObject(expected);
  });

  it.each([undefined, null, '', ' '])('never expires if its lifetime is %j', async (life) => {
    const token = (response: object) => ({ ...response, expires_in: life });
    const { tokens } = await authorized({ tamper: { token } });
    expect(tokens).not.toHaveProperty('expiresAtMs');
  });

  it.each([0, '0'])('expires at once if its lifetime is %j', async (life) => {
    const token = (response: object) => ({ ...response, expires_in: life });
    const { tokens } = await authorized({ tamper: { token } });
    expect(tokens.expiresAtMs).toBeLessThanOrEqual(Date.now());
  });

  it('expires at a valid date, whatever the issuer says', async () => {
    const token = (response: object) => ({ ...response, expires_in: 1e300 });
    const { expiresAtMs = 0 } = (await authorized({ tamper: { token } })).tokens;
    expect(new Date(expiresAtMs).getFullYear()).toBeGreaterThan(2100);
  });

  it.each([
    ['would break a header', { access_token: 'access-1\r\nx: y' }, 'no valid token (access_token)'],
    ['is empty', { access_token: '' }, 'no valid token (access_token)'],
    ['is bound to a key unasked', { token_type: 'DPoP' }, 'a token that is bound to a key'],
    ['has an unknown type', { token_type: 'mac' }, 'an unknown type, "mac"'],
    ['has a lifetime that is no number', { expires_in: '60abc' }, 'no valid token (expires_in)'],
    ['has a list as its lifetime', { expires_in: [] }, 'no valid token (expires_in)'],
    ['has a negative lifetime', { expires_in: -1 }, 'no valid token (expires_in)'],
    ['is an error with status 200', { error: 'access_denied' }, '(access_denied)'],
  ])('is refused if it %s', async (_what, change, message) => {
    const token = (response: object) => ({ ...response, ...change });
    const failure = failureOf(await loggedIn(await readyAt({ tamper: { token } })));
    expect(failure).toMatchObject({ kind: 'denied', message: expect.stringContaining(message) });
    expect(failure.message).not.toContain('access-');
  });
});

it('refuses a token that is not bound to the key', async () => {
  const ready = await readyAt({ dpop: 'none' });
  const { session: dpop } = await createDpopKey();
  expect(failureOf(await loggedIn(ready, { dpop }))).toMatchObject({
    kind: 'denied',
    message: expect.stringContaining('a token that is not bound to a key'),
  });
});

describe('a refresh', () => {
  it('obtains a new token, and names the resource but no scope', async () => {
    const { ready, tokens } = await authorized({}, 'read');
    ready.issuer.book.expireAccess();
    const next = valueOf(await refreshed(ready, tokens));
    expect(next.refreshToken).not.toBe(tokens.refreshToken);
    expect(next.scope).toBe('read');
    expect(await callStatus(ready, next)).toBe(200);
    const form = ready.issuer.seenAt('/token').at(-1)?.form;
    expect(form?.get('resource')).toBe(ready.issuer.server);
    expect(form?.has('scope')).toBe(false);
    expect(ready.issuer.counts.redemptions).toBe(1);
  });

  it('keeps a refresh token that is not replaced', async () => {
    const { ready, tokens } = await authorized({ rotation: 'none' });
    expect(valueOf(await refreshed(ready, tokens)).refreshToken).toBe(tokens.refreshToken);
  });

  it('treats an empty refresh token as none', async () => {
    const token = (each: Record<string, unknown>) => ({ ...each, refresh_token: '' });
    const { ready, tokens } = await authorized({ rotation: 'none' });
    ready.issuer.settings.tamper = { token };
    expect(valueOf(await refreshed(ready, tokens)).refreshToken).toBe(tokens.refreshToken);
    expect(valueOf(await loggedIn(ready)).refreshToken).toBeUndefined();
  });

  it('fails for good with a used token, and the issuer revokes all tokens', async () => {
    const { ready, tokens } = await authorized();
    const next = valueOf(await refreshed(ready, tokens));
    expect(failureOf(await refreshed(ready, tokens))).toMatchObject({
      kind: 'grant',
      isFinal: true,
      code: 'invalid_grant',
    });
    expect(await callStatus(ready, next)).toBe(401);
    expect(ready.issuer.counts.reuses).toBe(1);
  });

  it('fails for good without a refresh token', async () => {
    const { ready, tokens } = await authorized({ issuesRefreshTokens: false });
    expect(failureOf(await refreshed(ready, tokens)).kind).toBe('grant');
    expect(ready.issuer.seenAt('/token')).toHaveLength(1);
  });

  const oauthError = (error: string, status = 400): Fault => ({
    status,
    body: JSON.stringify({ error, error_description: 'planted-refresh' }),
  });

  it.each<[string, Fault, boolean, object]>([
    ['invalid_grant', oauthError('invalid_grant'), true, { kind: 'grant', isFinal: true }],
    [
      'invalid_client',
      oauthError('invalid_client', 401),
      true,
      { kind: 'registration', isFinal: true },
    ],
    ['another error', oauthError('invalid_scope'), false, { kind: 'grant', isFinal: true }],
    [
      'another error, early',
      oauthError('invalid_scope'),
      true,
      { kind: 'unavailable', isFinal: false },
    ],
    ['server_error', oauthError('server_error'), false, { kind: 'unavailable', isFinal: false }],
    ['status 500', { status: 500 }, false, { kind: 'unavailable', isFinal: false }],
    [
      'status 429',
      { status: 429, headers: { 'retry-after': '3' } },
      false,
      { kind: 'unavailable', isFinal: false, retryAfterMs: 3_000 },
    ],
    [
      "GitHub's code, early",
      { status: 200, body: '{"error":"bad_refresh_token"}' },
      true,
      { kind: 'grant', isFinal: true },
    ],
    ['status 401 alone', { status: 401 }, false, { kind: 'grant', isFinal: true }],
    ['status 401 alone, early', { status: 401 }, true, { kind: 'unavailable', isFinal: false }],
    [
      "a proxy's page",
      { status: 403, body: '<html>' },
      false,
      { kind: 'unavailable', isFinal: false },
    ],
    ['a lost connection', 'reset', false, { kind: 'unavailable', isFinal: false }],
  ])('classifies a failure by %s', async (_what, fault, isEarly, expected) => {
    const { ready, tokens } = await authorized();
    ready.issuer.settings.faults.set('/token', { fault });
    const failure = failureOf(await refreshed(ready, tokens, isEarly));
    expect(failure).toMatchObject(expected);
    expect(JSON.stringify(failure)).not.toContain(tokens.refreshToken);
    // It may have run, so it is not sent again.
    expect(ready.issuer.seenAt('/token')).toHaveLength(2);
    ready.issuer.settings.faults.clear();
    valueOf(await refreshed(ready, tokens));
  });

  it.each([
    ['invalid_request', 1],
    ['invalid_target', 1],
    ['invalid_grant', 0],
  ])('that is refused with %s is tried %i times without the resource', async (error, times) => {
    const { ready, tokens } = await authorized();
    ready.issuer.settings.faults.set('/token', { fault: oauthError(error) });
    expect(failureOf(await refreshed(ready, tokens))).toMatchObject({ kind: 'grant', code: error });
    const resources = ready.issuer.seenAt('/token').map(({ form }) => form.get('resource'));
    const { server } = ready.issuer;
    expect(resources).toEqual([server, server, ...Array<null>(times).fill(null)]);
  });

  it('that is refused late is not tried again, because others wait for the lock', async () => {
    const { ready, tokens } = await authorized();
    const { clock } = ready.access;
    let lateMs = 0;
    const access = {
      ...ready.access,
      clock: { ...clock, wallNow: () => clock.wallNow() + lateMs },
      fetch: (...args: Parameters<typeof ready.access.fetch>) => {
        lateMs = 10_000;
        return ready.access.fetch(...args);
      },
    };
    ready.issuer.settings.faults.set('/token', { fault: oauthError('invalid_request') });
    failureOf(await refreshed({ ...ready, access }, tokens));
    expect(ready.issuer.seenAt('/token')).toHaveLength(2);
  });

  it('redacts a secret that the issuer repeats', async () => {
    const { ready, tokens } = await authorized();
    const body = JSON.stringify({
      error: 'invalid_grant',
      error_description: `unknown token ${tokens.refreshToken}`,
    });
    ready.issuer.settings.faults.set('/token', { fault: { status: 400, body } });
    const { message } = failureOf(await refreshed(ready, tokens));
    expect(message).toContain('invalid_grant: unknown token [redacted]');
  });

  it.each(['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const)(
    'redacts client credentials that the issuer repeats: %s',
    async (method) => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const publicJwk = publicKey.export({ format: 'jwk' });
      const known = { id: 'own', method, secret: 'hush-1', publicJwk };
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const isSigned = method === 'private_key_jwt';
      const secret = isSigned ? { privateKey: String(key) } : { clientSecret: known.secret };
      const settings = { clientId: known.id, authMethod: method, ...secret };
      const ready = await readyAt({ clients: [known] }, { settings });
      const tokens = valueOf(await loggedIn(ready));
      const { settings: issuer } = ready.issuer;
      const fault = { echo: 'oauth', status: 400, error: 'invalid_grant' } as const;
      issuer.faults.set('/token', { fault });
      const { message } = failureOf(await refreshed(ready, tokens));
      const { form, headers } = ready.issuer.seenAt('/token').at(-1) ?? {};
      const sent = [form?.get('client_assertion'), form?.get('client_secret'), known.secret];
      const all = [...sent, headers?.authorization?.split(' ')[1]];
      expect(message).toContain('[redacted]');
      for (const each of all) if (typeof each === 'string') expect(message).not.toContain(each);
    },
  );

  it('may be retried if the issuer is unreachable', async () => {
    const { ready, tokens } = await authorized();
    await ready.issuer.close();
    expect(failureOf(await refreshed(ready, tokens))).toMatchObject({
      kind: 'unavailable',
      isFinal: false,
      message: expect.stringContaining('/token failed: '),
    });
  });

  it('follows no redirect to another origin', async () => {
    const { ready, tokens } = await authorized();
    const other = await readyAt();
    const location = `${other.issuer.origin}/token`;
    ready.issuer.settings.faults.set('/token', { fault: { status: 307, headers: { location } } });
    expect(failureOf(await refreshed(ready, tokens)).message).toContain('another origin');
    expect(other.issuer.seenAt('/token')).toEqual([]);
  });
});
