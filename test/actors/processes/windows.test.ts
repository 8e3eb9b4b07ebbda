/** What would be started, ended and handed on on Windows. Nothing of it has ever run there. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { endGroup, killGroup } from '../../../actors/processes/end-process-group.ts';
import { environmentOf } from '../../../actors/processes/environment.ts';
import type { ProcessStart } from '../../../actors/processes/system.ts';
import { createWindowsSystem } from '../../../actors/processes/windows.ts';
import type { ClosePolicy } from '../../../src/domain/policy.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { compiledProgram } from '../../support/compiled-program.ts';

const starter = compiledProgram('test/fixtures/windows-starts.ts');
const cmd = 'C:\\Windows\\System32\\cmd.exe';
const taskkill = 'C:\\Windows\\System32\\taskkill.exe';

interface Ask {
  readonly command: string;
  readonly args?: readonly string[];
}

describe('starting a process on Windows', () => {
  let folder = '';
  let bin = '';

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mcp-troupe-windows-'));
    bin = path.join(folder, 'node_modules', '.bin');
    await mkdir(bin, { recursive: true });
    const files = {
      'npx.cmd': '@echo off\r\n',
      'node.exe': 'MZ',
      server: '#!/usr/bin/env node\n',
      'old.bat': '@echo off\r\n',
    };
    for (const [name, text] of Object.entries(files))
      await writeFile(path.join(folder, name), text);
    await writeFile(path.join(bin, 'lint.cmd'), '@echo off\r\n');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function startsOf(...asks: readonly Ask[]): Promise<readonly (ProcessStart | string)[]> {
    const launches = asks.map(({ command, args = [] }) => ({
      command,
      args,
      cwd: folder,
      // As it is mostly spelled there.
      env: { Path: `${folder};${bin}` },
    }));
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...starter.words,
      JSON.stringify(launches),
    ]);
    return JSON.parse(stdout) as readonly (ProcessStart | string)[];
  }

  it('starts programs directly, scripts through cmd.exe and shebang files with their interpreter', async () => {
    const starts = await startsOf(
      { command: 'node', args: ['a b', '%PATH%', '"&"'] },
      { command: 'npx', args: ['-y', 'some server'] },
      { command: 'server', args: ['x&y'] },
    );
    const program = { detached: false, windowsVerbatimArguments: false };
    const script = { detached: false, windowsVerbatimArguments: true };
    expect(starts).toEqual([
      { ...program, command: 'node', args: ['a b', '%PATH%', '"&"'] },
      { ...script, command: cmd, args: ['/d', '/s', '/c', '"npx ^"-y^" ^"some^ server^""'] },
      { ...program, command: 'node', args: [path.join(folder, 'server'), 'x&y'] },
    ]);
  });

  it('passes each script argument unchanged, whatever it contains', async () => {
    const escaped = new Map([
      ['a & calc', '^"a^ ^&^ calc^"'],
      ['"', '^"\\^"^"'],
      ['C:\\dir\\', '^"C:\\dir\\\\^"'],
      ['{"a":1}', '^"{\\^"a\\^":1}^"'],
      ['$(id) `id` ;*?', '^"$^(id^)^ ^`id^`^ ^;^*^?^"'],
      ['!x!^', '^"^!x^!^^^"'],
      ['', '^"^"'],
    ]);
    const [start] = await startsOf({ command: 'npx', args: [...escaped.keys()] });
    const words = ['npx', ...escaped.values()].join(' ');
    expect(start).toMatchObject({ command: cmd, args: ['/d', '/s', '/c', `"${words}"`] });
  });

  it("escapes arguments twice for a project's npm scripts", async () => {
    const [start] = await startsOf({ command: 'lint', args: ['"&calc'] });
    expect(start).toMatchObject({
      args: ['/d', '/s', '/c', '"lint ^^^"\\^^^"^^^&calc^^^""'],
    });
  });

  it('rejects arguments that cannot be escaped, and missing programs', async () => {
    const script = ['%PATH%', 'a\nb', 'a\rb', '"&calc', 'x|"', '")'];
    const starts = await startsOf(
      ...script.map((arg) => ({ command: 'npx', args: [arg] })),
      { command: 'old.bat', args: ['50%'] },
      { command: 'lint', args: ['50%'] },
      { command: 'absent' },
    );
    expect(starts).toEqual([...Array(8).fill('UNSAFE_ARGUMENT'), 'ENOENT']);
  });
});

/** A process on Windows that is gone after so many calls of `taskkill`, or at the end of its input. */
function stage(leavesAt: number | 'input') {
  const clock = new VirtualClock();
  const story: string[] = [];
  let calls = 0;
  let hasExited = false;
  let leave = (): void => {};
  const exited = new Promise<void>((resolve) => {
    leave = () => {
      hasExited = true;
      resolve();
    };
  });
  const run = async (file: string, args: readonly string[]): Promise<void> => {
    story.push(`${clock.now()} ${file === taskkill ? 'taskkill' : file} ${args.join(' ')}`);
    calls += 1;
    if (calls === leavesAt) leave();
  };
  const group = {
    system: createWindowsSystem({ root: 'C:\\Windows', run, runNow: () => {} }),
    leader: 41,
    clock,
    exited,
    hasExited: () => hasExited,
  };
  return {
    clock,
    story,
    group,
    leave,
    endInput: (): void => {
      story.push(`${clock.now()} end of input`);
      if (leavesAt === 'input') leave();
    },
  };
}

const steps: ClosePolicy['steps'] = [
  { by: 'stdinEnd', waitMs: 1_000 },
  { by: 'SIGTERM', waitMs: 2_000 },
];
const asks = { child: '/PID 41', group: '/PID 41 /T', tree: '/PID 41 /T' };

describe('ending a process on Windows', () => {
  it.each(['child', 'group', 'tree'] as const)(
    'signals the %s in each step and finally kills the whole tree',
    async (scope) => {
      const { clock, story, group, endInput } = stage(2);
      const ended = endGroup({ ...group, hasCrashed: false, endInput, scope, steps });
      await clock.advanceAndSettle(3_000);
      expect(await ended).toBe(true);
      expect(story).toEqual([
        '0 end of input',
        `1000 taskkill ${asks[scope]}`,
        '3000 taskkill /PID 41 /T /F',
      ]);
    },
  );

  it('reports a process that survives every step', async () => {
    const { clock, group, endInput } = stage(9);
    const ended = endGroup({ ...group, hasCrashed: false, endInput, scope: 'tree', steps });
    await clock.advanceAndSettle(3_250);
    expect(await ended).toBe(false);
  });

  it('does not signal a process that has exited', async () => {
    const { story, group, endInput, leave } = stage('input');
    expect(await endGroup({ ...group, hasCrashed: false, endInput, scope: 'tree', steps })).toBe(
      true,
    );
    leave();
    expect(await killGroup(group)).toBe(true);
    expect(story).toEqual(['0 end of input']);
  });

  it('kills all remaining processes when the host exits', () => {
    const killed: (readonly string[])[] = [];
    const system = createWindowsSystem({
      root: 'C:\\Windows',
      run: () => Promise.resolve(),
      runNow: (file, args) => void killed.push([file, ...args]),
    });
    system.killAll(new Set());
    system.killAll(new Set([41, 42]));
    expect(killed).toEqual([[taskkill, '/PID', '41', '/PID', '42', '/T', '/F']]);
  });
});

describe("a server's environment", () => {
  const ours = {
    Path: 'C:\\bin',
    SystemRoot: 'C:\\Windows',
    AppData: 'C:\\data',
    TOKEN: 'secret',
    TEMP: undefined,
    HOME: '/home/me',
    'ProgramFiles(x86)': 'C:\\x86',
  };

  it.each([
    ['inherits the variables that programs need', {}, { PATH: 'C:\\bin' }],
    ['uses only the search path from the settings', { path: 'D:\\own' }, { PATH: 'D:\\own' }],
    ['uses the later of two spellings', { PATH: 'D:\\a', Path: 'D:\\b' }, { PATH: 'D:\\b' }],
    ['contains the variables from the settings', { Token: 'x' }, { PATH: 'C:\\bin', TOKEN: 'x' }],
  ])('%s on Windows', (_what, named, expected) => {
    expect(environmentOf(ours, named, 'win32')).toEqual({
      SYSTEMROOT: 'C:\\Windows',
      APPDATA: 'C:\\data',
      'PROGRAMFILES(X86)': 'C:\\x86',
      ...expected,
    });
  });

  it('is case-sensitive on other systems', () => {
    const named = { Path: '/own', path: '/other' };
    expect(environmentOf({ ...ours, PATH: '/bin' }, named, 'linux')).toEqual({
      HOME: '/home/me',
      PATH: '/bin',
      ...named,
    });
  });
});
