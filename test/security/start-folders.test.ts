/** N1 and N2: what the user's own entries leave open is never decided by the folder that was just cloned. */

import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { checkSettings } from '../../src/runtime/previews/check-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { entries, layer, merged, verdicts } from '../settings/layer.ts';

interface Started {
  readonly cwd: string;
  readonly args: readonly string[];
  readonly project: string;
  readonly from: string;
}

/** A home with settings, and a clone with files of the names that these settings use. */
function places() {
  const folder = realpathSync(temporaryFolder());
  const [home, settings, clone] = ['home', 'settings', 'clone'].map((name) => {
    const place = path.join(folder, name);
    mkdirSync(place);
    return place;
  }) as [string, string, string];
  for (const place of [settings, clone]) {
    const name = path.basename(place);
    writeFileSync(path.join(place, '.env'), `FROM=${name}\n`);
    writeFileSync(path.join(place, 'tell.sh'), `#!/bin/sh\necho "${name} $PWD"\n`);
    chmodSync(path.join(place, 'tell.sh'), 0o700);
  }
  return { folder, home, settings, clone };
}

// Tells where and how it was started, and is no server.
const confession =
  'const { FROM, MCP_TROUPE_PROJECT } = process.env; require("fs").writeFileSync(process.argv[1], JSON.stringify({ cwd: process.cwd(), args: process.argv.slice(2), project: MCP_TROUPE_PROJECT, from: FROM }));';

/** Starts the entry, whose scope decides the file that it stands in, and returns how its process was started. */
async function started(
  { folder, home, settings, clone }: ReturnType<typeof places>,
  { args = [], ...entry }: { readonly args?: readonly string[]; readonly [key: string]: unknown },
  { scope = 'user', file = path.join(settings, 'troupe.json') } = {},
): Promise<Started> {
  const out = path.join(folder, 'confession');
  const server = { command: process.execPath, ...entry, args: ['-e', confession, out, ...args] };
  const mcp = scope === 'user' || scope === 'managed' ? { mcp: { commandValues: true } } : {};
  writeFileSync(file, JSON.stringify({ mcpServers: { own: server }, ...mcp }), { mode: 0o600 });
  const troupe = createTroupe({
    sources: [{ file, scope: scope as 'user' }],
    projectRoot: clone,
    env: { ...process.env, HOME: home },
  });
  onTestFinished(() => troupe.stop().then(() => {}));
  if (scope === 'project') {
    await troupe.waitFor('own', 'blocked');
    troupe.send({ type: 'approval.grant', server: 'own' });
  }
  // It ends once it has told.
  await troupe.waitFor('own', 'backingOff');
  return JSON.parse(readFileSync(out, 'utf8')) as Started;
}

describe('a local server', () => {
  it.each(['user', 'managed'])(
    'of %s settings starts in the home, and gets the path of the project',
    async (scope) => {
      const here = places();
      const { cwd, project } = await started(here, {}, { scope });
      expect(cwd).toBe(here.home);
      expect(project).toBe(here.clone);
    },
  );

  it('of a named file starts in the folder of that file, or in the project if it is there', async () => {
    const here = places();
    expect((await started(here, {}, { scope: 'config' })).cwd).toBe(here.settings);
    const [again, place] = [places(), '.vscode'];
    mkdirSync(path.join(again.clone, place));
    const file = path.join(again.clone, place, 'mcp.json');
    expect((await started(again, {}, { scope: 'config', file })).cwd).toBe(again.clone);
  });

  it('of the project starts in the project', async () => {
    const here = places();
    const file = path.join(here.clone, '.mcp.json');
    const { cwd, project } = await started(here, {}, { scope: 'project', file });
    expect([cwd, project]).toEqual([here.clone, here.clone]);
  });

  it('of user settings starts in the project if it asks for it', async () => {
    const here = places();
    const { cwd, args } = await started(here, {
      cwd: '${workspaceFolder}',
      args: ['--root=${workspaceFolder}/src', '${workspaceFolder}'],
    });
    expect(cwd).toBe(here.clone);
    expect(args).toEqual([`--root=${here.clone}/src`, here.clone]);
  });
});

describe('a relative path of a plugin', () => {
  it('starts at the file of the plugin, and its server in the project', async () => {
    const { settings, clone } = places();
    const file = path.join(settings, 'plugin.json');
    const own = { command: './tell.sh', envFile: '.env' };
    writeFileSync(file, JSON.stringify({ mcpServers: { own } }), { mode: 0o600 });
    const origin = { file, scope: 'plugin', projectRoot: clone } as const;
    const { document } = parseSettings(readFileSync(file, 'utf8'), origin);
    expect(document?.servers[0]?.spec).toMatchObject({
      command: path.join(settings, 'tell.sh'),
      cwd: clone,
      values: { envFile: { path: path.join(settings, '.env'), within: settings } },
    });
    const shown = { file: 'plugin own', scope: 'plugin', projectRoot: clone } as const;
    const brought = parseSettings(readFileSync(file, 'utf8'), shown);
    expect(brought.document?.servers[0]?.spec).toMatchObject({
      command: path.join(clone, 'tell.sh'),
      values: { envFile: { within: clone } },
    });
  });
});

describe('a relative path of user settings', () => {
  it('starts at the folder of the file: variables, commands and folders', async () => {
    const here = places();
    const { from } = await started(here, { envFile: '.env' });
    expect(from).toBe('settings');
    const other = places();
    const told = await started(other, { env: { FROM: '!./tell.sh' }, cwd: '.' });
    expect(told).toMatchObject({ from: `settings ${other.settings}`, cwd: other.settings });
  });

  it('takes no variable that decides what runs from a file of the project', async () => {
    const here = places();
    writeFileSync(path.join(here.clone, '.env'), 'NODE_OPTIONS=--require ./evil.cjs\n');
    const file = path.join(here.settings, 'troupe.json');
    const server = { command: 'node', envFile: '${workspaceFolder}/.env' };
    writeFileSync(file, JSON.stringify({ mcpServers: { own: server } }), { mode: 0o600 });
    const { problems } = await checkSettings({
      sources: [{ file, scope: 'user' }],
      projectRoot: here.clone,
    });
    expect(problems).toMatchObject([
      { key: 'mcpServers.own.envFile', message: expect.stringContaining('sets NODE_OPTIONS') },
    ]);
  });

  it('takes such a variable from a file of the home folder, even if that is the project', async () => {
    const { folder, ...here } = places();
    const home = here.clone;
    writeFileSync(path.join(home, '.env'), 'FROM=home\nNODE_OPTIONS=--no-warnings\n');
    const file = path.join(home, 'troupe.json');
    const own = { envFile: '.env' };
    expect(await started({ folder, ...here, home }, own, { file })).toMatchObject({ from: 'home' });
  });

  it('is reported by a check where the project may be meant', async () => {
    const here = places();
    const args = ['.', '../x', '--root=./src', './a b', 'x/y', '-', '..'];
    const server = { command: process.execPath, args };
    expect(
      await strays(here, {
        own: server,
        placed: { ...server, cwd: '${workspaceFolder}', env: { A: 'b' } },
      }),
    ).toEqual([
      ['own.args.0', '${workspaceFolder}'],
      ['own.args.1', '${workspaceFolder}/../x'],
      ['own.args.2', '${workspaceFolder}/src'],
      ['own.args.3', '${workspaceFolder}/a b'],
      ['own.args.6', '${workspaceFolder}/..'],
    ]);
  });

  it('is reported as a folder, a script or a variable, too', async () => {
    const here = places();
    mkdirSync(path.join(here.clone, 'data'));
    const node = (...args: readonly string[]) => ({ command: process.execPath, args });
    const env = { A: './x', DATA_DIR: 'data', PLAIN: 'data', DOT: '.', ROOT: '.', FILE: 'tell.sh' };
    expect(
      await strays(here, {
        here: { ...node('x'), cwd: '.' },
        below: { ...node('x'), cwd: 'src' },
        script: node('--require', 'dotenv/config', 'dist/index.js'),
        beside: node('server.js'),
        found: { command: 'npx', args: ['-y', 'server', 'tell.sh', '--in=data/'] },
        literal: { ...node('./x'), values: 'literal' },
        variables: { ...node('-e', ''), env },
      }),
    ).toEqual([
      ['below.cwd', '${workspaceFolder}/src'],
      ['here.cwd', '${workspaceFolder}'],
      ['script.args.2', '${workspaceFolder}/dist/index.js'],
      ['beside.args.0', '${workspaceFolder}/server.js'],
      ['found.args.2', '${workspaceFolder}/tell.sh'],
      ['found.args.3', '${workspaceFolder}/data'],
      ['literal.args.0', path.join(here.clone, 'x')],
      ['variables.env.A', '${workspaceFolder}/x'],
      ['variables.env.DATA_DIR', '${workspaceFolder}/data'],
      ['variables.env.ROOT', '${workspaceFolder}'],
      ['variables.env.FILE', '${workspaceFolder}/tell.sh'],
    ]);
  });

  it('is not reported where it is none, or plainly means something else', async () => {
    const here = places();
    writeFileSync(path.join(here.home, 'server.js'), '');
    const args = [
      ...['server.js', '@scope/name', 'owner/repo', 'vercel/next.js', 'https://h.example/a/b.js'],
      ...[
        '*.json',
        'src/**/*.ts',
        '--repo=owner/repo',
        'text/html',
        '3.12',
        'h.example',
        '${X:-a/b}',
      ],
    ];
    const env = { URL: 'http://h.example/x', TZ: 'Europe/Berlin', SEPARATOR: '.', SCOPE: '@a/b' };
    expect(await strays(here, { own: { command: process.execPath, args, env } })).toEqual([]);
    const placed = { command: process.execPath, args: ['./x'], cwd: here.folder };
    expect(await strays(here, { placed })).toEqual([]);
    const line = (text: string) => ({
      command: text.split(' ')[0],
      args: text.split(' ').slice(1),
    });
    const code = {
      shell: { command: 'bash', args: ['-lc', 'node /abs/server.js'] },
      module: line('python3 -sm http.server'),
      title: line('node --title my.app /abs/s.js'),
      container: line('docker run -i --rm mcp/filesystem . ./x'),
      name: { ...line('npx -y server'), env: { GOOGLE_CLOUD_PROJECT: 'src' } },
    };
    mkdirSync(path.join(here.clone, 'src'), { recursive: true });
    expect(await strays(here, code)).toEqual([]);
  });

  it('is reported for a named file elsewhere, unless the file has what it names', async () => {
    const here = places();
    const entry = { command: process.execPath, args: ['.', './tell.sh', './lost', 'lost.js'] };
    const servers = { a: entry, b: { ...entry, args: [], cwd: '.' } };
    const named = [
      ['a.args.0', '${workspaceFolder}'],
      ['a.args.2', '${workspaceFolder}/lost'],
      ['b.cwd', '${workspaceFolder}'],
    ];
    expect(await strays(here, servers, { scope: 'config' })).toEqual(named);
    const [file, scope] = [path.join(here.clone, 'servers.json'), 'config'];
    expect(await strays(here, servers, { file, scope })).toEqual([]);
  });

  it('is reported without a home, and so is a home that does not exist', async () => {
    const here = places();
    const servers = { a: { command: process.execPath, args: ['./x'] }, b: { command: 'node' } };
    const home = path.join(here.folder, 'lost');
    expect(await strays(here, servers, { home })).toEqual([['a.command', 'cwd']]);
  });
});

/** What a check says about the servers of a file: the key, and what to write. */
async function strays(
  { home: usual, settings, clone }: ReturnType<typeof places>,
  mcpServers: Readonly<Record<string, unknown>>,
  { scope = 'user', file = path.join(settings, 'troupe.json'), home = usual } = {},
) {
  writeFileSync(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
  const { problems } = await checkSettings({
    sources: [{ file, scope: scope as 'user' }],
    projectRoot: clone,
    env: { ...process.env, HOME: home, X: 'x' },
  });
  return problems.map(({ key, message }) => [
    key?.replace('mcpServers.', ''),
    /write "(.*)"/u.exec(message)?.[1],
  ]);
}

describe('equal entries that start in different folders', () => {
  const node = (...args: readonly string[]) => ({ command: 'node', args });
  it.each<[what: string, entry: object]>([
    ['a script beside the file', node('server.js')],
    ['a script without an ending', node('server')],
    ['a script below', node('--no-warnings', 'dist/index.js')],
    ['a path after a switch', { command: 'x', args: ['--root=./data'] }],
    ['the folder itself', { command: 'npx', args: ['-y', 'files', '.'] }],
    ['a program below', { command: 'bin/server' }],
    ['a path in a variable', { command: 'x', env: { DATA: 'data/db.sqlite' } }],
    ['a path that a default gives', { command: 'x', args: ['${DATA:-./data}'] }],
    ['a package that is a path', { command: 'npx', args: ['-y', './server'] }],
    ['a module', { command: 'python3', args: ['-m', 'server'] }],
    ['what the folder declares', { command: 'uv', args: ['run', 'server'] }],
    ['a folder of a container', { command: 'docker', args: ['run', '-v', './a:/a', 'x/y'] }],
  ])('are two servers if they depend on it: %s', (_, entry) => {
    // A plugin's server is compared without its variables.
    for (const theirs of 'env' in entry
      ? (['project'] as const)
      : (['project', 'plugin'] as const)) {
      const settings = merged([
        layer('user', entries({ mine: entry })),
        layer(theirs, entries({ theirs: entry })),
      ]);
      expect(settings.servers).toHaveLength(2);
      expect(settings.problems).toEqual([]);
    }
    const inOneFolder = [
      layer('project', entries({ a: entry })),
      layer('workspace', entries({ b: entry })),
    ];
    expect(merged(inOneFolder).servers).toHaveLength(1);
  });

  it.each<[what: string, entry: object]>([
    ['an absolute script', node('/opt/server.js', '--port=80')],
    ['a named package', { command: 'npx', args: ['-y', '@scope/server@1.2.3', '--x', 'chrome'] }],
    ['a package of a switch', { command: 'uvx', args: ['--from=server.py', 'serve'] }],
    ['a place that a variable gives', { command: 'x', args: ['${HOME}/data', '~/x'] }],
    ['an address', { command: 'x', env: { URL: 'postgres://me:p@h.example:5432/db' } }],
    ['paths in a container', { command: 'docker', args: ['run', 'ghcr.io/x/y', './data'] }],
    ['a word', { command: 'github-mcp-server', args: ['stdio'] }],
  ])('are one server if they do not: %s', (_, entry) => {
    const settings = merged([
      layer('user', entries({ mine: entry })),
      layer('project', entries({ theirs: entry })),
    ]);
    expect(verdicts(settings)).toEqual({ mine: 'admitted' });
  });
});
