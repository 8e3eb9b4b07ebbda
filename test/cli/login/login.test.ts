/** Logins from the command line, at a real issuer on this machine. */

import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type Troupe } from '../../../src/index.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { type CliProcess, createPlace, type Place } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';

// Each test starts two or three Node processes one after another, a second each on a busy machine.

const cli = compiledCli();

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

function placeWith({ server }: TestIssuer, more: Record<string, object> = {}): Place {
  const place = createPlace(cli);
  place.writeSettings({
    db: { url: server },
    local: { ...place.server(), enabled: false },
    ...more,
  });
  return place;
}

async function addressOf(run: CliProcess): Promise<URL> {
  const [, address = ''] = await run.printed(/"url":"([^"]+)"/);
  return new URL(address);
}

function linesOf({ stdout }: { stdout: string }): readonly unknown[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

describe('a login from the command line', () => {
  it('is stored for the next troupe, is listed without its tokens, and ends with a logout', async () => {
    const issuer = await issuerWith();
    const place = placeWith(issuer);
    const config = ['--config', place.settings];
    const login = place.start('login', 'db', '--json', ...config);
    await fetch(await issuer.consent(await addressOf(login)));
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    expect(login.stderr()).toBe('');
    expect(linesOf({ stdout: login.stdout() })).toMatchObject([
      { type: 'auth.started', server: 'db' },
      { status: { name: 'db', state: 'ready' } },
    ]);
    expect((await place.run('call', 'db', 'echo', ...config)).exitCode).toBe(0);
    const accounts = await place.run('accounts', ...config);
    expect(accounts.stdout).toContain(`${issuer.server}; issuer ${issuer.issuer()}`);
    const secrets = issuer.seen.flatMap(({ form, headers }) => [
      ...form.getAll('code'),
      ...(headers.authorization?.split(' ').slice(1) ?? []),
    ]);
    for (const secret of secrets) expect(accounts.stdout).not.toContain(secret);
    expect(await place.run('logout', 'db', ...config)).toMatchObject({
      exitCode: 0,
      stdout: 'logged out from db\n',
    });
    expect(issuer.counts.revocations).toBeGreaterThan(0);
    expect((await place.run('accounts', ...config)).stdout).toBe('no login is stored\n');
  });

  it('starts the server of a running troupe', async () => {
    const issuer = await issuerWith();
    const place = placeWith(issuer);
    const config = ['--config', place.settings];
    const up = place.start('up', ...config);
    await up.printed(/authRequired/);
    const login = place.start('login', 'db', '--json', ...config);
    await fetch(await issuer.consent(await addressOf(login)));
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    const status = await place.run('status', 'db', ...config);
    expect(status.stdout).toContain('ready');
    expect(issuer.counts.codes).toBe(1);
  });

  it('that fails or is not possible says what to do', async () => {
    const issuer = await issuerWith({ registersClients: false });
    const place = placeWith(issuer, {
      own: { url: issuer.server, headers: { Authorization: 'Bearer old' } },
      robot: {
        url: issuer.server,
        oauth: { grant: 'client_credentials', clientId: 'robot', clientSecret: 'wrong' },
      },
    });
    const fails = async (server: string) => {
      const { exitCode, stderr } = await place.run('login', server, '--config', place.settings);
      return [exitCode, stderr.trimEnd().split('\n').at(-1)];
    };
    expect(await fails('db')).toEqual([
      11,
      expect.stringMatching(
        /registers no clients.*set "oauth\.clientId" in mcpServers\.db \(.+:3\)$/,
      ),
    ]);
    expect(await fails('robot')).toEqual([
      11,
      expect.stringMatching(/\(invalid_client\); see mcpServers\.robot \(.+:\d+\)$/),
    ]);
    expect(await fails('local')).toEqual([
      2,
      'troupe: local uses no login: only remote servers have logins',
    ]);
    expect(await fails('own')).toEqual([2, expect.stringContaining('have the header')]);
    expect(await fails('bd')).toEqual([2, expect.stringContaining('Did you mean db?')]);
  });

  it('does not begin for an entry that waits for approval', async () => {
    const issuer = await issuerWith();
    const place = createPlace(cli);
    place.writeProject({ db: { url: issuer.server } });
    const { exitCode, stdout } = await place.run('login', 'db', '--json');
    expect(exitCode).toBe(10);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'PENDING_APPROVAL' } });
    expect(issuer.seen).toEqual([]);
  });

  it('ends with Ctrl-C', async () => {
    const place = placeWith(await issuerWith());
    const login = place.start('login', 'db', '--json', '--config', place.settings);
    await addressOf(login);
    login.child.kill('SIGINT');
    expect(await login.ended).toMatchObject({ exitCode: 130 });
    expect(login.stdout()).toContain('CANCELLED');
  });

  it('ignores requests of strangers to the loopback port', async () => {
    const issuer = await issuerWith();
    const place = placeWith(issuer);
    const login = place.start('login', 'db', '--json', '--config', place.settings);
    const address = await addressOf(login);
    const callback = new URL(address.searchParams.get('redirect_uri') ?? '');
    const forged = new URL(callback);
    forged.search = '?code=forged&state=forged';
    expect((await fetch(forged)).status).toBe(400);
    expect(await statusFor(forged, 'rebound.example.com')).toBe(403);
    await fetch(await issuer.consent(address));
    expect(await login.ended).toMatchObject({ exitCode: 0 });
  });
});

describe('a login at a terminal', () => {
  it('opens a private file that leads to the issuer, and prints the address as well', async () => {
    const issuer = await issuerWith();
    const { troupe, folder } = await here(issuer);
    const opened: string[] = [];
    const openFile = async (file: string): Promise<boolean> => {
      const page = readFileSync(file, 'utf8').replaceAll('&amp;', '&');
      const [, url = ''] = /url=([^"]+)"/.exec(page) ?? [];
      expect([path.extname(file), statSync(file).mode & 0o077]).toEqual(['.html', 0]);
      opened.push(file);
      await fetch(await issuer.consent(new URL(url)));
      return true;
    };
    const { exitCode, stdout, stderr } = await runCliHere(['login', 'db'], {
      folder,
      troupe,
      openFile,
    });
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^logged in to db\ndb ready/)]);
    expect(stderr).toContain(`${issuer.issuer()}/authorize?`);
    expect(opened.map((file) => existsSync(file))).toEqual([false]);
  });

  it('takes the address that was pasted with --no-browser, after mistakes as well', async () => {
    const issuer = await issuerWith();
    const { troupe, folder } = await here(issuer);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const run = startCliHere(['login', 'db', '--no-browser'], {
      folder,
      troupe,
      stdin,
      columns: 80,
    });
    const started = new Promise<string>((resolve) => {
      troupe.on('auth.started', ({ url }) => resolve(url));
    });
    await run.noted('paste its address here');
    const mistakes = { '': '', hello: 'is not a URL', [await started]: 'is not the address that' };
    for (const [mistake, why] of Object.entries(mistakes)) {
      stdin.write(`${mistake}\r`);
      await run.noted(why);
    }
    const redirected = await issuer.consent(new URL(await started));
    stdin.write(`${redirected.href}\r`);
    expect(await run.finished).toMatchObject({ exitCode: 0 });
  });
});

/** A troupe of this process, for one command. */
async function here(issuer: TestIssuer): Promise<{ troupe: Troupe; folder: string }> {
  const settings = { mcpServers: { db: { url: issuer.server } } };
  const troupe = createTroupe({ bare: true, settings });
  onTestFinished(() => troupe.stop());
  await troupe.ready();
  return { troupe, folder: temporaryFolder() };
}

async function statusFor(url: URL, host: string): Promise<number | undefined> {
  const sent = request(url, { headers: { host } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}
