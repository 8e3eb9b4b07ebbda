/** Logs in with real processes, and searches what they print, keep and start for the login's secrets. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, it, onTestFinished, vi } from 'vitest';

import { createPlace } from '../cli/cli-process.ts';
import { compiledCli } from '../cli/compiled-cli.ts';
import { startTestIssuer } from '../support/issuer/issuer.ts';
import { leaksIn, secretsOf, textsBelow } from './login-outputs.ts';

const cli = compiledCli();
// Some ten processes, a second each on a busy machine.

/**
 * Puts a browser into the PATH that hands over the file it is to open, and stays until it is
 * released.
 */
function handBrowser(folder: string) {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const [opened, release] = [path.join(folder, 'opened'), path.join(folder, 'release')];
  execFileSync('mkfifo', [opened, release]);
  const program = path.join(bin, 'xdg-open');
  writeFileSync(program, `#!/bin/sh\ncat "$1" > '${opened}'\nread line < '${release}'\n`);
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', `${bin}${path.delimiter}${process.env['PATH']}`);
  return {
    async address(): Promise<URL> {
      const page = (await readFile(opened, 'utf8')).replaceAll('&amp;', '&');
      return new URL(/url=([^"]+)"/u.exec(page)?.[1] ?? '');
    },
    async close(): Promise<void> {
      const file = await open(release, 'w');
      await file.close();
    },
  };
}

/** The arguments and the environment of all processes on this machine that may be read. */
function processes(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  const files = pids.flatMap((pid) => ['cmdline', 'environ'].map((name) => `/proc/${pid}/${name}`));
  return files
    .map((file) => {
      try {
        return readFileSync(file, 'utf8');
      } catch {
        // It has ended meanwhile, or is someone else's.
        return '';
      }
    })
    .join('\n');
}

it('secrets of a login appear in no output, file, argument or environment of a process', async () => {
  const issuer = await startTestIssuer({ authMethods: ['client_secret_post'], dpop: 'offered' });
  onTestFinished(() => issuer.close());
  const place = createPlace(cli);
  const stateDir = path.join(place.folder, 'state');
  const browser = handBrowser(place.folder);
  const oauth = { dpop: true };
  place.writeSettings({ db: { url: issuer.server, oauth }, local: place.server() });
  const config = ['--config', place.settings];
  const serve = place.start('serve', ...config, '--http', '0', '--json');
  const [document] = await serve.printed(/\{[^}]*\}/u);
  const { url, tokenFile } = JSON.parse(document) as { url: string; tokenFile: string };
  const events = place.start('events', ...config);
  // Events are printed only from the moment that the command has connected.
  while (events.stdout() === '') await place.run('restart', 'local', ...config);
  const login = place.start('login', 'db', ...config);
  const address = await browser.address();
  const whileWaiting = processes();
  // The search finds what a process was started with.
  expect(whileWaiting).toContain(place.mark);
  expect(whileWaiting).toMatch(/xdg-open\0[^\0]+state\/login\/[^\0]+\.html/u);
  await browser.close();
  await fetch(await issuer.consent(address));
  expect(await login.ended).toMatchObject({ exitCode: 0 });
  const loggedIn = secretsOf(issuer, stateDir);
  const client = new Client({ name: 'host', version: '1.0.0' });
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  issuer.book.expireAccess();
  const call = () => client.callTool({ name: 'db__echo', arguments: {} });
  const answers: unknown[] = [await client.listTools(), await call()];
  for (const echo of ['rpc', 'page'] as const) {
    issuer.settings.faults.set('/mcp', {
      fault: { echo, status: 200 + (echo === 'page' ? 300 : 0) },
    });
    answers.push(await call().catch(String));
  }
  issuer.settings.faults.clear();
  const metrics = await (await fetch(new URL('/metrics', url), { headers })).text();
  await client.close();
  const commands = ['status', 'status db', 'explain db', 'logs db', 'accounts', 'plan', 'check'];
  const printed = await Promise.all(
    commands.flatMap((words) =>
      [[], ['--json']].map(async (json) => {
        const run = await place.run(...words.split(' '), ...config, ...json);
        return [`${words} ${json.join()}`, `${run.stdout}${run.stderr} `] as const;
      }),
    ),
  );
  const secrets = new Set([...loggedIn, ...secretsOf(issuer, stateDir)]);
  const logout = await place.run('logout', 'db', ...config, '--json');
  expect(logout.exitCode).toBe(0);
  events.child.kill('SIGTERM');
  serve.child.kill('SIGTERM');
  await Promise.all([events.ended, serve.ended]);
  expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1 });
  expect(secrets.size).toBeGreaterThan(7);
  const withoutAddress = (text: string): string => text.replaceAll(address.href, '');
  expect(login.stderr()).toContain(address.href);
  expect(events.stdout()).toContain('auth.started');
  const texts = {
    ...Object.fromEntries(printed),
    login: withoutAddress(login.stdout() + login.stderr()),
    events: withoutAddress(events.stdout() + events.stderr()),
    serve: serve.stdout() + serve.stderr(),
    gateway: JSON.stringify(answers),
    metrics,
    logout: logout.stdout + logout.stderr,
    'processes during the login': whileWaiting,
    'processes afterwards': processes(),
    files: textsBelow(stateDir, ['credentials']),
  };
  expect(leaksIn(texts, secrets)).toEqual([]);
  expect(texts.gateway).toContain('you sent [redacted]');
});
