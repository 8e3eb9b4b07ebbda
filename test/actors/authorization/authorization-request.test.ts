/** What the browser carries: LOGIN.md rows 7 to 10. */

import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { beginAuthorization } from '../../../actors/authorization/authorization-request.ts';
import { exchange } from '../../../actors/authorization/tokens.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { begun, failureOf, loggedIn, readyAt, redirectUri, valueOf } from './bench.ts';

async function begin(settings: Partial<IssuerSettings>) {
  const { access, found, client } = await readyAt(settings);
  return failureOf(await beginAuthorization(access, found, client, { redirectUri }));
}

describe('the URL for the browser', () => {
  it('carries everything that the issuer must know', async () => {
    const ready = await readyAt();
    const { url } = await begun(ready, 'read offline_access');
    const { code_challenge: challenge, state, ...others } = Object.fromEntries(url.searchParams);
    expect(others).toEqual({
      response_type: 'code',
      client_id: ready.client.information.client_id,
      code_challenge_method: 'S256',
      redirect_uri: redirectUri,
      resource: ready.issuer.server,
      scope: 'read offline_access',
      prompt: 'consent',
    });
    expect(challenge).toMatch(/^[\w-]{43}$/u);
    expect(state).toMatch(/^[\w-]{43}$/u);
  });

  it('asks for no scope if none is known', async () => {
    expect((await begun(await readyAt())).url.searchParams.has('scope')).toBe(false);
  });

  it('is new each time', async () => {
    const ready = await readyAt();
    const states = [await begun(ready), await begun(ready)].map(({ url }) =>
      url.searchParams.get('state'),
    );
    expect(new Set(states).size).toBe(2);
  });

  it('is not made for an issuer that does not check PKCE', async () => {
    expect(await begin({ checksPkce: false })).toMatchObject({
      kind: 'discovery',
      isFinal: true,
      message: expect.stringContaining('does not say that it checks PKCE with S256'),
    });
    const issuer = (metadata: object) => ({
      ...metadata,
      code_challenge_methods_supported: ['plain'],
    });
    expect((await begin({ tamper: { issuer } })).message).toContain('PKCE');
  });

  it('is not made for an issuer without the code flow', async () => {
    const issuer = (metadata: object) => ({ ...metadata, response_types_supported: ['token'] });
    expect((await begin({ tamper: { issuer } })).message).toContain('authorization code flow');
  });

  it('may not lead the browser to where we may not connect', async () => {
    const issuer = (metadata: object) => ({
      ...metadata,
      authorization_endpoint: 'https://169.254.169.254/authorize',
    });
    const { message } = await begin({ tamper: { issuer } });
    expect(message).toContain('connecting to 169.254.169.254 is not allowed');
  });
});

describe('a response', () => {
  async function answered(
    settings: Partial<IssuerSettings>,
    change: (response: URLSearchParams) => void = () => {},
  ) {
    const ready = await readyAt(settings);
    const request = await begun(ready);
    const { searchParams: response } = await ready.issuer.consent(request.url);
    change(response);
    const { access, found, client, issuer } = ready;
    const outcome = await exchange(access, found, client, { request, response });
    return { outcome, issuer, request, ready };
  }

  it('is redeemed with the verifier, the redirect URI and the resource', async () => {
    const { outcome, issuer } = await answered({});
    expect(valueOf(outcome)).toMatchObject({
      tokenType: 'Bearer',
      refreshToken: expect.any(String),
    });
    const { query } = issuer.seenAt('/authorize')[0] ?? {};
    const { form } = issuer.seenAt('/token')[0] ?? {};
    const verifier = form?.get('code_verifier') ?? '';
    const hash = createHash('sha256').update(verifier).digest('base64url');
    expect(hash).toBe(query?.get('code_challenge'));
    expect(form?.get('resource')).toBe(issuer.server);
  });

  it('with another state is refused, and the login stays open', async () => {
    const ready = await readyAt();
    const { access, found, client, issuer } = ready;
    const request = await begun(ready);
    const forged = new URLSearchParams({ code: 'x', state: 'guess', error_description: 'planted' });
    const refusal = failureOf(await exchange(access, found, client, { request, response: forged }));
    expect(refusal).toMatchObject({
      kind: 'response',
      message: expect.stringContaining('no open login'),
    });
    const { searchParams: response } = await issuer.consent(request.url);
    valueOf(await exchange(access, found, client, { request, response }));
  });

  it('is accepted once', async () => {
    const { ready, request, issuer } = await answered({});
    const { access, found, client } = ready;
    const { searchParams: response } = await issuer.consent(request.url);
    const again = await exchange(access, found, client, { request, response });
    expect(failureOf(again).message).toBe('the response was used already');
    expect(issuer.counts.codes).toBe(1);
  });

  it('is not redeemed at another issuer', async () => {
    const first = await readyAt();
    const second = await readyAt();
    const request = await begun(first);
    const { searchParams: response } = await first.issuer.consent(request.url);
    const { access, found, client } = second;
    const failure = failureOf(await exchange(access, found, client, { request, response }));
    expect(failure.kind).toBe('response');
    expect(second.issuer.seenAt('/token')).toEqual([]);
  });

  it.each([
    ['names the issuer', { iss: 'correct', advertisesIss: true }],
    ['names none, and none was announced', { iss: 'none', advertisesIss: false }],
    ['names the issuer unannounced', { iss: 'correct', advertisesIss: false }],
  ] as const)('is accepted if it %s', async (_what, settings) => {
    expect(valueOf((await answered(settings)).outcome).accessToken).toBeDefined();
  });

  it.each([
    ['names none, but one was announced', { iss: 'none', advertisesIss: true }],
    ['names another issuer', { iss: 'wrong', advertisesIss: true }],
    ['names another issuer unannounced', { iss: 'wrong', advertisesIss: false }],
  ] as const)('is refused if it %s', async (_what, settings) => {
    const { outcome, issuer } = await answered(settings);
    expect(failureOf(outcome)).toMatchObject({
      kind: 'response',
      message: 'the response to the login came from another issuer',
    });
    expect(issuer.counts.codes).toBe(0);
  });

  it('compares the issuer exactly', async () => {
    const { outcome } = await answered({}, (response) =>
      response.set('iss', `${response.get('iss')}/`),
    );
    expect(failureOf(outcome).kind).toBe('response');
  });

  it('shows nothing of an error from another issuer', async () => {
    const { outcome } = await answered({ iss: 'wrong', consent: 'deny' });
    expect(JSON.stringify(failureOf(outcome))).not.toMatch(/said no|denied|evil/u);
  });

  it('of a user who refuses shows why', async () => {
    const { outcome } = await answered({ consent: 'deny' });
    expect(failureOf(outcome)).toMatchObject({
      kind: 'denied',
      isFinal: true,
      code: 'access_denied',
      message: expect.stringContaining('(access_denied: The user said no)'),
    });
  });

  it('shows no state that the issuer repeats', async () => {
    const { outcome } = await answered({ consent: 'deny' }, (response) =>
      response.set('error_description', `unknown state ${response.get('state')}`),
    );
    expect(failureOf(outcome).message).toContain('unknown state [redacted])');
  });

  it('without a code or an error is refused', async () => {
    const { outcome } = await answered({}, (response) => response.delete('code'));
    expect(failureOf(outcome).message).toContain('neither a code nor an error');
  });

  it('of an issuer that is overloaded may be tried again', async () => {
    const { outcome } = await answered({}, (response) =>
      response.set('error', 'temporarily_unavailable'),
    );
    expect(failureOf(outcome)).toMatchObject({ kind: 'unavailable', isFinal: false });
  });

  it('with a code that the issuer does not know shows neither code nor verifier', async () => {
    const { outcome, issuer } = await answered({}, (response) => response.set('code', 'planted'));
    const { form } = issuer.seenAt('/token')[0] ?? {};
    const shown = JSON.stringify(failureOf(outcome));
    expect(shown).toContain('invalid_grant');
    expect(shown).not.toContain('planted');
    expect(shown).not.toContain(form?.get('code_verifier'));
  });
});

it('fails if the issuer refuses the requested scope', async () => {
  const ready = await readyAt({ scopes: { issuer: ['read'] } });
  const failure = failureOf(await loggedIn(ready, { scope: 'write' }));
  expect(failure).toMatchObject({ kind: 'denied', code: 'invalid_scope' });
});
