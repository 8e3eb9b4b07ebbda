/** What a start folder's files look like to an approval. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createFolderLookup } from '../../../actors/values/folder-files.ts';
import type { StdioSpec } from '../../../src/domain/server-spec.ts';

function createPlace() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'folder-files-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const project = path.join(folder, 'project');
  mkdirSync(path.join(project, 'sub'), { recursive: true });
  const lookup = createFolderLookup({ HOME: folder, RUNNER: 'npx', SUB: 'sub' });
  return {
    project,
    at: (...parts: string[]) => path.join(project, ...parts),
    plant(file: string, text = ''): void {
      mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
      writeFileSync(path.join(project, file), text);
    },
    async files(line: string, more: Partial<StdioSpec> = {}, isConfined = true) {
      const [command = '', ...args] = line.split(' ');
      const spec: StdioSpec = {
        ...{ type: 'stdio', command, args, env: {}, cwd: project, era: 'auto' },
        ...more,
      };
      const found = await lookup.read(spec, { projectRoot: project, isConfined });
      return Object.fromEntries(found.map(({ path: file, digest }) => [file, digest]));
    },
  };
}

describe('the files that a package runner reads', () => {
  it('are found whatever fills the command and the folder', async () => {
    const place = createPlace();
    place.plant('sub/.npmrc');
    const cwd = `${place.project}/\${SUB}`;
    const open = '${RUNNER} x';
    expect(Object.keys(await place.files(open, { cwd }))).toEqual(['.npmrc']);
    expect(await place.files(open, { cwd, values: { literal: true } })).toEqual({});
  });

  it('are those of the folders above, up to the project or the home folder', async () => {
    const place = createPlace();
    place.plant('.npmrc');
    place.plant('../.npmrc');
    const cwd = place.at('sub');
    for (const isConfined of [true, false])
      expect(Object.keys(await place.files('npx x', { cwd }, isConfined))).toEqual(['../.npmrc']);
  });

  it('differ when their content does, however long it is', async () => {
    const place = createPlace();
    place.plant('.npmrc', 'x'.repeat(5 * 1024 * 1024));
    const before = await place.files('npx x');
    expect(await place.files('npx x')).toEqual(before);
    appendFileSync(place.at('.npmrc'), 'y');
    expect(await place.files('npx x')).not.toEqual(before);
  });

  it('count by where they lead if they lead out of the project', async () => {
    const place = createPlace();
    place.plant('../secret', 'one');
    symlinkSync('../secret', place.at('.npmrc'));
    symlinkSync('..', place.at('json'));
    const before = await place.files('npx x');
    expect(Object.keys(before)).toEqual(['.npmrc']);
    place.plant('../secret', 'two');
    expect(await place.files('npx x')).toEqual(before);
    expect(await place.files('npx x', {}, false)).toEqual(before);
    rmSync(place.at('.npmrc'));
    symlinkSync('../other', place.at('.npmrc'));
    expect(await place.files('npx x')).not.toEqual(before);
    expect(Object.keys(await place.files('python -m x'))).toEqual(['json']);
  });

  it('are those of the project even if it holds the home folder', async () => {
    const place = createPlace();
    place.plant('.npmrc');
    const home = { cwd: place.at('sub'), env: {} };
    const lookup = createFolderLookup({ HOME: place.at('sub') });
    const spec: StdioSpec = { type: 'stdio', command: 'npx', args: ['x'], era: 'auto', ...home };
    const found = await lookup.read(spec, { projectRoot: place.project, isConfined: false });
    expect(found.map(({ path: file }) => file)).toEqual(['../.npmrc']);
  });

  it('are those of every command that the server needs', async () => {
    const place = createPlace();
    place.plant('package.json', '{ "scripts": { "x": "one" } }');
    place.plant('sub/uv.toml');
    const commands = [{ key: 'env.A', words: ['npx', 'y'] }];
    const values = { commands };
    const before = await place.files('npm run x', { values });
    expect(before).toEqual(await place.files('npm run x'));
    place.plant('package.json', '{ "scripts": { "x": "two" }, "bin": "y" }');
    expect(await place.files('npm run x', { values })).not.toEqual(before);
    const uv = [{ key: 'env.A', words: ['uvx', '${RUNNER}'] }];
    const inSub = { values: { commands: uv, commandFolder: place.at('sub') } };
    expect(Object.keys(await place.files('node x', inSub))).toEqual(['uv.toml']);
    expect(Object.keys(await place.files('deno run x', inSub))).toEqual([
      'package.json',
      'sub/uv.toml',
    ]);
  });

  it('are reported by type and not read if they are not regular files', async () => {
    const place = createPlace();
    execFileSync('mkfifo', [place.at('.npmrc')]);
    place.plant('package.json/x');
    expect(await place.files('npx x')).toEqual({ '.npmrc': 'special', 'package.json': 'folder' });
  });

  it('differ when a program does, or leads elsewhere', async () => {
    const place = createPlace();
    place.plant('node_modules/.bin/x', 'one');
    symlinkSync('../x/run', place.at('node_modules/.bin/y'));
    const before = await place.files('npx x');
    place.plant('node_modules/.bin/x', 'two');
    const changed = await place.files('npx x');
    expect(changed).not.toEqual(before);
    rmSync(place.at('node_modules/.bin/y'));
    symlinkSync('../evil/run', place.at('node_modules/.bin/y'));
    expect(await place.files('npx x')).not.toEqual(changed);
    rmSync(place.at('node_modules/.bin'), { recursive: true });
    mkdirSync(place.at('node_modules/.bin'));
    expect(await place.files('npx x')).toEqual({ node_modules: 'folder' });
  });

  it('are the modules of the folder for Python, by name', async () => {
    const place = createPlace();
    place.plant('my-server.py');
    expect(Object.keys(await place.files('python3 -m my-server'))).toEqual(['my-server.py']);
    rmSync(place.at('my-server.py'));
    for (const file of ['x.py', 'json.cpython-311-linux-gnu.so', 'email/__init__.py', 'data/y.py'])
      place.plant(file, 'one');
    const before = await place.files('python -m x');
    expect(before).toMatchObject({
      'json.cpython-311-linux-gnu.so': 'module',
      email: 'module',
      'x.py': expect.stringMatching(/^[0-9a-f]{64}$/u),
    });
    expect(Object.keys(before)).toHaveLength(3);
    place.plant('email/__init__.py', 'two');
    expect(await place.files('python -m x')).toEqual(before);
    place.plant('x.py', 'two');
    expect(await place.files('python -m x')).not.toEqual(before);
  });
});
