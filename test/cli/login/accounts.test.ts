/** Stored logins on the command line, at a real issuer on this machine. */

import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type TroupeOptions } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { createPlace } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

// The first test starts three Node processes one after another, a second each on a busy machine.

const cli = compiledCli();

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

/** Logs in to all servers, and ends. */
async function loggedIn(
  issuer: TestIssuer,
  servers: Readonly<Record<string, object>>,
  options: TroupeOptions,
): Promise<void> {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => [name, { url: issuer.server, ...entry }]),
  );
  const troupe = createTroupe({ bare: true, settings: { mcpServers }, ...options });
  troupe.on('auth.started', ({ url }) => {
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  for (const name of Object.keys(servers)) await troupe.login(name, { timeoutMs: 10_000 });
  await troupe.stop();
}

describe('stored logins', () => {
  it('are listed and deleted without starting a server', async () => {
    const issuer = await issuerWith();
    const place = createPlace(cli);
    place.writeSettings({ db: { url: issuer.server }, never: { ...place.server() } });
    await loggedIn(
      issuer,
      { db: {}, work: { account: 'work' } },
      { stateDir: path.join(place.folder, 'state') },
    );
    const config = ['--config', place.settings];
    const calledServer = () => issuer.seenAt('/mcp').length;
    const before = calledServer();
    const { accounts } = JSON.parse((await place.run('accounts', '--json', ...config)).stdout) as {
      accounts: readonly object[];
    };
    expect(accounts).toHaveLength(2);
    expect(accounts).toContainEqual(
      expect.objectContaining({ servers: ['db'], expired: false, renewable: true }),
    );
    expect(accounts).toContainEqual(expect.objectContaining({ servers: [], account: 'work' }));
    const logout = await place.run('logout', issuer.server, '--account', 'work', ...config);
    expect(logout).toMatchObject({ exitCode: 0, stdout: `logged out from ${issuer.server}\n` });
    expect(issuer.counts.revocations).toBeGreaterThan(0);
    expect(calledServer()).toBe(before);
    const rest = await place.run('accounts', ...config);
    expect(rest.stdout).toMatch(/token until \S+, renewable; used by db\n$/);
    expect(rest.stdout).not.toContain('work');
  });

  it('with a client of their own name the server before it has started', async () => {
    const client = { id: 'mine', method: 'client_secret_basic', secret: 'shh' } as const;
    const issuer = await issuerWith({ clients: [client] });
    const stateDir = temporaryFolder();
    const oauth = { clientId: 'mine', clientSecret: '${SECRET}' };
    await loggedIn(issuer, { db: { oauth } }, { stateDir, env: { SECRET: 'shh' } });
    const entry = { url: issuer.server, startup: 'lazy' };
    const settings = {
      mcpServers: {
        db: { ...entry, oauth },
        never: { ...entry, oauth: false },
        other: { ...entry, oauth: { clientId: 'other' } },
        unknown: { ...entry, oauth: { clientId: '${ID}' } },
      },
    };
    const troupe = createTroupe({ bare: true, settings, stateDir, env: { ID: 'mine' } });
    onTestFinished(() => troupe.stop());
    expect(await troupe.accounts()).toMatchObject([{ servers: ['db'] }]);
  });

  it('say whether they have expired and what is next', async () => {
    const issuer = await issuerWith({ issuesRefreshTokens: false });
    const stateDir = temporaryFolder();
    await loggedIn(issuer, { db: {} }, { stateDir });
    const clock = { ...promptClock, wallNow: () => Date.now() + 3_600_001 };
    const troupe = createTroupe({ bare: true, settings: { mcpServers: {} }, stateDir, clock });
    onTestFinished(() => troupe.stop());
    const { stdout } = await runCliHere(['accounts'], { folder: temporaryFolder(), troupe });
    expect(stdout).toMatch(/token expired at \S+, log in again; used by no server/);
  });

  it('say whether they can be renewed, and why not', async () => {
    const issuer = await issuerWith();
    const stateDir = temporaryFolder();
    await loggedIn(issuer, { db: {} }, { stateDir });
    const clock = { ...promptClock, wallNow: () => Date.now() + 3_600_001 };
    const shown = async (mcpServers: object, isWaitedFor = false): Promise<string> => {
      const troupe = createTroupe({ bare: true, settings: { mcpServers }, stateDir, clock });
      onTestFinished(() => troupe.stop());
      if (isWaitedFor) await troupe.waitFor('db', 'authRequired');
      return (await runCliHere(['accounts'], { folder: temporaryFolder(), troupe })).stdout;
    };
    expect(await shown({})).toContain(', to be renewed at the next use; used by no server');
    const body = '{"error":"invalid_grant","error_description":"The grant was revoked."}';
    issuer.settings.faults.set('/token', { fault: { status: 400, body } });
    expect(await shown({ db: { url: issuer.server } }, true)).toContain(
      `, renewal refused: ${issuer.origin}/token refused the request (invalid_grant: The grant was revoked.), log in again; used by db`,
    );
  });

  it('of several accounts are deleted by account', async () => {
    const issuer = await issuerWith();
    const stateDir = temporaryFolder();
    await loggedIn(issuer, { one: { account: 'one' }, two: { account: 'two' } }, { stateDir });
    const troupe = createTroupe({ bare: true, settings: { mcpServers: {} }, stateDir });
    onTestFinished(() => troupe.stop());
    const folder = temporaryFolder();
    const run = (...words: string[]) => runCliHere(['logout', ...words], { folder, troupe });
    expect(await run(issuer.server)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/has several logins; name the account: (one, two|two, one)/),
    });
    expect(await run('db', '--account', 'one')).toMatchObject({ exitCode: 2 });
    expect(await run(issuer.server, '--account', 'three')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('for the account three is stored; see troupe accounts'),
    });
    expect(await run(issuer.server, '--account', 'one')).toMatchObject({ exitCode: 0 });
    expect(await run(issuer.server)).toMatchObject({ exitCode: 0 });
    expect(await troupe.accounts()).toEqual([]);
  });

  it('of a running server end with their address as well', async () => {
    const issuer = await issuerWith();
    const stateDir = temporaryFolder();
    await loggedIn(issuer, { db: {} }, { stateDir });
    const settings = { mcpServers: { db: { url: issuer.server } } };
    const troupe = createTroupe({ bare: true, settings, stateDir });
    onTestFinished(() => troupe.stop());
    await troupe.waitFor('db', 'ready');
    await troupe.logout({ resource: issuer.server });
    expect(await troupe.waitFor('db', 'authRequired')).toMatchObject({ state: 'authRequired' });
  });

  it('with a proxy of their own are deleted by address without a request past it', async () => {
    const issuer = await issuerWith();
    const stateDir = temporaryFolder();
    await loggedIn(issuer, { db: { proxy: false } }, { stateDir });
    const before = issuer.seen.length;
    const troupe = createTroupe({ bare: true, settings: { mcpServers: {} }, stateDir });
    onTestFinished(() => troupe.stop());
    await troupe.logout({ resource: issuer.server });
    expect(await troupe.accounts()).toEqual([]);
    expect(issuer.seen.length).toBe(before);
  });
});
