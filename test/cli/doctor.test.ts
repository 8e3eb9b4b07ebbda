import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { limitFinding, nodeFinding } from '../../src/cli/doctor/machine-checks.ts';
import { freePort } from '../fixtures/remote/free-port.ts';
import { startHttpProxy } from '../fixtures/remote/http-proxy.ts';
import { createPlace } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';
import { runCliHere, temporaryFolder } from './run-cli.ts';
import { upHere } from './up-here.ts';

const cli = compiledCli();
const secret = 'hunter2-hunter2';

function folderWith(servers: object): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 't.json'), JSON.stringify({ mcpServers: servers }));
  return folder;
}

async function doctorOf(folder: string, env: Readonly<Record<string, string>> = {}) {
  const run = await runCliHere(['doctor', '--config', 't.json', '--json'], {
    folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  const { checks } = JSON.parse(run.stdout) as { checks: readonly Finding[] };
  const of = (check: string): readonly Finding[] => checks.filter((each) => each.check === check);
  return { ...run, of };
}

/** Listens on a free port until the test ends. */
async function listeningPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as { port: number }).port;
}

describe('troupe doctor', () => {
  it('checks what a healthy machine has, one line each', async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: { ...place.server(), command: 'node' } });
    const { exitCode, stdout } = await place.run('doctor', '--config', place.settings);
    expect(exitCode).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    const names = lines.map((line) => line.slice(6, 16).trim());
    // The environment may name files of certificates.
    expect(names.filter((name) => name !== 'tls')).toEqual([
      'node',
      'settings',
      'program',
      'state',
      'socket',
      'watch',
      'proxy',
    ]);
    expect(lines[1]).toBe(`ok    settings  ${place.settings}: 1 server`);
    expect(lines[4]).toMatch(/^ok {4}socket {4}no troupe is running; it would use /);
    expect(place.servers()).toEqual([]);
    expect(readdirSync(place.folder)).toEqual(['troupe.json']);
  });

  it('names what is missing, who needs it and what to do', async () => {
    const port = await listeningPort();
    const folder = folderWith({
      one: { command: 'no-such-program', args: [secret] },
      two: { command: 'no-such-program', env: { TOKEN: secret } },
      off: { command: 'no-other-program', enabled: false },
      bad: { comand: 'x' },
      there: { url: `http://localhost:${port}/mcp` },
      away: { url: 'https://example.com/mcp', headers: { Authorization: '${keychain:a/b}' } },
    });
    const closed = await freePort();
    const doctor = await doctorOf(folder, {
      HTTPS_PROXY: `http://me:${secret}@127.0.0.1:${closed}`,
    });
    expect(doctor.exitCode).toBe(2);
    expect(doctor.of('program')).toEqual([
      {
        check: 'program',
        verdict: 'fail',
        message: 'no-such-program is not on PATH; needed by one, two',
        next: 'install it, or write its path as "command"',
      },
    ]);
    expect(doctor.of('settings')).toMatchObject([
      { verdict: 'fail', message: `${folder}/t.json: 6 servers, 1 error`, next: 'troupe check' },
    ]);
    expect(doctor.of('port')).toMatchObject([
      { verdict: 'ok', message: `a program listens on port ${port}` },
    ]);
    expect(doctor.of('keychain')).toMatchObject([{ verdict: 'ok' }]);
    expect(doctor.of('proxy')).toMatchObject([
      {
        verdict: 'fail',
        message: `http://127.0.0.1:${closed} (HTTPS_PROXY) cannot be reached (ECONNREFUSED); used by away`,
        next: 'start it, or fix HTTPS_PROXY',
      },
    ]);
    expect(doctor.stdout + doctor.stderr).not.toContain(secret);
    expect(doctor.created).toEqual([]);
  });

  it('lists proxies and files of certificates, and whether they are there', async () => {
    const port = await listeningPort();
    const there = `http://127.0.0.1:${port}`;
    const url = 'https://example.com/mcp';
    const folder = folderWith({
      a: { url },
      b: { url: 'wss://example.com/mcp' },
      c: { url, proxy: there.replace('//', `//me:${secret}@`), tls: { ca: 'ca.pem' } },
      d: { url, proxy: '${MY_PROXY}' },
      e: { url, proxy: false },
      here: { url: `http://localhost:${port}` },
    });
    const doctor = await doctorOf(folder, {
      HTTPS_PROXY: there.replace('http://', ''),
      HTTP_PROXY: there,
      ALL_PROXY: 'socks5://h',
      SSL_CERT_FILE: '/none.pem',
    });
    expect(doctor.exitCode).toBe(2);
    expect(doctor.of('proxy').map(({ verdict, message }) => `${verdict}: ${message}`)).toEqual([
      `ok: ${there} (HTTPS_PROXY) can be reached; used by a, b`,
      `ok: ${there} (HTTP_PROXY) can be reached; no server uses it`,
      'warn: ALL_PROXY holds no http: or https: address; no server uses it',
      `ok: ${there} ("proxy") can be reached; used by c`,
      'ok: "proxy" is known when its server connects; used by d',
    ]);
    expect(doctor.of('tls')).toMatchObject([
      {
        verdict: 'warn',
        message: expect.stringContaining('SSL_CERT_FILE is /none.pem, which does'),
      },
      {
        verdict: 'fail',
        message: `"tls.ca" is ${folder}/ca.pem, which does not exist; needed by c`,
      },
    ]);
    expect(doctor.stdout + doctor.stderr).not.toContain(secret);
  });

  it('contacts no proxy that only a project names', async () => {
    const via = await startHttpProxy();
    onTestFinished(() => via.close());
    const folder = temporaryFolder();
    const api = { url: 'https://example.com/mcp', proxy: via.url, tls: { ca: 'ca.pem' } };
    writeFileSync(path.join(folder, 'troupe.json'), JSON.stringify({ mcpServers: { api } }));
    const { stdout } = await runCliHere(['doctor'], { folder });
    expect(stdout).toContain(`${via.url} ("proxy") was not contacted, because a project names it`);
    expect(stdout).not.toContain('ca.pem');
  });

  it('reports a port on which nothing listens', async () => {
    const port = await listeningPort();
    const folder = folderWith({ db: { url: `ws://127.0.0.1:${port}` } });
    expect((await doctorOf(folder)).of('port')).toMatchObject([{ verdict: 'ok' }]);
    const spare = createServer();
    await new Promise<void>((resolve) => spare.listen(0, '127.0.0.1', resolve));
    const { port: gone } = spare.address() as { port: number };
    await new Promise((resolve) => spare.close(resolve));
    const other = folderWith({ db: { url: `ws://127.0.0.1:${gone}` } });
    expect((await doctorOf(other)).of('port')).toMatchObject([
      { verdict: 'warn', message: `nothing listens on port ${gone}, which db needs` },
    ]);
  });

  it('reports a state folder that others may change, and a socket left behind', async () => {
    const folder = folderWith({});
    const first = await doctorOf(folder);
    const [, file = ''] = /it would use (\S+\.sock)/.exec(first.stdout) ?? [];
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, '');
    chmodSync(path.join(folder, 'state'), 0o777);
    const doctor = await doctorOf(folder);
    expect(doctor.exitCode).toBe(0);
    expect(doctor.of('state')).toMatchObject([
      { verdict: 'warn', next: `chmod go-w ${path.join(folder, 'state')}` },
    ]);
    expect(doctor.of('socket')).toMatchObject([
      { verdict: 'warn', next: 'troupe up, which replaces it' },
    ]);
  });

  it('reports a state folder that cannot be reached', async () => {
    const folder = folderWith({});
    // Even root cannot enter a link to itself.
    symlinkSync('loop', path.join(folder, 'loop'));
    const state = path.join(folder, 'loop', 'state');
    const doctor = await doctorOf(folder, { MCP_TROUPE_HOME: state });
    expect(doctor.exitCode).toBe(2);
    expect(doctor.of('state')).toEqual([
      {
        check: 'state',
        verdict: 'fail',
        message: `${state} cannot be reached (ELOOP)`,
        next: 'let this user write it, or choose another --state-dir',
      },
    ]);
    expect(doctor.of('socket')).toMatchObject([
      {
        verdict: 'fail',
        message: expect.stringMatching(/^cannot use the socket \S+ \(ELOOP\)$/u),
        next: 'choose another --state-dir',
      },
    ]);
  });

  it('finds the running troupe', async () => {
    const { folder } = await upHere();
    const { stdout } = await runCliHere(['doctor'], { folder });
    expect(stdout).toContain(`socket    a troupe is running (pid ${process.pid})`);
    expect(stdout).toMatch(
      /warn {2}settings {2}no settings file was found; next: run troupe init /,
    );
  });

  it('compares the version of Node and the limits of inotify', () => {
    expect(nodeFinding('20.19.0').verdict).toBe('ok');
    expect(nodeFinding('24.0.0').verdict).toBe('ok');
    expect(nodeFinding('20.18.9')).toMatchObject({
      verdict: 'fail',
      message: 'Node 20.18.9 is too old',
      next: 'install Node 20.19 or later',
    });
    expect(limitFinding(() => undefined)).toBeUndefined();
    expect(limitFinding(() => 8_192)).toBeUndefined();
    expect(limitFinding((name) => (name === 'max_user_instances' ? 16 : 9_000))).toMatchObject({
      message: 'fs.inotify.max_user_instances is only 16, so edits may be noticed late',
      next: 'sudo sysctl fs.inotify.max_user_instances=128',
    });
  });
});
