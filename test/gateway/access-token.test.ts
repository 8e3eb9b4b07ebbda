import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { accessToken } from '../../src/gateway/access-token.ts';

async function stateFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'troupe-token-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const chosenByOthers = 'b'.repeat(43);
const onPosix = process.platform === 'win32' ? it.skip : it;

describe("the gateway's token", () => {
  it('is created once and readable only by its user', async () => {
    const folder = await stateFolder();
    const { file, token } = await accessToken(folder);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await readFile(file, 'utf8')).toBe(`${token}\n`);
    if (process.platform !== 'win32') expect((await lstat(file)).mode & 0o777).toBe(0o600);
    expect(await accessToken(folder)).toEqual({ file, token });
  });

  onPosix('is a new one where a named pipe stands in its place', async () => {
    const folder = await stateFolder();
    const file = path.join(folder, 'gateway-token');
    execFileSync('mkfifo', ['-m', '600', file]);
    const { token } = await accessToken(folder);
    expect((await lstat(file)).isFile()).toBe(true);
    expect(await readFile(file, 'utf8')).toBe(`${token}\n`);
  });

  onPosix('is a new one where others could have read or chosen it', async () => {
    const folder = await stateFolder();
    const file = path.join(folder, 'gateway-token');
    await writeFile(file, `${chosenByOthers}\n`);
    await chmod(file, 0o644);
    expect((await accessToken(folder)).token).not.toBe(chosenByOthers);
    await rm(file);
    const elsewhere = path.join(folder, 'elsewhere');
    await writeFile(elsewhere, chosenByOthers, { mode: 0o600 });
    await symlink(elsewhere, file);
    expect((await accessToken(folder)).token).not.toBe(chosenByOthers);
    expect(await readFile(elsewhere, 'utf8')).toBe(chosenByOthers);
  });

  it.each(['', 'short', `${chosenByOthers}${chosenByOthers}`])(
    'is replaced when the file holds no valid token: %j',
    async (content) => {
      const folder = await stateFolder();
      await writeFile(path.join(folder, 'gateway-token'), content, { mode: 0o600 });
      expect((await accessToken(folder)).token).toMatch(/^[\w-]{43}$/);
      expect((await accessToken(folder)).token).not.toBe(content);
    },
  );
});
