/** Logins of whole troupes at a real issuer on this machine. */

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe } from '../../../src/index.ts';
import { startHttpProxy } from '../../fixtures/remote/http-proxy.ts';
import { createAuthority } from '../../fixtures/remote/self-signed.ts';
import { deferred } from '../../support/deferred.ts';
import type { Fault } from '../../support/issuer/settings.ts';
import {
  type Entry,
  issuerWith,
  later,
  nextState,
  stateFolder,
  troupeWith,
  waits,
} from './logins-bench.ts';

describe('a login', () => {
  it('starts all servers that share the credential, and only those', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer, {
      one: {},
      two: { timeoutMs: 9_000 },
      other: { account: 'work' },
    });
    await Promise.all(
      ['one', 'two', 'other'].map((name) => troupe.waitFor(name, 'authRequired', waits)),
    );
    expect(troupe.status('one')).toMatchObject({ action: 'troupe login one' });
    expect(await troupe.login('one', waits)).toMatchObject({ state: 'ready' });
    expect(await troupe.waitFor('two', 'ready', waits)).toMatchObject({ state: 'ready' });
    expect(troupe.status('other')).toMatchObject({ state: 'authRequired' });
    expect(issuer.counts).toMatchObject({ registrations: 1, codes: 1 });
    const [account] = await troupe.accounts();
    expect(account).toMatchObject({ servers: ['one', 'two'], issuer: issuer.issuer() });
  });

  it("is lent to a folder's entry once approved, unless it has another account, proxy, certificate or metadata", async () => {
    const issuer = await issuerWith();
    const via = await startHttpProxy();
    onTestFinished(() => via.close());
    const authority = createAuthority('Other');
    const metadataUrl = `${issuer.origin}/.well-known/oauth-authorization-server`;
    const others: Readonly<Record<string, Entry>> = {
      account: { account: 'work' },
      proxy: { proxy: via.url },
      direct: { proxy: false },
      authorities: { tls: { ca: authority.cert } },
      certificate: { tls: authority.issue('client') },
      metadata: { oauth: { metadataUrl } },
    };
    const entries = Object.entries({ same: {}, ...others }).map(([name, entry]) => {
      return [name, { url: issuer.server, ...entry, headers: { 'X-Entry': name } }] as const;
    });
    const [stateDir, projectRoot] = [stateFolder(), stateFolder()];
    const mcpServers = Object.fromEntries(entries);
    writeFileSync(path.join(projectRoot, 'troupe.json'), JSON.stringify({ mcpServers }));
    const sources = [{ file: 'troupe.json', scope: 'project' as const }];
    const mine = { mine: { headers: { 'X-Entry': 'mine' } } };
    const start = () => troupeWith(issuer, mine, { bare: false, stateDir, projectRoot, sources });
    const first = start();
    await first.login('mine', waits);
    for (const [name] of entries)
      expect(first.status(name)).toMatchObject({ state: 'blocked', reason: 'pendingApproval' });
    const callers = issuer.seenAt('/mcp').map(({ headers }) => headers['x-entry']);
    expect(new Set(callers)).toEqual(new Set(['mine']));
    const accounts = first.approvals().map(({ server, account }) => [server, account] as const);
    expect(Object.fromEntries(accounts)).toMatchObject({ same: null, account: 'work' });
    for (const [name] of entries) first.send({ type: 'approval.grant', server: name });
    await first.waitFor('same', 'ready', waits);
    const names = Object.keys(others);
    await Promise.all(names.map((name) => first.waitFor(name, 'authRequired', waits)));
    await first.stop();
    const second = start();
    await second.waitFor('same', 'ready', waits);
    await Promise.all(names.map((name) => second.waitFor(name, 'authRequired', waits)));
    const authorized = issuer.seen.filter(({ headers }) => headers.authorization !== undefined);
    const bearers = new Set(authorized.map(({ headers }) => headers['x-entry']));
    expect(bearers).toEqual(new Set(['mine', 'same']));
    expect(via.asked.length).toBeGreaterThan(0);
    expect(via.heard().toLowerCase()).not.toContain('bearer ');
    expect(await second.accounts()).toMatchObject([{ servers: ['mine', 'same'] }]);
  });

  it('through a proxy sends everything through it', async () => {
    const issuer = await issuerWith();
    const via = await startHttpProxy();
    onTestFinished(() => via.close());
    const troupe = troupeWith(issuer, { db: { proxy: via.url } });
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    await troupe.callServerTool('db', 'echo', {});
    const asked = issuer.seen.filter(({ path: at }) => at !== '/authorize');
    expect(asked.map(({ path: at }) => at)).toContain('/token');
    expect(via.asked).toEqual(
      asked.map(({ method, path: at }) => `${method} ${issuer.origin}${at}`),
    );
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  });

  it('to a server over WebSocket uses its address over HTTP', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer, { db: { url: issuer.server.replace('http', 'ws') } });
    await troupe.waitFor('db', 'authRequired', waits);
    const isOver = troupe.login('db', waits).catch(() => {});
    await issuer.arrives('/token');
    await troupe.stop();
    await isOver;
    expect(issuer.seenAt('/token')[0]?.form.get('resource')).toBe(issuer.server);
  });

  it('starts a dormant server to find the issuer', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer, { db: { startup: 'lazy' } });
    await troupe.ready();
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
  });

  it('outlives the troupe and is renewed with the same client', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    await first.login('db', waits);
    await first.stop();
    issuer.book.expireAccess();
    const second = troupeWith(issuer, { db: {} }, { stateDir });
    await second.waitFor('db', 'ready', waits);
    expect(issuer.counts).toMatchObject({ registrations: 1, codes: 1, redemptions: 1, reuses: 0 });
  });

  it('made by another process starts the servers of this one', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const here = troupeWith(issuer, { db: {} }, { stateDir });
    await here.waitFor('db', 'authRequired', waits);
    await troupeWith(issuer, { db: {} }, { stateDir }).login('db', waits);
    expect(await here.waitFor('db', 'ready', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts.codes).toBe(1);
  });

  it('is refused with the reason, and can be repeated', async () => {
    const issuer = await issuerWith({ consent: 'deny' });
    const troupe = troupeWith(issuer);
    await expect(troupe.login('db', waits)).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      message: expect.stringContaining('access_denied'),
    });
    issuer.settings.consent = 'allow';
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
  });

  it('takes the address that another browser was redirected to, and no other', async () => {
    const issuer = await issuerWith();
    const troupe = createTroupe({
      bare: true,
      settings: { mcpServers: { db: { url: issuer.server } } },
    });
    onTestFinished(() => troupe.stop());
    const refusals: Promise<unknown>[] = [];
    troupe.on('auth.started', ({ url }) => {
      const other = `${issuer.origin}/callback?code=1&state=2`;
      refusals.push(troupe.finishLogin('db', other).catch((error: unknown) => error));
      void issuer.consent(new URL(url)).then((redirect) => troupe.finishLogin('db', redirect.href));
    });
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
    expect(await refusals[0]).toMatchObject({ code: 'INVALID_ARGUMENTS' });
    await expect(troupe.finishLogin('db', 'http://127.0.0.1/')).rejects.toMatchObject({
      code: 'USAGE',
    });
  });

  it('ends with its caller', async () => {
    const issuer = await issuerWith();
    const troupe = createTroupe({
      bare: true,
      settings: { mcpServers: { db: { url: issuer.server } } },
    });
    onTestFinished(() => troupe.stop());
    const over = new AbortController();
    troupe.on('auth.started', () => over.abort());
    await expect(troupe.login('db', { ...waits, signal: over.signal })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
  });

  it('is neither used nor begun for a server with its own authorization', async () => {
    const issuer = await issuerWith();
    const headers = { Authorization: 'Bearer of-the-user' };
    const troupe = troupeWith(issuer, {
      own: { headers },
      both: { headers, oauth: { scopes: ['read'] } },
      never: { oauth: false },
    });
    for (const name of ['own', 'both', 'never']) {
      await troupe.waitFor(name, 'authRequired', waits);
      await expect(troupe.login(name, waits)).rejects.toMatchObject({ code: 'USAGE' });
    }
    expect(issuer.counts.authorizations).toBe(0);
    const sent = new Set(issuer.seenAt('/mcp').map(({ headers: each }) => each.authorization));
    expect(sent).toEqual(new Set([headers.Authorization, undefined]));
  });
});

describe('a token', () => {
  it('that expires under twenty calls is renewed once, and no call runs twice', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer);
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    const calls = Array.from({ length: 20 }, (_, n) => troupe.callServerTool('db', 'echo', { n }));
    const results = await Promise.all(calls);
    expect(results.map(({ meta }) => meta.attempts)).toEqual(Array(20).fill(1));
    expect(issuer.counts).toMatchObject({ redemptions: 1, reuses: 0, calls: 20 });
    expect(troupe.status('db')).toMatchObject({ state: 'ready' });
  });

  it('that is revoked with its family leaves the server waiting for a login', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer);
    await troupe.login('db', waits);
    issuer.book.revokeAll();
    await expect(troupe.callServerTool('db', 'echo', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      outcome: 'not_executed',
    });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(issuer.counts.redemptions).toBe(0);
    await troupe.login('db', waits);
    expect(await troupe.callServerTool('db', 'echo', {})).toMatchObject({ meta: { attempts: 1 } });
  });

  it.each<[string, Fault]>([
    ['the issuer fails', { status: 503 }],
    ['a proxy answers with a page', { status: 200, body: '<html>' }],
    ['a proxy refuses with a page', { status: 403, body: '<html>' }],
  ])('lets the server back off instead of asking the user when %s', async (_, fault) => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    await first.login('db', waits);
    await first.stop();
    issuer.settings.faults.set('/token', { fault });
    const troupe = troupeWith(issuer, { db: {} }, { stateDir, ...later(4_000_000) });
    const status = await troupe.waitFor('db', 'backingOff', waits);
    expect(status.lastError?.message).toContain('its token could not be renewed');
  });

  it('is gone after a logout, here and at the issuer', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer, { db: {}, other: { timeoutMs: 9_000 } });
    await troupe.login('db', waits);
    await troupe.waitFor('other', 'ready', waits);
    await troupe.logout('db');
    expect(await troupe.accounts()).toEqual([]);
    expect(issuer.counts.revocations).toBeGreaterThan(0);
    await troupe.waitFor('db', 'authRequired', waits);
    await troupe.waitFor('other', 'authRequired', waits);
  });

  it('is requested without a user when the settings name a secret', async () => {
    const issuer = await issuerWith({
      clients: [{ id: 'robot', method: 'client_secret_basic', secret: 'of-the-robot' }],
    });
    const oauth = { grant: 'client_credentials', clientId: 'robot', clientSecret: '${SECRET}' };
    const troupe = troupeWith(issuer, { db: { oauth } }, { env: { SECRET: 'of-the-robot' } });
    expect(await troupe.waitFor('db', 'ready', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts).toMatchObject({ authorizations: 0, otherGrants: 1 });
  });

  it('that lacks a scope is widened by a login that keeps the granted ones', async () => {
    expect(await widened(false)).toEqual(['read', 'write']);
  });

  it('that lacks a scope by what a result says is widened in the same way', async () => {
    expect(await widened(true)).toEqual(['read', 'write']);
  });

  it('appears in nothing that a user, a log or a recording shows', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const troupe = troupeWith(issuer, { db: {} }, { stateDir, inspect: true });
    const events: unknown[] = [];
    for (const name of ['status.changed', 'auth.needed', 'server.log'] as const)
      troupe.on(name, (event) => events.push(event));
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    await troupe.callServerTool('db', 'echo', {});
    issuer.book.revokeAll();
    await troupe.callServerTool('db', 'echo', {}).catch((error) => events.push(error));
    const { first, last } = troupe.inspection;
    const shown = inspect(
      [events, troupe.snapshot(), troupe.explain('db'), troupe.logs('db'), await troupe.accounts()],
      { depth: 20, maxStringLength: null, maxArrayLength: null },
    );
    const recorded = JSON.stringify(troupe.inspection.records(first, last));
    const secrets = issuer.seen.flatMap(({ form, headers }) => [
      ...['code', 'code_verifier', 'refresh_token'].flatMap((name) => form.get(name) ?? []),
      ...(headers.authorization?.split(' ').slice(1) ?? []),
    ]);
    expect(new Set(secrets).size).toBeGreaterThan(3);
    for (const secret of secrets) {
      expect(shown).not.toContain(secret);
      expect(recorded).not.toContain(secret);
    }
    for (const name of readdirSync(path.join(stateDir, 'credentials'))) {
      const file = path.join(stateDir, 'credentials', name);
      const { mode } = statSync(file);
      expect([name, mode & 0o077]).toEqual([name, 0]);
      readFileSync(file);
    }
  });
});

describe('a server that refuses every token', () => {
  it('causes few renewals, however many servers share the login', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer, { one: {}, two: {} });
    await troupe.login('one', waits);
    await troupe.waitFor('two', 'ready', waits);
    issuer.settings.audience = 'https://another.example';
    issuer.book.expireAccess();
    for (const name of ['one', 'two'])
      await expect(troupe.callServerTool(name, 'echo', {})).rejects.toMatchObject({
        code: 'AUTH_REQUIRED',
      });
    const names = Array.from({ length: 10 }, () => ['one', 'two']).flat();
    for (const name of names) {
      const isRefused = nextState(troupe, name, 'authRequired');
      troupe.send({ type: 'server.reconnect', server: name });
      await isRefused;
    }
    expect(issuer.counts.redemptions).toBeLessThan(8);
  });
});

describe('a renewal', () => {
  it('under way when the troupe stops is completed and stored', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const troupe = troupeWith(issuer, { db: {} }, { stateDir });
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    const answer = deferred();
    issuer.settings.holds.set('/token', answer.promise);
    const call = troupe.callServerTool('db', 'echo', {}).catch(() => undefined);
    await issuer.arrives('/token');
    const isEnded = nextState(troupe, 'db', 'stopped');
    const isStopped = troupe.stop();
    await isEnded;
    answer.resolve();
    await Promise.all([isStopped, call]);
    const next = troupeWith(issuer, { db: {} }, { stateDir });
    await next.waitFor('db', 'ready', waits);
    expect(issuer.counts).toMatchObject({ codes: 1, reuses: 0 });
  });

  it('needs no demand of the server to find the issuer', async () => {
    const issuer = await issuerWith({ issuerPath: '/tenant' });
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    await first.login('db', waits);
    await first.stop();
    const second = troupeWith(issuer, { db: {} }, { stateDir, ...later(4_000_000) });
    await second.waitFor('db', 'ready', waits);
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  });
});

describe('a troupe that stops', () => {
  it('ends a login that waits for the browser', async () => {
    const issuer = await issuerWith();
    const troupe = createTroupe({
      bare: true,
      settings: { mcpServers: { db: { url: issuer.server } } },
    });
    const started = new Promise((resolve) => troupe.on('auth.started', resolve));
    const login = troupe.login('db', waits).catch((error: unknown) => error);
    await started;
    await troupe.stop();
    expect(await login).toMatchObject({ name: 'TroupeError' });
  });
});

/** Logs in for a tool that needs more than the others, and calls it; returns the granted scopes. */
async function widened(challengesInResults: boolean): Promise<unknown> {
  const issuer = await issuerWith({
    scopes: { resource: ['read'], issuer: ['read', 'write'] },
    toolScopes: { change: ['write'] },
    challengesInResults,
  });
  const troupe = troupeWith(issuer);
  await troupe.login('db', waits);
  await expect(troupe.callServerTool('db', 'change', {})).rejects.toMatchObject({
    code: 'AUTH_REQUIRED',
  });
  await troupe.login('db', waits);
  expect(await troupe.callServerTool('db', 'change', {})).toMatchObject({
    meta: { attempts: 1 },
  });
  return (await troupe.accounts())[0]?.scopes;
}
