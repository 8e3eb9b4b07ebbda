/** Commands whose surroundings are broken: they end with a sentence, never with a stack. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';

import { compiledProgram } from '../../support/compiled-program.ts';
import { temporaryFolder } from '../run-cli.ts';

const program = compiledProgram('src/cli/main.ts');

/** Runs `troupe` in a folder that is deleted before it starts. */
async function runInDeleted(argv: readonly string[]) {
  const gone = path.join(temporaryFolder(), 'gone');
  mkdirSync(gone);
  // The shell stays in the folder; Node cannot start a process in a folder that does not exist.
  const line = 'rmdir "$PWD" && exec "$@"';
  const child = spawn('/bin/sh', ['-c', line, 'sh', process.execPath, ...program.words, ...argv], {
    cwd: gone,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await output;
  return { exitCode, stdout, stderr };
}

describe.skipIf(process.platform === 'win32')('a command in a deleted folder', () => {
  it.each(['status', 'check', 'tools', 'serve', 'up', 'plan', 'doctor'])(
    '%s ends with a sentence and exit code 2',
    async (command) => {
      const { exitCode, stdout, stderr } = await runInDeleted([command]);
      expect(stderr).toBe(
        'troupe: the working folder was deleted; change to another folder, or set --project to an absolute path\n',
      );
      expect([exitCode, stdout]).toEqual([2, '']);
    },
  );

  it('runs with an absolute --project, where relative paths then start', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'a.json'), '{"mcpServers":{"db":{"command":"node"}}}');
    const there = ['--project', folder, '--state-dir', path.join(folder, 'state')];
    const { exitCode, stdout } = await runInDeleted(['check', '--config', 'a.json', ...there]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('1 file, 1 server') as string]);
  });

  it('prints help and its version', async () => {
    expect((await runInDeleted(['--version'])).exitCode).toBe(0);
    expect((await runInDeleted(['--help'])).stdout).toContain('Usage: troupe');
  });
});

describe.skipIf(process.platform === 'win32')('a command with broken folders', () => {
  it.each<readonly [string, string, string, number, RegExp]>([
    ['tools', 'HOME', 'relative', 2, /relative path relative\/.+; set an absolute path/],
    ['up', 'HOME', '', 2, /relative path .+; set an absolute path/],
    ['tools', 'HOME', '/FILE', 2, /cannot be read \(ENOTDIR\)/],
    ['up', 'HOME', '/FILE', 2, /create the folder .+ \(ENOTDIR\); choose/],
    ['up', 'XDG_DATA_HOME', '/FILE', 2, /\(ENOTDIR\); choose another/],
    ['doctor', 'TMPDIR', '/FILE/x', 0, /set TMPDIR to a folder/],
  ])('%s ends with a sentence: %s=%s', async (command, name, value, code, sentence) => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'FILE'), '');
    const broken = value.startsWith('/') ? `${folder}${value}` : value;
    const child = spawn(process.execPath, [...program.words, command], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder, [name]: broken },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    const lines = (await said).join('');
    expect([exitCode, lines]).toEqual([code, expect.stringMatching(sentence) as string]);
    expect(lines).not.toMatch(/^\s+at /mu);
  });
});

describe.skipIf(process.platform !== 'linux')('a command with a full output', () => {
  it('ends with a sentence and a failure', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [...program.words, '--help'], {
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    const said = child.stderr === null ? '' : text(child.stderr);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    expect(exitCode).toBe(2);
    expect(await said).toContain('the output cannot be written (ENOSPC)');
  });
});

describe.skipIf(process.platform === 'win32')('up whose reader is gone', () => {
  it('fails, so that a supervisor starts it again', async () => {
    const folder = temporaryFolder();
    const argv = ['up', '--project', folder, '--state-dir', path.join(folder, 'state'), '--bare'];
    const child = spawn(process.execPath, [...program.words, ...argv], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // The first line has no reader already.
    child.stdout.destroy();
    const [exitCode] = (await once(child, 'close')) as [number | null];
    expect(exitCode).toBe(141);
  });
});
