/** Takes logins through every step and every failure, and searches every output for their secrets. */

import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

import { temporaryFolder } from '../cli/run-cli.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import type { Echo, IssuerSettings } from '../support/issuer/settings.ts';
import { leaksIn, secretsOf, type Texts, textsBelow, watchedTroupe } from './login-outputs.ts';

const waits = { timeoutMs: 10_000 };

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

/** The next requests for this path are answered with their own secrets. */
function echoing({ settings }: TestIssuer, at: string, fault: Echo, times?: number): void {
  settings.faults.set(at, { fault, ...(times !== undefined && { times }) });
}

const keys = keyPair();

/** A client's key; each line of its PEM is a secret. */
function keyPair() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const pemLines = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-'));
  return { publicJwk: publicKey.export({ format: 'jwk' }), pem, pemLines };
}

const refusal: Echo = { echo: 'oauth', status: 400 };

/** What was searched for exists, and would be found. */
function expectNoLeaks(shown: Texts, secrets: ReadonlySet<string>, atLeast: number): void {
  expect(secrets.size).toBeGreaterThanOrEqual(atLeast);
  expect(Object.values(shown).filter((text) => text === '')).toEqual([]);
  expect(leaksIn(shown, secrets)).toEqual([]);
}

it('secrets of a login, a renewal, a step-up and a logout appear nowhere', async () => {
  const issuer = await issuerWith({
    authMethods: ['client_secret_post'],
    scopes: { resource: ['read'], issuer: ['read', 'write'] },
    toolScopes: { change: ['write'] },
    dpop: 'nonce',
  });
  const stateDir = temporaryFolder();
  const { troupe, note, shown, addresses } = watchedTroupe(
    issuer,
    { db: { url: issuer.server } },
    { stateDir },
  );
  await troupe.login('db', waits);
  issuer.book.expireAccess();
  await troupe.callServerTool('db', 'echo', {});
  await troupe.callServerTool('db', 'change', {}).catch(note);
  await troupe.login('db', waits);
  await troupe.callServerTool('db', 'change', {});
  const secrets = secretsOf(issuer, stateDir);
  // The search finds what is where it may be.
  const kept = textsBelow(path.join(stateDir, 'credentials'));
  expect(leaksIn({ kept }, secrets).length).toBeGreaterThan(3);
  expect(leaksIn({ addresses: addresses.join(' ') }, secrets)).toHaveLength(2);
  await troupe.logout('db');
  expectNoLeaks(await shown(), new Set([...secrets, ...secretsOf(issuer, stateDir)]), 10);
  expect(issuer.counts).toMatchObject({ codes: 2, redemptions: 1 });
  expect(existsSync(path.join(stateDir, 'journal.ndjson'))).toBe(true);
});

it('secrets of a login on another device appear nowhere', async () => {
  const token = (answer: object) => ('user_code' in answer ? { ...answer, interval: 0 } : answer);
  const issuer = await issuerWith({
    authMethods: ['client_secret_post'],
    offersDevice: true,
    tamper: { token },
    dpop: 'nonce',
  });
  const stateDir = temporaryFolder();
  const { troupe, note, shown, addresses } = watchedTroupe(
    issuer,
    { db: { url: issuer.server } },
    { stateDir },
  );
  const login = () => troupe.login('db', { ...waits, device: true });
  await login();
  issuer.book.expireAccess();
  await troupe.callServerTool('db', 'echo', {});
  for (const at of ['/token', '/device']) {
    echoing(issuer, at, refusal);
    await login().catch(note);
  }
  const texts = await shown();
  const codes = addresses.map((each) => new URL(each).searchParams.get('user_code') ?? '');
  expect(codes).toHaveLength(2);
  expectNoLeaks(texts, new Set([...codes, ...secretsOf(issuer, stateDir)]), 8);
  expect(issuer.seen.some(({ form }) => form.has('device_code'))).toBe(true);
  expect(texts['errors']).toContain('you sent [redacted]');
});

it('secrets that the issuer and the server repeat in their failures appear nowhere', async () => {
  const issuer = await issuerWith({ authMethods: ['client_secret_basic'] });
  const stateDir = temporaryFolder();
  const { troupe, note, shown } = watchedTroupe(
    issuer,
    { db: { url: issuer.server, policy: { startup: { maxAttempts: 1 } } } },
    { stateDir },
  );
  const secrets = new Set<string>();
  const login = () => troupe.login('db', waits).catch(note);
  const call = () => troupe.callServerTool('db', 'echo', {}).catch(note);
  /** Calls would wait for the issuer. */
  const outage = async (): Promise<void> => {
    const over = new AbortController();
    const waiting = troupe.callServerTool('db', 'echo', {}, { signal: over.signal }).catch(note);
    await troupe.waitFor('db', 'backingOff', waits);
    over.abort();
    await waiting;
  };
  const rounds: readonly (readonly [string, Echo, () => Promise<unknown>])[] = [
    ['/authorize', refusal, login],
    ['/token', refusal, login],
    ['/token', { ...refusal, error: 'invalid_client', status: 401 }, login],
    ['/mcp', { echo: 'rpc', status: 200 }, call],
    ['/mcp', { echo: 'page', status: 500 }, call],
    ['/mcp', { echo: 'page', status: 403 }, call],
    ['/mcp', { echo: 'page', status: 401, error: 'invalid_token' }, call],
    ['/token', { ...refusal, status: 500 }, outage],
    ['/token', { ...refusal, error: 'invalid_grant' }, call],
  ];
  for (const [at, fault, act] of rounds) {
    if (act !== login) {
      issuer.settings.faults.clear();
      await troupe.login('db', waits);
      if (at === '/token') issuer.book.expireAccess();
    }
    echoing(issuer, at, fault);
    await act();
    for (const secret of secretsOf(issuer, stateDir)) secrets.add(secret);
  }
  issuer.settings.faults.clear();
  await troupe.login('db', waits);
  for (const secret of secretsOf(issuer, stateDir)) secrets.add(secret);
  echoing(issuer, '/revoke', { ...refusal, status: 500 });
  await troupe.logout('db').catch(note);
  const texts = await shown();
  expectNoLeaks(texts, secrets, 30);
  // The echoes arrived, without their secrets.
  expect(texts['errors']?.match(/you sent \[redacted\]/gu)?.length).toBeGreaterThan(3);
});

it.each<readonly [string, Partial<IssuerSettings>, object]>([
  [
    'a secret sent as Basic',
    {
      clients: [{ id: 'robot', method: 'client_secret_basic', secret: 'planted secret+of/robot' }],
    },
    { grant: 'client_credentials', clientId: 'robot', clientSecret: '${SECRET}' },
  ],
  [
    'a secret sent in the form',
    { clients: [{ id: 'robot', method: 'client_secret_post', secret: 'planted secret+of/robot' }] },
    {
      grant: 'client_credentials',
      clientId: 'robot',
      clientSecret: '${SECRET}',
      tokenEndpointAuthMethod: 'client_secret_post',
    },
  ],
  [
    'a private key',
    { clients: [{ id: 'robot', method: 'private_key_jwt', publicJwk: keys.publicJwk }] },
    { grant: 'client_credentials', clientId: 'robot', privateKey: '${KEY}' },
  ],
  [
    'an ID token',
    { clients: [{ id: 'robot', method: 'none' }], idTokens: ['planted-id-token-5f02d1'] },
    {
      grant: 'enterprise',
      clientId: 'robot',
      identity: { issuer: '${ISSUER}/idp', clientId: 'robot', idToken: '${ID_TOKEN}' },
    },
  ],
  [
    "a workload's token",
    { clients: [{ id: 'robot', method: 'none' }], workloads: ['planted-workload-7731ab'] },
    { grant: 'workload', clientId: 'robot', assertion: '${WORKLOAD}' },
  ],
])('%s that obtains tokens appears nowhere', async (_, settings, oauth) => {
  const issuer = await issuerWith(settings);
  const stateDir = temporaryFolder();
  const { troupe, note, shown } = watchedTroupe(
    issuer,
    { db: { url: issuer.server, oauth, policy: { startup: { maxAttempts: 1 } } } },
    {
      stateDir,
      env: {
        SECRET: 'planted secret+of/robot',
        KEY: keys.pem,
        ID_TOKEN: 'planted-id-token-5f02d1',
        WORKLOAD: 'planted-workload-7731ab',
        ISSUER: issuer.origin,
      },
    },
  );
  await troupe.waitFor('db', 'ready', waits);
  for (const fault of [refusal, { ...refusal, status: 401, error: 'invalid_client' }]) {
    issuer.book.expireAccess();
    for (const at of ['/token', '/idp/token']) echoing(issuer, at, fault);
    await troupe.callServerTool('db', 'echo', {}).catch(note);
    await troupe.login('db', waits).catch(note);
  }
  const secrets = secretsOf(issuer, stateDir);
  expectNoLeaks(await shown(), new Set([...secrets, ...keys.pemLines]), 3);
});
