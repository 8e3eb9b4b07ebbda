/** The inspector as used from the command line. */

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBrowser, openerOf } from '../../../src/cli/run/address-file.ts';
import { createScriptedTroupe, type ScriptedTroupe } from '../../../src/testing/scripted-troupe.ts';
import { servers, setUp } from '../../runtime/stage.ts';
import { Browser, type Said } from '../../visualizations/server/browser.ts';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';

const address = /http:\/\/127\.0\.0\.1:(\d+)\/#token=[\w-]+/u;

/** Runs `up` with scripted servers until the test ends. */
async function upWith(folder: string, ...more: readonly string[]) {
  const scripted = setUp({ settings: servers({ db: 'srv' }) });
  const run = startCliHere(['up', ...more], { folder, troupe: scripted.troupe });
  onTestFinished(async () => {
    run.signal('SIGTERM');
    await scripted.advance(10_000);
    await run.finished;
  });
  await advanceUntil(scripted, run.printed('servers: '));
  return { scripted, run };
}

async function advanceUntil(scripted: ScriptedTroupe, done: Promise<void>): Promise<void> {
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  while (!isDone) {
    await scripted.advance(10);
    await new Promise(setImmediate);
  }
}

/** Opens a link as a browser does, and sends a request. */
async function visit(url: string, target: string, body?: string): Promise<Said> {
  const browser = await Browser.at(url);
  return body === undefined ? browser.get(target) : browser.post(target, body);
}

const addressIn = (text: string): string => address.exec(text)?.[0] ?? '';

describe('troupe inspect', () => {
  it('prints a link to the running troupe, which records from then on', async () => {
    const folder = temporaryFolder();
    const { scripted } = await upWith(folder);
    expect(scripted.troupe.inspection.isRecording).toBe(false);
    const asked = await runCliHere(['inspect'], { folder });
    expect(asked).toMatchObject({ exitCode: 0, stderr: '' });
    expect(scripted.troupe.inspection.isRecording).toBe(true);
    const url = addressIn(asked.stdout);
    expect(asked.stdout).toBe(`${url}\n`);
    const picture = await visit(url, '/api/picture');
    expect(JSON.parse(picture.body)).toMatchObject({ servers: [{ name: 'db', state: 'ready' }] });
    expect(await visit(url, '/api/picture')).toMatchObject({ status: 401 });
    const again = await runCliHere(['inspect', '--json'], { folder });
    const { url: second } = JSON.parse(again.stdout) as { readonly url: string };
    expect(new URL(second).port).toBe(new URL(url).port);
    expect(await visit(second, '/api/session')).toMatchObject({ status: 200 });
  });

  it('lets the page run only the allowed commands', async () => {
    const folder = temporaryFolder();
    const { scripted } = await upWith(folder);
    const ask = async (body: unknown) => {
      const { stdout } = await runCliHere(['inspect'], { folder });
      const said = await visit(addressIn(stdout), '/api/command', JSON.stringify(body));
      return JSON.parse(said.body) as unknown;
    };
    expect(await ask({ command: 'status', args: { server: 'db' } })).toMatchObject({
      result: { servers: [{ name: 'db' }] },
    });
    const event = { type: 'server.reconnect', server: 'db' };
    expect(await ask({ command: 'send', args: { event } })).toEqual({
      result: { sent: 'server.reconnect' },
    });
    await scripted.settle();
    expect(scripted.troupe.status('db')).toMatchObject({ state: 'ready', restarts: 1 });
    const refused = { error: { code: 'INVALID_ARGUMENTS', outcome: 'not_executed' } };
    // A page that could edit settings could run programs.
    const settings = { mcpServers: { evil: { command: 'sh' } } };
    for (const body of [
      { command: 'send', args: { event: { type: 'settings.changed', settings } } },
      { command: 'send', args: { event: { type: 'troupe.stop' } } },
      { command: 'send', args: { event: { type: 'trust.changed', trusted: 'yes' } } },
      { command: 'send', args: {} },
      { command: 'events' },
      { command: 'inspect' },
      { command: '__proto__' },
      { command: 'stop', args: {} },
    ]) {
      expect(await ask(body)).toMatchObject(refused);
    }
  });

  it('reports how to start a troupe when none is running', async () => {
    const run = await runCliHere(['inspect'], { folder: temporaryFolder() });
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
    expect(run.stderr).toContain('start one with: troupe up');
  });
});

describe('troupe up --inspect', () => {
  it('prints a link to stderr and records from the start', async () => {
    const { run } = await upWith(temporaryFolder(), '--inspect');
    await run.noted('this link works once; troupe inspect prints another');
    run.signal('SIGTERM');
    const { stderr, created } = await run.finished;
    expect(stderr).toMatch(address);
    expect(created).toMatchObject([{ inspect: true }]);
  });

  it('exits with an error when the port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const scripted = createScriptedTroupe();
    const run = startCliHere(['up', `--inspect=${port}`], {
      folder: temporaryFolder(),
      troupe: scripted.troupe,
    });
    await advanceUntil(
      scripted,
      run.finished.then(() => undefined),
    );
    const { exitCode, stderr } = await run.finished;
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`port ${port} is in use`);
    expect(scripted.troupe.snapshot().troupe.state).toBe('stopped');
  });

  it('rejects an invalid port', async () => {
    const run = await runCliHere(['up', '--inspect=99999'], { folder: temporaryFolder() });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('Write a whole number from 0 to 65535; see troupe help up');
  });

  it('writes a journal in the state folder, or to the named file', async () => {
    const folder = temporaryFolder();
    const { run } = await upWith(folder, '--journal');
    run.signal('SIGTERM');
    const own = path.join(folder, 'state', 'journal');
    expect((await run.finished).created).toMatchObject([
      { inspect: { journal: expect.stringMatching(new RegExp(`^${own}/[0-9a-f]{8}\\.ndjson$`)) } },
    ]);
    const other = temporaryFolder();
    const named = await upWith(other, '--journal=a.ndjson');
    named.run.signal('SIGTERM');
    expect((await named.run.finished).created).toMatchObject([
      { inspect: { journal: path.join(other, 'a.ndjson') } },
    ]);
  });

  it('refuses to write the journal in place of settings, before anything starts', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    writeFileSync(file, '{"mcpServers":{}}');
    const run = await runCliHere(['up', '--journal', 'troupe.json'], { folder });
    expect(run).toMatchObject({
      exitCode: 2,
      stderr: `troupe: ${file} is not a journal and would be replaced; choose another file for the journal\n`,
      created: [],
    });
    expect(readdirSync(folder)).toEqual(['troupe.json']);
  });
});

describe('troupe replay', () => {
  it('shows a journal saved by the page, without a running troupe', async () => {
    const folder = temporaryFolder();
    await upWith(folder);
    const { stdout } = await runCliHere(['inspect'], { folder });
    const saved = await visit(addressIn(stdout), '/api/journal');
    writeFileSync(path.join(folder, 'saved.ndjson'), saved.body);
    const elsewhere = temporaryFolder();
    writeFileSync(
      path.join(elsewhere, 'a.ndjson'),
      readFileSync(path.join(folder, 'saved.ndjson')),
    );
    const replay = startCliHere(['replay', 'a.ndjson'], { folder: elsewhere });
    await replay.printed('\n');
    const session = await visit(addressIn(replay.printedSoFar()), '/api/session');
    expect(JSON.parse(session.body)).toMatchObject({
      mode: 'replay',
      title: 'a.ndjson',
      sameCharts: true,
    });
    replay.signal('SIGINT');
    const run = await replay.finished;
    expect(run).toMatchObject({ exitCode: 130, stderr: '', created: [] });
    expect(run.stdout).toBe(`${addressIn(run.stdout)}\n`);
  });

  it('reports the file, the line and the next step for an invalid journal', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'troupe.json'), '{}\n');
    const run = await runCliHere(['replay', 'troupe.json'], { folder });
    expect(run).toMatchObject({ exitCode: 2, stdout: '' });
    const file = path.join(folder, 'troupe.json');
    expect(run.stderr).toBe(
      `troupe: ${file}:1 is not the start of a journal; use a journal from troupe up --journal\n`,
    );
    const missing = await runCliHere(['replay', 'none', '--json'], { folder });
    expect(JSON.parse(missing.stdout)).toMatchObject({ error: { code: 'USAGE' } });
  });
});

describe('--open', () => {
  it('passes the browser a private file and never passes the link to a program', async () => {
    const folder = temporaryFolder();
    await upWith(folder);
    const opened: string[] = [];
    const openFile = (file: string): Promise<boolean> => {
      opened.push(file);
      return Promise.resolve(true);
    };
    const { stdout } = await runCliHere(['inspect', '--open'], { folder, openFile });
    const url = addressIn(stdout);
    const [file = ''] = opened;
    expect(path.dirname(file)).toBe(path.join(folder, 'state', 'inspector'));
    expect(opened.join()).not.toContain('token');
    expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    expect(readFileSync(file, 'utf8')).toContain(`content="0; url=${url}"`);
    expect(await visit(url, '/api/session')).toMatchObject({ status: 200 });
    expect(existsSync(file)).toBe(false);
  });

  it("removes an unused link's file", async () => {
    const folder = temporaryFolder();
    const journal = temporaryFolder();
    await upWith(folder);
    const { stdout } = await runCliHere(['inspect'], { folder });
    const saved = await visit(addressIn(stdout), '/api/journal');
    writeFileSync(path.join(journal, 'a.ndjson'), saved.body);
    const opened: string[] = [];
    const openFile = (file: string): Promise<boolean> => {
      opened.push(file);
      return Promise.resolve(true);
    };
    const replay = startCliHere(['replay', 'a.ndjson', '--open'], { folder: journal, openFile });
    await replay.printed('\n');
    while (opened.length === 0) await new Promise(setImmediate);
    expect(opened.map((file) => existsSync(file))).toEqual([true]);
    replay.signal('SIGINT');
    await replay.finished;
    expect(opened.map((file) => existsSync(file))).toEqual([false]);
  });

  it('suggests opening the link when no browser starts', async () => {
    const folder = temporaryFolder();
    await upWith(folder);
    const openFile = (): Promise<boolean> => Promise.resolve(false);
    const { stderr } = await runCliHere(['inspect', '--open'], { folder, openFile });
    expect(stderr).toBe('troupe: cannot start a browser; open the address yourself\n');
  });
});

describe('a browser', () => {
  it("is started by the system's opener or not at all", async () => {
    expect(openerOf('darwin')).toEqual(['open']);
    expect(openerOf('linux')).toEqual(['xdg-open']);
    expect(openerOf('win32')).toEqual(['rundll32', 'url.dll,FileProtocolHandler']);
    const file = '/state/inspector/a.html';
    expect(await openBrowser(file, [process.execPath, '-e', '0'])).toBe(true);
    expect(await openBrowser(file, [path.join(temporaryFolder(), 'nothing')])).toBe(false);
  });
});
