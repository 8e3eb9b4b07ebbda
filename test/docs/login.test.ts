/** Follows docs/login.md to the end, with its own entries and commands, at issuers on this machine. */

import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';

import { compiledCli } from '../cli/compiled-cli.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { freePort } from '../fixtures/remote/free-port.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import type { IssuerSettings } from '../support/issuer/settings.ts';
import { fencesOf, root } from './documents.ts';

const page = readFileSync(path.join(root, 'docs/login.md'), 'utf8');
const cli = compiledCli();
// Up to six processes, one after another, a second each on a busy machine.

/** The text below a heading. */
function sectionOf(heading: string): string {
  const [, section] =
    new RegExp(`^## ${heading}\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'mu').exec(page) ?? [];
  if (section === undefined) throw new Error(`docs/login.md has no section "${heading}"`);
  return section;
}

/** Commands of a section's blocks, without what is said about them. */
function commandsIn(section: string): readonly string[] {
  return fencesOf(section, 'sh').flatMap((block) =>
    block.split('\n').flatMap((line) => line.replace(/\s+#.*$/u, '').trim() || []),
  );
}

/** The entries of a section's only block of settings, which may be indented below a list. */
function settingsIn(section: string): string {
  const [block = '', ...others] = fencesOf(section.replaceAll(/^ {3}/gmu, ''), 'jsonc');
  expect(others).toEqual([]);
  return block;
}

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

/** A user with an empty folder, a troupe in the PATH, and a browser in which the user agrees. */
function reader(more: Record<string, string> = {}) {
  const home = temporaryFolder();
  const [bin, state, folder] = ['bin', 'state', 'empty'].map((name) => {
    mkdirSync(path.join(home, name));
    return path.join(home, name);
  }) as [string, string, string];
  const program = (name: string, script: string): void => {
    writeFileSync(path.join(bin, name), `#!${process.execPath}\n${script}`);
    chmodSync(path.join(bin, name), 0o755);
  };
  const words = JSON.stringify(cli.words);
  program(
    'troupe',
    `const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, [...${words}, ...process.argv.slice(2)], { stdio: 'inherit' });
    child.on('exit', (code) => process.exit(code));`,
  );
  program(
    'xdg-open',
    `const page = require('node:fs').readFileSync(process.argv[2], 'utf8');
    fetch(/url=([^"]+)"/.exec(page)[1].replaceAll('&amp;', '&'));`,
  );
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    NO_COLOR: '1',
    HOME: home,
    MCP_TROUPE_HOME: state,
    PATH: `${bin}${path.delimiter}${process.env['PATH']}`,
    ...more,
  };
  const start = (command: string, args: readonly string[] = ['-c', command], file = 'sh') => {
    const child = spawn(file, args, { cwd: folder, env });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  return {
    home,
    program,
    start,
    writeSettings: (content: string) => writeFileSync(path.join(state, 'troupe.json'), content),
    async run(command: string) {
      const child = start(command);
      child.stdin.end();
      const [stdout, stderr, [exitCode]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      return { exitCode: exitCode as number, stdout, stderr };
    },
  };
}

describe('docs/login.md', () => {
  it('leads to a server that registers clients itself', async () => {
    const issuer = await issuerWith();
    const user = reader();
    const section = sectionOf('A server that registers clients itself');
    const address = 'https://db.example.com/mcp';
    const commands = commandsIn(section);
    expect(commands).toContain('troupe login db');
    let printed = '';
    for (const command of commands) {
      const { exitCode, stdout, stderr } = await user.run(command.replace(address, issuer.server));
      expect([command, exitCode, stderr]).toEqual([command, 0, expect.any(String)]);
      printed += stdout;
    }
    expect(printed).toMatch(/^logged in to db\ndb ready/mu);
    expect(issuer.counts).toMatchObject({ registrations: 1, codes: 1 });
    const written = JSON.parse(readFileSync(path.join(user.home, 'state/troupe.json'), 'utf8'));
    const shown: unknown = JSON.parse(settingsIn(section).replace(address, issuer.server));
    expect(written).toMatchObject(shown as object);
  });

  it('leads to a server that knows only registered clients', async () => {
    const section = sectionOf('A server for which you register a client');
    const entry = settingsIn(section);
    const port = String(await freePort());
    // The address that the page tells the user to register.
    const [callback = ''] = /http:\/\/[\w.]+:PORT\/callback/u.exec(section) ?? [];
    const issuer = await issuerWith({
      registersClients: false,
      clients: [
        {
          id: 'Iv1.0123456789abcdef',
          method: 'client_secret_basic',
          secret: 'of-github',
          redirectUris: [callback.replace('PORT', port)],
        },
      ],
    });
    const user = reader({ GITHUB_CLIENT_SECRET: 'of-github' });
    const url = /"url": "([^"]+)"/u.exec(entry)?.[1] ?? '';
    user.writeSettings(`{ "mcpServers": { "github": { "url": "${issuer.server}" } } }`);
    const [message = ''] = fencesOf(section, 'text');
    const refused = await user.run('troupe login github');
    expect(refused.exitCode).toBe(11);
    const place = /\([^()]+\)$/u;
    expect(refused.stderr.trimEnd().split('\n').at(-1)?.replace(place, '')).toBe(
      message
        .trimEnd()
        .replace('https://github.com/login/oauth', issuer.issuer())
        .replace(place, ''),
    );
    user.writeSettings(entry.replace(url, issuer.server).replace('8080', port));
    const login = await user.run('troupe login github');
    expect([login.exitCode, login.stdout]).toEqual([0, expect.stringMatching(/^logged in/u)]);
    expect(issuer.counts).toMatchObject({ registrations: 0, codes: 1 });
  });

  it('leads to a machine without a browser', async () => {
    const issuer = await issuerWith();
    const user = reader();
    user.writeSettings(`{ "mcpServers": { "db": { "url": "${issuer.server}" } } }`);
    const commands = commandsIn(sectionOf('A machine without a browser'));
    const command = commands.find((line) => line.includes('--no-browser')) ?? '';
    // A terminal.
    const terminal = user.start('', ['-qefc', command, '/dev/null'], 'script');
    let printed = '';
    for await (const chunk of terminal.stdout.setEncoding('utf8')) {
      printed += chunk;
      if (!/address here: /u.test(printed)) continue;
      const [address = ''] = /http:\S+\/authorize\S+/u.exec(printed) ?? [];
      printed = '';
      const redirected = await issuer.consent(new URL(address));
      terminal.stdin.write(`${redirected.href}\r`);
    }
    expect(printed).toContain('logged in to db');
    expect(issuer.counts.codes).toBe(1);
  });

  it('leads to two accounts of one server', async () => {
    const issuer = await issuerWith();
    const user = reader();
    const section = sectionOf('Several accounts');
    user.writeSettings(
      settingsIn(section).replaceAll('https://mail.example.com/mcp', issuer.server),
    );
    const logins = [...section.matchAll(/`(troupe login [\w-]+)`/gu)].map(
      ([, words = '']) => words,
    );
    expect(logins).toHaveLength(2);
    const runs = await Promise.all(logins.map((login) => user.run(login)));
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const { stdout } = await user.run('troupe accounts --json');
    expect(JSON.parse(stdout)).toMatchObject({
      accounts: expect.arrayContaining([
        expect.objectContaining({ account: 'work' }),
        expect.not.objectContaining({ account: 'work' }),
      ]) as unknown,
    });
    expect(issuer.counts.codes).toBe(2);
  });

  it('leads to servers for machines, each with its entry', async () => {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicJwk = keys.publicKey.export({ format: 'jwk' });
    const user = reader({ CI_SECRET: 'of-ci' });
    mkdirSync(path.join(user.home, '.keys'));
    const pem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(path.join(user.home, '.keys/ci.pem'), pem, { mode: 0o600 });
    const assertion = path.join(user.home, 'assertion');
    writeFileSync(assertion, 'token-of-this-machine\n');
    user.program('print-id-token', "console.log('id-token-of-me')");
    const issuers = {
      jobs: await issuerWith({
        clients: [{ id: 'ci', method: 'client_secret_basic', secret: 'of-ci' }],
      }),
      builds: await issuerWith({ clients: [{ id: 'ci', method: 'private_key_jwt', publicJwk }] }),
      crm: await issuerWith({
        clients: [{ id: 'agent', method: 'none' }],
        idTokens: ['id-token-of-me'],
      }),
      data: await issuerWith({ workloads: ['token-of-this-machine'] }),
    };
    let entries = settingsIn(sectionOf('Machines'))
      .replace('https://id.example.com', `${issuers.crm.origin}/idp`)
      .replace('/var/run/secrets/tokens/mcp', assertion);
    for (const [name, { server }] of Object.entries(issuers))
      entries = entries.replace(`https://${name}.example.com/mcp`, server);
    expect(entries).not.toContain('example.com');
    user.writeSettings(entries);
    const names = Object.keys(issuers);
    const calls = names.map((name) => user.run(`troupe call ${name} echo`));
    expect((await Promise.all(calls)).map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(
      names.map(() => [0, expect.any(String)]),
    );
    for (const { counts } of Object.values(issuers))
      expect(counts).toMatchObject({ authorizations: 0, otherGrants: 1, calls: 1 });
  });

  it('names only failures that there are', () => {
    const messages = [...sectionOf('If it fails').matchAll(/^\| `([^`]+)` \|/gmu)];
    const sources = ['actors/authorization', 'src/runtime', 'src/cli'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(path.join(root, folder, name), 'utf8')),
    );
    const said = sources
      .join('\n')
      .replaceAll(/\$\{\w+ \? '([^']*)'[^}]*\}/gu, '$1')
      .replaceAll(/\$\{\w+\}/gu, 'Authorization');
    expect(messages.length).toBeGreaterThan(3);
    expect(messages.filter(([, message = '']) => !said.includes(message))).toEqual([]);
  });
});
