/** Gateways whose clients log in, and gateways whose own servers need a login. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';

import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { createSigningKey } from '../../support/issuer/signing.ts';
import { type CliProcess, createPlace } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

const cli = compiledCli();
const root = fileURLToPath(new URL('../../..', import.meta.url));
// Each test starts several Node processes one after another, a second each on a busy machine.

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

async function addressOf(run: CliProcess): Promise<URL> {
  const [, address = ''] = await run.printed(/"url":"([^"]+)"/);
  return new URL(address);
}

describe('troupe serve --auth oauth', () => {
  it('lets another troupe log in and call', async () => {
    const issuer = await issuerWith({ signingKeys: [createSigningKey('key-1')] });
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    const gateway = place.start(
      'serve',
      ...['--config', place.settings, '--http', '0', '--json'],
      ...['--auth', 'oauth', '--issuer', issuer.issuer(), '--scope', 'tools'],
    );
    const [printed] = await gateway.printed(/\{[^}]*\}/);
    const document = JSON.parse(printed) as { url: string };
    expect(document).toMatchObject({ issuer: issuer.issuer() });
    expect(document).not.toHaveProperty('tokenFile');
    issuer.settings.otherResources.push(document.url);

    const here = createPlace(cli);
    here.writeSettings({ team: { url: document.url } });
    const config = ['--config', here.settings];
    const login = here.start('login', 'team', '--json', ...config);
    const address = await addressOf(login);
    expect(address.searchParams.get('scope')).toBe('tools');
    expect(address.searchParams.get('resource')).toBe(document.url);
    await fetch(await issuer.consent(address));
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    const tools = await here.run('tools', 'team', ...config);
    expect(tools.stdout).toContain('db__echo');
    const call = await here.run('call', 'team', 'db__echo', ...config);
    expect(call.exitCode).toBe(0);

    const refused = await fetch(document.url, { method: 'POST' });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('resource_metadata="http');
    gateway.child.kill('SIGTERM');
    expect((await gateway.ended).exitCode).toBe(143);
    const shown = gateway.stdout() + gateway.stderr();
    const secrets = issuer.seen.flatMap(({ form }) => form.getAll('code'));
    for (const secret of secrets) expect(shown).not.toContain(secret);
  });

  it('does not start without an issuer whose tokens it can check', async () => {
    const issuer = await issuerWith();
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    const serve = (at: string) =>
      place.run(
        ...['serve', '--config', place.settings, '--http', '0'],
        ...['--auth', 'oauth', '--issuer', at],
      );
    const opaque = await serve(issuer.issuer());
    expect(opaque.exitCode).toBe(2);
    expect(opaque.stderr).toContain('publishes no keys, so its tokens cannot be checked');
    const other = await serve(`${issuer.origin}/other`);
    expect(other.exitCode).toBe(2);
    expect(other.stderr).toContain('has no metadata at the known places');
    await issuer.close();
    const down = await serve(issuer.issuer());
    expect(down.stderr).toMatch(/--issuer \S+ cannot be used now: .*ECONNREFUSED.*; try again/);
    expect(place.servers()).toEqual([]);
  });

  it('rejects flags that contradict each other, with what to do', async () => {
    const folder = temporaryFolder();
    const oauth = ['--auth', 'oauth', '--issuer', 'https://id.example.com'];
    for (const [argv, words] of [
      [['--auth', 'oauth', '--http', '0'], '--auth oauth needs --issuer'],
      [oauth, '--auth oauth needs --http'],
      [['--auth', 'token'], '--auth needs --http'],
      [['--http', '0', '--issuer', 'https://id.example.com'], '--issuer needs --auth oauth'],
      [['--http', '0', '--scope', 'a'], '--scope needs --auth oauth'],
      [['--http', '0', '--audience', 'a'], '--audience needs --auth oauth'],
      [['--http', '0', '--no-auth', '--scope', 'a'], '--scope needs --auth oauth'],
      [[...oauth, '--http', '0.0.0.0:0'], 'needs --audience with the address that clients use'],
      [[...oauth, '--http', '0', '--scope', 'a b'], 'one scope, without spaces'],
      [[...oauth, '--http', '0', '--scope', 'a"b'], 'one scope, without spaces'],
      [[...oauth, '--http', '0', '--audience', 'a b'], 'without spaces and quotes'],
      [['--auth', 'basic', '--http', '0'], 'Write token or oauth'],
      [['--auth', 'oauth', '--http', '0', '--issuer', 'id.example.com'], 'an https address'],
      [['--auth', 'oauth', '--http', '0', '--issuer', 'http://id.example.com'], 'an https address'],
      [[...oauth.slice(0, 3), 'https://id.example.com/"', '--http', '0'], 'quotes'],
      [['--auth', 'oauth', '--http', '0', '--issuer', 'https://a@id.example.com'], 'user name'],
    ] as const) {
      const { exitCode, stdout, stderr } = await runCliHere(['serve', ...argv], { folder });
      expect([argv.join(' '), exitCode]).toEqual([argv.join(' '), 2]);
      expect(stderr).toContain(words);
      expect(stdout).toBe('');
    }
  });
});

describe.each(['auto', 'legacy'] as const)('troupe serve over stdio (%s)', (mode) => {
  it('asks its host to open the page of a login', async () => {
    const issuer = await issuerWith();
    const place = createPlace(cli);
    place.writeSettings({ db: { url: issuer.server } });
    const state = ['--project', place.folder, '--state-dir', path.join(place.folder, 'state')];
    const args = [...cli.words, 'serve', '--config', place.settings, ...state];
    const launch = { command: process.execPath, args, cwd: root, stderr: 'ignore' as const };
    const client = new Client(
      { name: 'host', version: '1.0.0' },
      { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode } },
    );
    const pages: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (params.mode !== 'url') return { action: 'decline' };
      pages.push(params.url);
      void issuer.consent(new URL(params.url)).then((redirect) => fetch(redirect));
      return { action: 'accept' };
    });
    await client.connect(new StdioClientTransport(launch));
    onTestFinished(() => client.close());
    const answer = await client.callTool({ name: 'db__echo', arguments: {} });
    expect(answer.isError).not.toBe(true);
    expect(pages).toHaveLength(1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['db__echo']);
    expect(issuer.counts).toMatchObject({ codes: 1, calls: 1 });
    await client.close();
  });
});
