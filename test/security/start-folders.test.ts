/** N1 and N2: what the user's own entries leave open is never decided by the folder that was just cloned. */

import { chmodSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { checkSettings } from '../../src/runtime/check-settings.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { entries, layer, merged, verdicts } from '../config/layer.ts';

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

  it('is reported by a check where the project may be meant', async () => {
    const { home, settings, clone } = places();
    const file = path.join(settings, 'troupe.json');
    const args = ['.', '../x', '--root=./src', './a b', 'x/y', '-'];
    const server = { command: process.execPath, args };
    const mcpServers = {
      own: server,
      placed: { ...server, cwd: '${workspaceFolder}', env: { A: 'b' } },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }), { mode: 0o600 });
    const { problems } = await checkSettings({
      sources: [{ file, scope: 'user' }],
      projectRoot: clone,
      env: { ...process.env, HOME: home },
    });
    expect(problems.map(({ key, message }) => [key, /write "(.*)"/u.exec(message)?.[1]])).toEqual([
      ['mcpServers.own.args.0', '${workspaceFolder}'],
      ['mcpServers.own.args.1', '${workspaceFolder}/../x'],
      ['mcpServers.own.args.2', '${workspaceFolder}/src'],
      ['mcpServers.own.args.3', '${workspaceFolder}/a b'],
    ]);
  });
});

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
