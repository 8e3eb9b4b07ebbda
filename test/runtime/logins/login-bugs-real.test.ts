/** Bugs of logins that recur in other clients, each at a real issuer on this machine. */

import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type Troupe, type TroupeOptions } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

function stateFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function troupeWith(
  servers: Readonly<Record<string, object>>,
  options: TroupeOptions = {},
): Troupe {
  const troupe = createTroupe({ bare: true, settings: { mcpServers: servers }, ...options });
  onTestFinished(() => troupe.stop());
  return troupe;
}

/** A user who consents to each login in a browser. */
function consenting(issuer: TestIssuer, troupe: Troupe): Troupe {
  troupe.on('auth.started', ({ url }) => {
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  return troupe;
}

const waits = { timeoutMs: 10_000 };

describe('a login', () => {
  it('ends when its caller waits no longer', async () => {
    const { server: url } = await issuerWith();
    const timeoutMs = 54_321;
    const deadlines: (() => void)[] = [];
    const clock: TroupeOptions['clock'] = {
      ...promptClock,
      setTimeout: (callback, delayMs) => {
        if (delayMs !== timeoutMs) return promptClock.setTimeout(callback, delayMs);
        deadlines.push(callback);
        return undefined;
      },
    };
    const troupe = troupeWith({ db: { url } }, { clock });
    await troupe.waitFor('db', 'authRequired', waits);
    troupe.on('auth.started', () => {
      for (const end of deadlines) end();
    });
    await expect(troupe.login('db', { timeoutMs })).rejects.toMatchObject({
      code: 'TIMEOUT_WAITING',
    });
    await expect(troupe.finishLogin('db', 'http://127.0.0.1/')).rejects.toMatchObject({
      message: expect.stringContaining('no login to db is waiting') as string,
    });
  });
});

describe('servers that need a login', () => {
  it('start no login by themselves, and register no client', async () => {
    const issuer = await issuerWith();
    const troupe = troupeWith({ one: { url: issuer.server }, two: { url: issuer.server } });
    const events: string[] = [];
    for (const name of ['auth.needed', 'auth.started'] as const)
      troupe.on(name, () => events.push(name));
    await Promise.all(['one', 'two'].map((name) => troupe.waitFor(name, 'authRequired', waits)));
    await expect(troupe.callServerTool('one', 'echo', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      retryable: false,
      outcome: 'not_executed',
      message:
        "Server one is authRequired: The server answered with status 401 (Unauthorized). Next: troupe.login('one')",
    });
    expect(troupe.status('one')).toMatchObject({ action: 'troupe login one' });
    expect(events).toEqual(['auth.needed', 'auth.needed']);
    expect(issuer.counts).toMatchObject({ registrations: 0, authorizations: 0 });
  });

  it('are announced once when an edit adds or changes them, and no login begins', async () => {
    const issuer = await issuerWith();
    const file = path.join(stateFolder(), 'troupe.json');
    const edit = (mcpServers: object): void => {
      writeFileSync(`${file}.new`, JSON.stringify({ mcpServers }));
      renameSync(`${file}.new`, file);
    };
    edit({});
    const troupe = troupeWith({}, { sources: [file] });
    const events: string[] = [];
    for (const name of ['auth.needed', 'auth.started'] as const)
      troupe.on(name, ({ server }) => events.push(`${name} ${server}`));
    const announced = (server: string): Promise<void> =>
      new Promise((resolve) => {
        troupe.on('auth.needed', (event) => {
          if (event.server === server) resolve();
        });
      });
    const db = { url: issuer.server };
    for (const [name, servers] of [
      ['db', { db }],
      ['other', { db, other: db }],
      ['db', { db: { ...db, headers: { 'X-Edited': 'yes' } }, other: db }],
    ] as const) {
      const told = announced(name);
      edit(servers);
      await told;
      await troupe.waitFor(name, 'authRequired', waits);
    }
    expect(events).toEqual(['auth.needed db', 'auth.needed other', 'auth.needed db']);
    expect(issuer.counts).toMatchObject({ registrations: 0, authorizations: 0 });
  });

  it('send nothing more after a final refusal', async () => {
    const issuer = await issuerWith({ offersAll: true });
    const timers = new Map<unknown, () => void>();
    const clock: TroupeOptions['clock'] = {
      ...promptClock,
      setTimeout: (callback, delayMs) => {
        const timer = promptClock.setTimeout(() => {
          timers.delete(timer);
          callback();
        }, delayMs);
        timers.set(timer, callback);
        return timer;
      },
      clearTimeout: (timer) => {
        timers.delete(timer);
        promptClock.clearTimeout(timer);
      },
    };
    const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }, { clock }));
    await troupe.login('db', waits);
    issuer.book.revokeAll();
    await troupe.callServerTool('db', 'echo', {}).catch(() => undefined);
    await troupe.waitFor('db', 'authRequired', waits);
    const before = issuer.seen.length;
    for (const [timer, end] of [...timers]) {
      clock.clearTimeout(timer);
      end();
    }
    // A request sent by a timer would arrive before this one.
    await fetch(issuer.origin);
    expect(issuer.seen.slice(before).map(({ path: at }) => at)).toEqual(['/']);
  });
});

describe('a token', () => {
  it('is used for prompts and resources as for tools', async () => {
    const issuer = await issuerWith({ offersAll: true });
    const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }));
    await troupe.login('db', waits);
    const before = issuer.seen.length;
    await troupe.getPrompt('db', 'one');
    await troupe.readResource('db', 'test://one');
    const sent = issuer.seen.slice(before);
    expect(sent.map(({ body }) => /"method":"([^"]+)"/u.exec(body)?.[1])).toEqual(
      expect.arrayContaining(['prompts/get', 'resources/read']),
    );
    expect(sent.filter(({ headers }) => headers.authorization === undefined)).toEqual([]);
    issuer.book.expireAccess();
    await troupe.getPrompt('db', 'one');
    issuer.book.expireAccess();
    await troupe.readResource('db', 'test://one');
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 2 });
  });

  it('that expires while the stream of a call is broken is renewed to resume it', async () => {
    const issuer = await issuerWith({ toolScopes: { breaking: [] } });
    // Without the second before a stream is resumed.
    const clock: TroupeOptions['clock'] = {
      ...promptClock,
      setTimeout: (callback, delayMs) =>
        promptClock.setTimeout(callback, delayMs >= 1_000 && delayMs <= 1_250 ? 0 : delayMs),
    };
    const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }, { clock }));
    await troupe.login('db', waits);
    const before = issuer.seenAt('/mcp').length;
    const broken = issuer.arrives('/mcp');
    const call = troupe.callServerTool('db', 'breaking', {});
    await broken;
    issuer.book.expireAccess();
    const { result, meta } = await call;
    expect([result.content, meta.attempts]).toEqual([[{ type: 'text', text: 'late' }], 1]);
    const sent = issuer.seenAt('/mcp').slice(before);
    expect(sent.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
    expect(issuer.counts).toMatchObject({ calls: 1, redemptions: 1 });
  });

  it("is requested for the server's URL without the key in its query", async () => {
    const issuer = await issuerWith();
    const troupe = consenting(issuer, troupeWith({ db: { url: `${issuer.server}?key=mine` } }));
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    await troupe.callServerTool('db', 'echo', {});
    const asked = issuer.seen.filter(({ path: at }) => at === '/token' || at === '/authorize');
    expect(asked.map(({ query, form }) => query.get('resource') ?? form.get('resource'))).toEqual(
      Array(3).fill(issuer.server),
    );
    expect(issuer.seenAt('/mcp').every(({ query }) => query.get('key') === 'mine')).toBe(true);
  });

  it('is renewed once for five troupes that are refused together, and none loses it', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    const troupes = Array.from({ length: 5 }, () =>
      consenting(issuer, troupeWith({ db: { url: issuer.server } }, { stateDir })),
    );
    await Promise.all(troupes.map((each) => each.waitFor('db', 'authRequired', waits)));
    await troupes[0]?.login('db', waits);
    await Promise.all(troupes.map((each) => each.waitFor('db', 'ready', waits)));
    issuer.book.expireAccess();
    await Promise.all(troupes.map((each) => each.callServerTool('db', 'echo', {})));
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1, reuses: 0, calls: 5 });
    expect(await troupes[0]?.accounts()).toHaveLength(1);
  });

  it('stays with its address when the URL of its server changes', async () => {
    const issuer = await issuerWith();
    const other = await issuerWith();
    const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }));
    await troupe.login('db', waits);
    troupe.send({
      type: 'settings.changed',
      settings: { mcpServers: { db: { url: other.server } } },
    });
    await troupe.waitFor('db', 'authRequired', waits);
    expect(other.seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
    expect(troupe.tools()).toEqual([]);
    expect(troupe.status('db')).toMatchObject({ catalog: 'none', action: 'troupe login db' });
    expect(await troupe.accounts()).toMatchObject([{ resource: issuer.server, servers: [] }]);
  });

  it('obtained while its server backs off starts the server', async () => {
    const issuer = await issuerWith();
    const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }));
    await troupe.login('db', waits);
    issuer.book.expireAccess();
    issuer.settings.faults.set('/token', { fault: { status: 503 } });
    const over = new AbortController();
    const call = troupe.callServerTool('db', 'echo', {}, { signal: over.signal });
    await troupe.waitFor('db', 'backingOff', waits);
    over.abort();
    await call.catch(() => undefined);
    issuer.settings.faults.clear();
    expect(await troupe.login('db', { timeoutMs: 1_000 })).toMatchObject({ state: 'ready' });
  });
});

describe('a client', () => {
  it('is registered once for several logins, which return to one port', async () => {
    const issuer = await issuerWith();
    const stateDir = stateFolder();
    for (const _ of [1, 2]) {
      const troupe = consenting(issuer, troupeWith({ db: { url: issuer.server } }, { stateDir }));
      await troupe.login('db', waits);
      await troupe.login('db', waits);
      await troupe.stop();
    }
    expect(issuer.counts).toMatchObject({ registrations: 1, codes: 4 });
    const returns = issuer.seenAt('/authorize').map(({ query }) => query.get('redirect_uri'));
    expect(new Set(returns).size).toBe(1);
  });
});
