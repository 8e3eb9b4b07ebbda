import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StdioLaunch } from '../../../actors/processes/system.ts';
import {
  approvedPathOf,
  assertSameProgram,
  findExecutable,
  launchAsApproved,
} from '../../../actors/values/executable-path.ts';
import type { StdioSpec } from '../../../src/domain/server-spec.ts';

let folder = '';
const at = (...parts: string[]): string => path.join(folder, ...parts);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'executables-')));
  for (const name of ['one', 'two', 'work', 'two/folder']) mkdirSync(at(name), { recursive: true });
  for (const name of ['one/tool', 'two/tool', 'two/other', 'work/local', 'one/plain']) {
    writeFileSync(at(name), '#!/bin/sh\n', { mode: 0o755 });
  }
  chmodSync(at('one/plain'), 0o644);
  writeFileSync(at('two/plain'), '#!/bin/sh\n', { mode: 0o755 });
  mkdirSync(at('one/folder'));
  symlinkSync(at('two/other'), at('one/linked'));
  symlinkSync(at('nowhere'), at('one/broken'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const find = (command: string, searchPath?: string) =>
  findExecutable({
    command,
    cwd: at('work'),
    env: searchPath === undefined ? { PATH: `${at('one')}:${at('two')}` } : { PATH: searchPath },
  });
const spec = (change: Partial<StdioSpec> = {}): StdioSpec => ({
  type: 'stdio',
  command: 'tool',
  args: [],
  env: {},
  cwd: at('work'),
  era: 'auto',
  ...change,
});

describe("a command's program", () => {
  it.each([
    ['the first on PATH', 'tool', 'one/tool', 'one/tool'],
    ['the first executable one on PATH', 'plain', 'two/plain', 'two/plain'],
    ["a link's target", 'linked', 'one/linked', 'two/other'],
    [
      'relative to the working folder when written with a folder',
      './local',
      'work/local',
      'work/local',
    ],
  ])('is %s', async (_what, command, file, realPath) => {
    expect(await find(command)).toEqual({ file: at(file), realPath: at(realPath) });
  });

  it.each(['folder', 'broken', 'local', 'missing', ''])(
    'does not exist for %j',
    async (command) => {
      expect(await find(command)).toBeUndefined();
    },
  );

  it('is searched in the working folder for an empty PATH entry', async () => {
    expect(await find('local', `:${at('one')}`)).toMatchObject({ realPath: at('work/local') });
  });

  it("is searched in the system's default folders without PATH", async () => {
    const found = await findExecutable({ command: 'sh', cwd: '/', env: {} });
    expect(found?.file).toMatch(/^(?:\/usr)?\/bin\/sh$/u);
  });
});

describe('an approved program', () => {
  const env = () => ({ PATH: at('one'), HOME: folder, TOKEN: 'two' });

  it("depends on the server's PATH", async () => {
    expect(await approvedPathOf(spec(), env())).toBe(at('one/tool'));
    expect(await approvedPathOf(spec({ env: { PATH: at('two') } }), env())).toBe(at('two/tool'));
  });

  it('is resolved through a variable and hashed when the variable is secret', async () => {
    const named = spec({ command: '${HOME}/two/tool' });
    expect(await approvedPathOf(named, env())).toBe(at('two/tool'));
    const secret = await approvedPathOf(spec({ command: `${folder}/\${TOKEN}/tool` }), env());
    expect(secret).toMatch(/^sha256:[0-9a-f]{64}$/u);
  });

  it('is undefined while a variable is not set', async () => {
    expect(await approvedPathOf(spec({ command: '${UNSET}/tool' }), env())).toBeUndefined();
    const elsewhere = spec({ env: { KEY: '${UNSET}' }, args: ['${UNSET}'] });
    expect(await approvedPathOf(elsewhere, env())).toBe(at('one/tool'));
  });
});

describe('a launch', () => {
  const launch = { command: 'tool', args: ['a'], cwd: '/', env: {} };

  it('starts the approved file under its original name', async () => {
    const there = { ...launch, env: { PATH: at('one') } };
    expect(await launchAsApproved(there, spec(), at('one/tool'))).toEqual({
      ...there,
      command: at('one/tool'),
      realPath: at('one/tool'),
      argv0: 'tool',
    });
  });

  it.each([
    ['another program was approved', 'two', 'one/tool'],
    ['nothing was found at approval', 'one', null],
    ['the program is gone', 'work', 'one/tool'],
  ])('is refused when %s', async (_when, place, approved) => {
    const there = { ...launch, env: { PATH: at(place) } };
    const expected = approved === null ? null : at(approved);
    await expect(launchAsApproved(there, spec(), expected)).rejects.toThrow('another program');
  });

  it('is unchanged when nothing was found at approval either', async () => {
    const there = { ...launch, env: { PATH: at('work') } };
    expect(await launchAsApproved(there, spec(), null)).toBe(there);
  });

  it("starts a project's approved program even outside the project", async () => {
    const within = at('work');
    const [here, outside] = [spec({ command: './local' }), spec({ command: './venv/tool' })];
    symlinkSync(at('one'), at('work', 'venv'));
    const env = { PATH: at('two') };
    for (const [entry, place] of [
      [here, at('work', 'local')],
      [outside, at('one', 'tool')],
      [spec(), at('two', 'tool')],
      [spec({ command: at('one', 'linked') }), at('one', 'linked')],
    ] as const) {
      expect(await approvedPathOf(entry, env, within)).toBe(place);
      const started = await launchAsApproved(
        { ...launch, command: entry.command, cwd: within, env },
        entry,
        place,
        within,
      );
      expect(realpathSync(started.command)).toBe(realpathSync(place));
      expect(started.argv0).toBe(entry.command);
    }
    rmSync(at('work', 'venv'));
    symlinkSync(at('two'), at('work', 'venv'));
    const again = launchAsApproved({ ...launch, env }, outside, at('one', 'tool'), within);
    await expect(again).rejects.toThrow('another program');
  });

  it("does not look up a project's command when a variable or its own PATH determines it", async () => {
    for (const entry of [spec({ command: '${HOME}/tool' }), spec({ env: { PATH: at('one') } })]) {
      expect(await approvedPathOf(entry, { HOME: at('one') }, at('work'))).toBeUndefined();
      expect(await launchAsApproved(launch, entry, null, at('work'))).toBe(launch);
    }
  });
});

describe('starting an approved program', () => {
  const approvedLaunch = async (command: string, more: Partial<StdioLaunch> = {}) => {
    const env = { PATH: `${at('bin')}:${process.env['PATH'] ?? ''}` };
    const launch = { command, args: [], env, cwd: at('work'), ...more };
    const found = await findExecutable(launch);
    return launchAsApproved(launch, spec({ command }), found?.realPath ?? null);
  };
  const outputOf = ({ command, args, argv0, env, cwd }: StdioLaunch): string =>
    spawnSync(command, args, { argv0, env, cwd, encoding: 'utf8' }).stdout.trim();

  beforeEach(() => {
    rmSync(at('bin'), { recursive: true, force: true });
    mkdirSync(at('bin'));
  });

  it('uses the binary itself, even if the link changes a moment later', async () => {
    symlinkSync(process.execPath, at('bin', 'tool'));
    const args = ['-p', 'process.argv0'];
    const launch = await approvedLaunch('tool', { args });
    rmSync(at('bin', 'tool'));
    symlinkSync('/bin/false', at('bin', 'tool'));
    expect(launch.command).toBe(realpathSync(process.execPath));
    expect(() => assertSameProgram(launch)).not.toThrow();
    // A program of many names, such as busybox, tells by this which one is meant.
    expect(outputOf(launch)).toBe('tool');
  });

  it("uses the script's original path so it can find its siblings", async () => {
    writeFileSync(at('bin', 'real'), '#!/bin/sh\necho "$0"\n', { mode: 0o755 });
    symlinkSync('real', at('bin', 'linked'));
    const launch = await approvedLaunch('linked');
    expect(outputOf(launch)).toBe(at('bin', 'linked'));
    expect(() => assertSameProgram(launch)).not.toThrow();
  });

  it.each([
    ['is redirected', () => symlinkSync(at('two/other'), at('bin', 'linked'))],
    ['is deleted', () => undefined],
  ])('is refused when a script %s just before the start', async (_what, exchange) => {
    writeFileSync(at('bin', 'real'), '#!/bin/sh\necho real\n', { mode: 0o755 });
    symlinkSync('real', at('bin', 'linked'));
    const launch = await approvedLaunch('linked');
    rmSync(at('bin', 'linked'));
    exchange();
    expect(() => assertSameProgram(launch)).toThrow(
      'The command "linked" leads to another program than the one that was approved',
    );
  });

  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'keeps a Python virtual environment working',
    async () => {
      const python = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
        encoding: 'utf8',
      }).stdout.trim();
      mkdirSync(at('venv', 'bin'), { recursive: true });
      writeFileSync(at('venv', 'pyvenv.cfg'), `home = ${path.dirname(python)}\n`);
      symlinkSync(python, at('venv', 'bin', 'python'));
      const args = ['-c', 'import sys; print(sys.prefix)'];
      const env = { PATH: `${at('venv', 'bin')}:${process.env['PATH'] ?? ''}` };
      for (const command of ['python', at('venv', 'bin', 'python'), '../venv/bin/python']) {
        const launch = await approvedLaunch(command, { args, env });
        expect(launch.command).toBe(realpathSync(python));
        expect(path.resolve(at('work'), outputOf(launch))).toBe(at('venv'));
      }
    },
  );
});
