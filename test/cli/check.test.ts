import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPlace } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';
import { runCliHere, temporaryFolder } from './run-cli.ts';
import { upHere } from './up-here.ts';

const cli = compiledCli();

/** Writes files below a temporary folder, which is the project of the command line. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

const server = { command: process.execPath };
const settings = (servers: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ mcpServers: servers }, null, 1);

describe('troupe check', () => {
  it('prints every problem of every file with its line, and exits with 2', async () => {
    const folder = folderWith({
      'a.json': settings({ one: { comand: 'x' }, two: { command: 'npx -y server' }, ok: server }),
      'b.json': '{ "mcpServers": {\n  "x": {} "y": {} } }',
      'c.json': '',
      '.mcp.json': '["x"]',
      'state/troupe.json': settings({ ignored: { comand: 'x' } }),
    });
    const named = ['a.json', 'b.json', 'c.json', 'nope.json'];
    const run = await runCliHere(['check', ...named.flatMap((file) => ['--config', file])], {
      folder,
    });
    expect(run.exitCode).toBe(2);
    expect(run.created).toEqual([]);
    expect(run.stdout.replaceAll(`${folder}/`, '').split('\n')).toEqual([
      expect.stringMatching(/^\.mcp\.json:1: the settings must be an object; write/),
      'a.json:4: mcpServers.one.comand: unknown key; did you mean "command"?',
      expect.stringMatching(/^a\.json:7: mcpServers\.two\.command: /),
      expect.stringMatching(/^b\.json:2: /),
      expect.stringMatching(/^c\.json:1: /),
      'nope.json: the file does not exist; create it or leave it out',
      '5 files, 3 servers: 6 errors, 0 warnings',
      '',
    ]);
  });

  it('reads the files of the running troupe, unless it is given others', async () => {
    const { folder } = await upHere(undefined, '--config', 'troupe.json');
    const lazy = settings({ ok: { ...server, idleStopMs: 300_000 } });
    writeFileSync(path.join(folder, 'troupe.json'), lazy);
    const run = await runCliHere(['check', '--strict'], { folder });
    expect(run.stdout).toBe('1 file, 1 server: 0 errors, 0 warnings\n');
    expect((await runCliHere(['doctor'], { folder })).stdout).toMatch(
      /ok +settings +.*: 1 server\n/,
    );
    writeFileSync(path.join(folder, 'other.json'), settings({}));
    const other = await runCliHere(['check', '--config', 'other.json'], { folder });
    expect(other.stdout).toContain(
      'troupe.json:5: mcpServers.ok.idleStopMs: warning: "idleStopMs"',
    );
  });

  it('reports variables and commands that this machine lacks as warnings, which --strict fails', async () => {
    const secret = 'hunter2-hunter2';
    const folder = folderWith({
      'troupe.json': settings({
        db: { command: 'no-such-program', args: ['${DB}', '${SET}'], env: { A: '${B:-c}' } },
        api: {
          url: 'https://example.com/mcp',
          headers: { K: 'Bearer ${API_KEY}' },
          proxy: '${PROXY}',
        },
        off: { command: 'no-such-program', enabled: false },
        plain: { ...server, env: { TOKEN: secret } },
        typed: { ...server, args: ['${DB}'], values: 'literal' },
      }),
      '.mcp.json': settings({ gated: { command: './missing', trust: true } }),
    });
    const check = (...more: string[]) =>
      runCliHere(['check', '--config', 'troupe.json', ...more], {
        folder,
        env: { SET: secret, PATH: process.env['PATH'] ?? '' },
      });
    const run = await check();
    expect(run.exitCode).toBe(0);
    expect(run.stdout.replaceAll(`${folder}/`, '').split('\n')).toEqual([
      '.mcp.json:3: mcpServers.gated.command: warning: there is no program missing; fix the path, or build what it names',
      '.mcp.json:5: mcpServers.gated.trust: warning: "trust" is ignored in a project file; set it in settings of your own',
      'troupe.json:3: mcpServers.db.args.0: warning: the variable DB is not set; set it where the troupe starts, or write ${DB:-default}',
      'troupe.json:3: mcpServers.db.command: warning: the command "no-such-program" was not found on PATH; install it, or write its path',
      'troupe.json:13: mcpServers.api.headers.K: warning: the variable API_KEY is not set; set it where the troupe starts, or write ${API_KEY:-default}',
      'troupe.json:13: mcpServers.api.proxy: warning: the variable PROXY is not set; set it where the troupe starts, or write ${PROXY:-default}',
      '2 files, 6 servers: 0 errors, 6 warnings',
      '',
    ]);
    expect(run.stdout).not.toContain(secret);
    writeFileSync(path.join(folder, 'missing'), '#!/bin/sh\n', { mode: 0o644 });
    expect((await check()).stdout).toContain(
      `mcpServers.gated.command: warning: ${folder}/missing is not executable; run: chmod +x ${folder}/missing\n`,
    );
    expect((await check('--strict')).exitCode).toBe(2);
    const json = await check('--json', '--strict');
    expect(json.exitCode).toBe(2);
    expect(JSON.parse(json.stdout)).toMatchObject({
      files: [
        { file: path.join(folder, '.mcp.json'), scope: 'project', servers: 1 },
        { file: path.join(folder, 'troupe.json'), scope: 'config', servers: 5 },
      ],
      problems: [
        { line: 3, key: 'mcpServers.gated.command', severity: 'warning' },
        { severity: 'warning' },
        { file: path.join(folder, 'troupe.json'), key: 'mcpServers.db.args.0' },
        {},
        {},
        {},
      ],
    });
  });

  it('warns of arguments and variables that only a shell would expand', async () => {
    const args = ['~/x', '--root=~/y', '~', '$HOME/x', '~x', '*.json', 'a~/b', '$1', '-c', '~/z'];
    const env = { A: '~/x', B: '$NO/x', C: 'x/$HOME' };
    const folder = folderWith({ 'troupe.json': settings({ a: { ...server, args, env } }) });
    const run = await runCliHere(['check', '--json'], { folder });
    const { problems } = JSON.parse(run.stdout) as { problems: { key: string; message: string }[] };
    expect(problems.map(({ key }) => key.replace('mcpServers.a.', ''))).toEqual([
      'args.0',
      'args.1',
      'args.2',
      'args.3',
      'env.A',
      'env.B',
    ]);
    expect(problems[0]?.message).toBe(
      'no shell runs, so "~" stays as it is; write ${HOME} in its place',
    );
    expect(run.exitCode).toBe(0);
  });

  it('reports files of variables that cannot be read, and reads none outside the project folder', async () => {
    const outside = path.join(folderWith({ '.env': 'A=1' }), '.env');
    const folder = folderWith({
      '.env': 'A=1',
      'troupe.json': settings({
        found: { ...server, envFile: '.env' },
        lost: { ...server, envFile: '${HERE:-lost}.env' },
        unset: { ...server, envFile: '${NOWHERE}' },
        own: { ...server, envFile: outside },
      }),
      '.mcp.json': settings({ theirs: { ...server, envFile: outside } }),
    });
    const { stdout } = await runCliHere(['check', '--config', 'troupe.json'], { folder, env: {} });
    expect(stdout.replaceAll(`${folder}/`, '').split('\n').slice(0, -2)).toEqual([
      `.mcp.json:3: mcpServers.theirs.envFile: warning: the file ${outside} leads out of the project folder; put it into the folder`,
      'troupe.json:7: mcpServers.lost.envFile: warning: the file ${HERE:-lost}.env does not exist; create it, or fix "envFile"',
      expect.stringContaining('warning: the variable NOWHERE is not set') as string,
    ]);
  });

  it('warns of an unknown key in "mcp" unless a limit may be meant, which costs the file', async () => {
    const folder = folderWith({
      'a.json': `{ "mcp": {\n"colour": 1,\n"slot": {} },\n${settings({ a: server }).slice(1)}`,
      'b.json': `{ "mcp": {\n"alowed": [] },\n${settings({ b: server }).slice(1)}`,
    });
    const run = await runCliHere(['check', '--config', 'a.json', '--config', 'b.json', '--json'], {
      folder,
    });
    expect(JSON.parse(run.stdout)).toMatchObject({
      files: [{ servers: 1 }, { servers: 0 }],
      problems: [
        { line: 2, key: 'mcp.colour', severity: 'warning' },
        { line: 3, key: 'mcp.slot', severity: 'warning' },
        { line: 2, key: 'mcp.alowed', severity: 'error' },
      ],
    });
  });

  it('finds the mistake of an entry that another layer replaces', async () => {
    const folder = folderWith({
      'own.json': settings({ db: server }),
      '.mcp.json': settings({ db: { comand: 'x' } }),
    });
    const run = await runCliHere(['check', '--config', 'own.json', '--json'], { folder });
    expect(run.exitCode).toBe(2);
    expect(JSON.parse(run.stdout)).toMatchObject({
      problems: [
        { message: expect.stringContaining('is ignored because') as string, severity: 'warning' },
        { key: 'mcpServers.db.comand', severity: 'error' },
      ],
    });
  });

  it('starts nothing and leaves no trace', async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    const { exitCode, stdout, stderr } = await place.run('check', '--config', place.settings);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: '1 file, 1 server: 0 errors, 0 warnings\n',
      stderr: '',
    });
    expect(place.servers()).toEqual([]);
  });
});

describe('troupe plan', () => {
  it.each([
    ['an array', '["x"]', 'the settings must be an object'],
    ['an empty file', '', 'write at least {}'],
    ['broken JSON', '{ "mcpServers": ', 'troupe.json:1'],
  ])('shows what is wrong with %s', async (_title, text, message) => {
    const folder = folderWith({ 'troupe.json': text });
    const run = await runCliHere(['plan', '--config', 'troupe.json'], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stdout).toContain(message);
    expect(run.stdout).not.toContain('nothing to do');
    const json = await runCliHere(['plan', '--config', 'troupe.json', '--json'], { folder });
    expect(JSON.parse(json.stdout)).toMatchObject({
      steps: [],
      problems: [{ file: path.join(folder, 'troupe.json'), severity: 'error' }],
    });
  });

  it('shows why a server may not connect, and what to do', async () => {
    const folder = folderWith({
      'troupe.json': settings({ bad: { comand: 'x' }, off: { ...server, enabled: false } }),
      '.mcp.json': settings({ gated: server }),
    });
    const run = await runCliHere(['plan', '--config', 'troupe.json'], { folder });
    expect(run.exitCode).toBe(2);
    const file = path.join(folder, 'troupe.json');
    const flags = `--project ${folder} --config ${file}`;
    const bad = `${folder}/troupe.json:4 mcpServers.bad.comand: unknown key; did you mean "command"?`;
    expect(run.stdout.split('\n')).toEqual([
      'STEP   SERVER  WHY',
      'spawn  gated   in the settings, not running yet, but pendingApproval',
      `  it waits for your approval; next: troupe up ${flags}, then troupe approve gated`,
      'spawn  bad     in the settings, not running yet, but invalidConfig',
      `  ${bad}`,
      'spawn  off     in the settings, not running yet, but disabled',
      `  it is switched off; next: troupe enable ${flags} off`,
      '',
    ]);
    const json = await runCliHere(['plan', '--config', 'troupe.json', '--json'], { folder });
    expect(JSON.parse(json.stdout)).toMatchObject({ problems: [{ key: 'mcpServers.bad.comand' }] });
  });

  it("shows a running troupe's problems", async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/db ready/);
    writeFileSync(place.settings, '["x"]');
    const { exitCode, stdout } = await place.run('plan');
    expect(exitCode).toBe(2);
    expect(stdout).toContain(
      `settings: ${place.settings}:1: the settings must be an object; write { "mcpServers": {} } (the last good content of this file stays in force until it is fixed)`,
    );
    expect(stdout).not.toContain('nothing to do');
    expect(place.servers()).toHaveLength(1);
  });
});
