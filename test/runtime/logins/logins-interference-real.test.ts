/** Logins of whole troupes when others interfere: hosts, issuers, servers and other settings. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { deferred } from '../../support/deferred.ts';
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
  it('of a server that now has its own authorization is no longer its login', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer);
    await troupe.login('db', waits);
    const headers = { Authorization: 'Bearer of-the-user' };
    troupe.addServer('db', { url: issuer.server, headers });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(issuer.seen.at(-1)?.headers.authorization).toBe(headers.Authorization);
    await expect(troupe.login('db', waits)).rejects.toMatchObject({ code: 'USAGE' });
    expect(await troupe.accounts()).toMatchObject([{ servers: [] }]);
  });

  it('of a removed server is kept, but neither renewed nor listed as in use', async () => {
    const issuer = await issuerWith();
    let ends: (() => void)[] = [];
    const aheadMs = 3_000_000;
    const clock = {
      ...promptClock,
      setTimeout: (callback: () => void, delayMs: number) => {
        if (delayMs > aheadMs) ends = [...ends, callback];
        return promptClock.setTimeout(callback, delayMs);
      },
    };
    const troupe = troupeWith(issuer, {}, { clock });
    troupe.addServer('db', { url: issuer.server });
    await troupe.login('db', waits);
    troupe.removeServer('db');
    // Its session ends meanwhile.
    troupe.addServer('other', { url: issuer.server, account: 'other' });
    await troupe.waitFor('other', 'authRequired', waits);
    expect(await troupe.accounts()).toMatchObject([{ servers: [], renewable: true }]);
    for (const end of ends) end();
    troupe.addServer('again', { url: issuer.server });
    await troupe.waitFor('again', 'ready', waits);
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 0 });
  });

  it('registers another client after the issuer has deleted this one', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer);
    await troupe.login('db', waits);
    issuer.clients.clear();
    issuer.book.expireAccess();
    await expect(troupe.callServerTool('db', 'echo', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    });
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts).toMatchObject({ registrations: 2, codes: 2 });
  });

  it('follows the settings of the server that it is for', async () => {
    const issuer = await issuerWith();
    const scopes = { narrow: ['read'], wide: ['read', 'write'] };
    const entries = Object.entries(scopes).map(([name, list]) => [
      name,
      { oauth: { scopes: list } },
    ]);
    const troupe = troupeWith(issuer, Object.fromEntries(entries) as Record<string, Entry>);
    for (const name of Object.keys(scopes)) await troupe.waitFor(name, 'authRequired', waits);
    for (const [name, list] of Object.entries(scopes)) {
      await troupe.login(name, waits);
      expect(issuer.seenAt('/authorize').at(-1)?.query.get('scope')).toBe(list.join(' '));
    }
  });

  it('that another one replaced does not end that one', async () => {
    const issuer = await issuerWith();
    const troupe = createTroupe({
      bare: true,
      settings: { mcpServers: { db: { url: issuer.server } } },
    });
    onTestFinished(() => troupe.stop());
    const urls: string[] = [];
    const shown = [deferred(), deferred()];
    troupe.on('auth.started', ({ url }) => shown[urls.push(url) - 1]?.resolve());
    const over = new AbortController();
    const first = troupe.login('db', { ...waits, signal: over.signal });
    await shown[0]?.promise;
    const second = troupe.login('db', waits);
    await shown[1]?.promise;
    over.abort();
    await expect(first).rejects.toMatchObject({ code: 'CANCELLED' });
    await fetch(await issuer.consent(new URL(urls[1] ?? '')));
    expect(await second).toMatchObject({ state: 'ready' });
  });
});

describe('a clock that is set', () => {
  it.each([
    ['forward', 4_000_000],
    ['back', -4_000_000],
  ])('%s renews the token once when it has to be', async (_, jumpMs) => {
    const issuer = await issuerWith();
    let shiftMs = 0;
    const clock = { ...promptClock, wallNow: () => Date.now() + shiftMs };
    const troupe = troupeWith(issuer, { db: {} }, { clock });
    await troupe.login('db', waits);
    shiftMs = jumpMs;
    if (jumpMs < 0) issuer.book.expireAccess();
    await Promise.all(Array.from({ length: 5 }, () => troupe.callServerTool('db', 'echo', {})));
    expect(issuer.counts).toMatchObject({ redemptions: 1, reuses: 0, calls: 5 });
  });
});

describe('an exchange', () => {
  it('that the end of the troupe interrupts leaves nothing, and the login can be repeated', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    const answer = deferred();
    issuer.settings.holds.set('/token', answer.promise);
    const isAsked = issuer.arrives('/token');
    const login = first.login('db', waits).catch((error: unknown) => error);
    await isAsked;
    await first.stop();
    answer.resolve();
    expect(await login).toMatchObject({ name: 'TroupeError' });
    const second = troupeWith(issuer, { db: {} }, { stateDir });
    await second.waitFor('db', 'authRequired', waits);
    expect(await second.accounts()).toEqual([]);
    expect(await second.login('db', waits)).toMatchObject({ state: 'ready' });
  });
});

describe('a logout', () => {
  it('during a renewal by another process removes and revokes what that one obtained', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const [here, troupe] = [1, 2].map(() => troupeWith(issuer, { db: {} }, { stateDir }));
    if (here === undefined || troupe === undefined) throw new Error('two were started');
    await here.login('db', waits);
    await troupe.waitFor('db', 'ready', waits);
    issuer.book.expireAccess();
    const answer = deferred();
    issuer.settings.holds.set('/token', answer.promise);
    const isAsked = issuer.arrives('/token');
    const call = troupe.callServerTool('db', 'echo', {}).catch(() => undefined);
    await isAsked;
    const logout = here.logout('db');
    answer.resolve();
    await Promise.all([call, logout]);
    for (const each of [here, troupe]) await each.waitFor('db', 'authRequired', waits);
    expect(await here.accounts()).toEqual([]);
    const sent = issuer.seenAt('/mcp').map(({ headers }) => headers.authorization?.split(' ')[1]);
    for (const token of sent) expect(issuer.book.grantOf(token ?? '')).toBeUndefined();
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1, reuses: 0 });
  });
});

describe('a login after a logout', () => {
  it('begins when the issuer has revoked the tokens', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith(issuer);
    await troupe.login('db', waits);
    const revoked = deferred();
    issuer.settings.holds.set('/revoke', revoked.promise);
    const isAsked = issuer.arrives('/revoke');
    const logout = troupe.logout('db');
    await isAsked;
    const login = troupe.login('db', waits);
    revoked.resolve();
    await logout;
    expect(await login).toMatchObject({ state: 'ready' });
    expect(issuer.counts.codes).toBe(2);
    expect(issuer.seenAt('/revoke')).toHaveLength(2);
  });
});

describe('a renewal', () => {
  it('is tried again if the issuer could not be found, and needs no login', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    await first.login('db', waits);
    await first.stop();
    const metadata = '/.well-known/oauth-authorization-server';
    issuer.settings.faults.set(metadata, { fault: { status: 403 }, times: 1 });
    const troupe = troupeWith(issuer, { db: {} }, { stateDir, ...later(4_000_000) });
    await troupe.waitFor('db', 'backingOff', waits);
    expect(await troupe.waitFor('db', 'ready', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  });

  it('does not begin when the lock might end before it', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const first = troupeWith(issuer, { db: {} }, { stateDir });
    await first.login('db', waits);
    await first.stop();
    const metadata = '/.well-known/oauth-authorization-server';
    const answer = deferred();
    issuer.settings.holds.set(metadata, answer.promise);
    let passedMs = 0;
    const { clock } = later(4_000_000);
    const slow = { ...clock, now: () => clock.now() + passedMs };
    const isAsked = issuer.arrives(metadata);
    const troupe = troupeWith(issuer, { db: {} }, { stateDir, clock: slow });
    await isAsked;
    passedMs = 9_000;
    answer.resolve();
    const { lastError } = await troupe.waitFor('db', 'backingOff', waits);
    expect(lastError?.message).toContain('took too long');
    expect(issuer.seenAt('/token')).toHaveLength(1);
  });
});

describe('a login to a WebSocket', () => {
  it('is made, and renewed when the token expires', async () => {
    const issuer = await issuerWith();
    const url = issuer.server.replace('http:', 'ws:');
    const troupe = troupeWith(issuer, { db: { type: 'ws', url } });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
    issuer.book.expireAccess();
    troupe.send({ type: 'server.reconnect', server: 'db' });
    await troupe.waitFor('db', 'ready', waits);
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  });
});

describe('a WebSocket that the server closes for want of a token', () => {
  it('is opened again with another one', async () => {
    const issuer = await issuerWith();
    const url = issuer.server.replace('http:', 'ws:');
    const troupe = troupeWith(issuer, { db: { type: 'ws', url } });
    await troupe.login('db', waits);
    const states: string[] = [];
    troupe.on('status.changed', ({ status }) => states.push(status.state));
    issuer.book.expireAccess();
    const isOpen = nextState(troupe, 'db', 'ready');
    await troupe.callServerTool('db', 'echo', {}).catch(() => undefined);
    await isOpen;
    expect(states).not.toContain('authRequired');
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  });
});
