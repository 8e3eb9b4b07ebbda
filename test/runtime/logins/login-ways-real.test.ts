/** Ways in of whole troupes at a real issuer on this machine: other devices, and other scopes. */

import { describe, expect, it, onTestFinished } from 'vitest';
import type { TroupeEvents } from '../../../src/domain/host/event.ts';
import { createTroupe, type Troupe, type TroupeOptions } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

type Started = TroupeEvents['auth.started'];

interface Made {
  readonly troupe: Troupe;
  readonly started: readonly Started[];
  readonly needed: readonly TroupeEvents['auth.needed'][];
}

/** A troupe whose user consents to each login in a browser. */
function troupeWith(issuer: TestIssuer, entry: object = {}, options: TroupeOptions = {}): Made {
  const mcpServers = { db: { url: issuer.server, ...entry } };
  const troupe = createTroupe({ bare: true, settings: { mcpServers }, ...options });
  onTestFinished(() => troupe.stop());
  const started: Started[] = [];
  const needed: TroupeEvents['auth.needed'][] = [];
  troupe.on('auth.needed', (event) => needed.push(event));
  troupe.on('auth.started', (event) => {
    started.push(event);
    if (event.userCode === undefined)
      void issuer.consent(new URL(event.url)).then((redirect) => fetch(redirect));
  });
  return { troupe, started, needed };
}

const waits = { timeoutMs: 10_000 };

const intervalMs = 5_000;

/** Asks the issuer about a code at once. */
const hurried: TroupeOptions = {
  clock: {
    ...promptClock,
    setTimeout: (run, ms) => promptClock.setTimeout(run, ms === intervalMs ? 20 : ms),
  },
};

describe('a login on another device', () => {
  it('shows a code, asks until the user has entered it, and opens no port', async () => {
    const issuer = await issuerWith({ offersDevice: true });
    const { troupe, started } = troupeWith(issuer, {}, hurried);
    const login = troupe.login('db', { ...waits, device: true });
    await issuer.arrives('/token');
    expect(started).toMatchObject([
      {
        server: 'db',
        verificationUri: `${issuer.origin}/enter`,
        url: expect.stringContaining('/enter?user_code='),
        scopes: [],
      },
    ]);
    issuer.decide(started[0]?.userCode ?? '', 'allowed');
    expect(await login).toMatchObject({ state: 'ready' });
    expect(issuer.counts).toMatchObject({ registrations: 1, authorizations: 0, otherGrants: 1 });
    issuer.book.expireAccess();
    await troupe.callServerTool('db', 'echo', {});
    expect(issuer.counts).toMatchObject({ redemptions: 1 });
    // The code is for the user only.
    const shown = JSON.stringify([troupe.snapshot(), troupe.explain('db'), troupe.logs('db')]);
    expect(shown).not.toContain(started[0]?.userCode);
  });

  it('is refused by the user, or by an issuer that does not offer it', async () => {
    const issuer = await issuerWith({ offersDevice: true });
    const { troupe, started } = troupeWith(issuer, {}, hurried);
    const login = troupe.login('db', { ...waits, device: true });
    await issuer.arrives('/token');
    issuer.decide(started[0]?.userCode ?? '', 'denied');
    await expect(login).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      message: expect.stringContaining('access_denied'),
    });
    issuer.settings.offersDevice = false;
    await expect(troupe.login('db', { ...waits, device: true })).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      message: expect.stringContaining(
        'offers no login on another device; log in with --no-browser',
      ),
    });
  });

  it('uses the client of an earlier login in a browser, which mentions it', async () => {
    const issuer = await issuerWith({ offersDevice: true });
    const { troupe, started } = troupeWith(issuer, {}, hurried);
    await troupe.login('db', waits);
    expect(started).toMatchObject([{ offersDevice: true }]);
    const again = troupe.login('db', { ...waits, device: true });
    await issuer.arrives('/device');
    await issuer.arrives('/token');
    issuer.decide(started[1]?.userCode ?? '', 'allowed');
    await again;
    expect(issuer.counts.registrations).toBe(1);
  });

  it('binds the token to a key where the issuer wants that', async () => {
    const issuer = await issuerWith({ offersDevice: true, dpop: 'nonce' });
    const { troupe, started } = troupeWith(issuer, {}, hurried);
    const login = troupe.login('db', { ...waits, device: true });
    await issuer.arrives('/token');
    issuer.decide(started[0]?.userCode ?? '', 'allowed');
    expect(await login).toMatchObject({ state: 'ready' });
  });
});

describe('a demand for a login', () => {
  it('names the address without its query, the scopes and the account', async () => {
    const issuer = await issuerWith({ challengeScope: 'write read' });
    const url = `${issuer.server}?key=of-the-user`;
    const { troupe, needed, started } = troupeWith(issuer, { url, account: 'work' });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(needed).toEqual([
      { server: 'db', url: issuer.server, scopes: ['read', 'write'], account: 'work' },
    ]);
    // Nothing was asked of the issuer yet.
    expect(issuer.counts.registrations).toBe(0);
    const before = Date.now();
    await troupe.login('db', waits);
    expect(started).toMatchObject([{ server: 'db', scopes: ['read', 'write'] }]);
    const expiresAtMs = Date.parse(started[0]?.expiresAt ?? '');
    expect(expiresAtMs).toBeGreaterThanOrEqual(before + 300_000);
    expect(expiresAtMs).toBeLessThan(Date.now() + 300_001);
  });

  it('says what the server answered, whatever the first request was', async () => {
    const { troupe } = troupeWith(await issuerWith());
    const { lastError } = await troupe.waitFor('db', 'authRequired', waits);
    expect(lastError?.message).toBe('The server answered with status 401 (Unauthorized).');
  });

  it('names no address that contains values', async () => {
    const issuer = await issuerWith();
    const url = issuer.server.replace('/mcp', '/${PLACE}');
    const { troupe, needed } = troupeWith(issuer, { url }, { env: { PLACE: 'mcp' } });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(needed).toEqual([{ server: 'db' }]);
  });
});

describe('an issuer that refuses all scopes of the metadata', () => {
  const refusing = { scopes: { resource: ['read', 'admin'], issuer: ['read'] } };

  it('is asked a second time for none, with the same client', async () => {
    const issuer = await issuerWith(refusing);
    const { troupe, started } = troupeWith(issuer);
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
    expect(started.map(({ scopes }) => scopes)).toEqual([['admin', 'read'], []]);
    expect(issuer.counts).toMatchObject({ registrations: 1, authorizations: 2, codes: 1 });
  });

  it('is asked once if the settings name the scopes', async () => {
    const issuer = await issuerWith(refusing);
    const { troupe } = troupeWith(issuer, { oauth: { scopes: ['admin'] } });
    await expect(troupe.login('db', waits)).rejects.toMatchObject({
      message: expect.stringContaining('invalid_scope'),
    });
    expect(issuer.counts.authorizations).toBe(1);
  });

  it('is asked a second time without a user as well', async () => {
    const clients = [{ id: 'robot', method: 'client_secret_basic', secret: 'of-it' }] as const;
    const issuer = await issuerWith({ ...refusing, clients: [...clients] });
    const oauth = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'of-it' };
    const { troupe } = troupeWith(issuer, { oauth });
    expect(await troupe.waitFor('db', 'ready', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts.otherGrants).toBe(1);
  });
});

describe('a token that was requested without a user', () => {
  it("is refused with the issuer's reason, which the server's status shows", async () => {
    const issuer = await issuerWith();
    const oauth = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'of-it' };
    const { troupe } = troupeWith(issuer, { oauth });
    expect(await troupe.waitFor('db', 'authRequired', waits)).toMatchObject({
      lastError: {
        message: `The server answered with status 401 (Unauthorized). No token was obtained: ${issuer.origin}/token refused the request (invalid_client).`,
      },
    });
  });

  it('is replaced by one with the scopes that a tool needs, and no call fails', async () => {
    const clients = [{ id: 'robot', method: 'client_secret_basic', secret: 'of-it' }] as const;
    const issuer = await issuerWith({
      clients: [...clients],
      challengeScope: 'read',
      toolScopes: { change: ['write'], never: ['admin'] },
    });
    const oauth = { grant: 'client_credentials', clientId: 'robot', clientSecret: 'of-it' };
    const { troupe } = troupeWith(issuer, { oauth });
    await troupe.waitFor('db', 'ready', waits);
    expect(await troupe.callServerTool('db', 'change', {})).toMatchObject({
      meta: { attempts: 1 },
    });
    expect((await troupe.accounts())[0]?.scopes).toEqual(['read', 'write']);
    expect(issuer.counts).toMatchObject({ otherGrants: 2, calls: 1 });
    issuer.settings.scopes = { issuer: ['read', 'write'] };
    await expect(troupe.callServerTool('db', 'never', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    });
    expect(issuer.counts).toMatchObject({ otherGrants: 2, calls: 1 });
  });
});
