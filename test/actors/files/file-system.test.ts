import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { homeFolder, makeFolders } from '../../../actors/files/file-system.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('the home folder', () => {
  it.each([
    [{ HOME: '/home/me', USERPROFILE: '/other' }, '/home/me'],
    [{ HOME: '', USERPROFILE: '/home/me' }, '/home/me'],
    [{ HOME: 'here' }, homedir()],
  ])('is the absolute path that %j names, or the system', (variables, home) => {
    expect(homeFolder(variables)).toBe(home);
  });
});

describe('a private folder', () => {
  it('is created with its parents, accessible only to its user, unless it exists', () => {
    const folder = path.join(temporaryFolder(), 'a', 'b');
    makeFolders(folder);
    makeFolders(folder);
    for (const each of [folder, path.dirname(folder)]) {
      expect(statSync(each).mode & 0o777).toBe(0o700);
    }
  });

  it('cannot be created below a file', () => {
    const file = path.join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(() => makeFolders(path.join(file, 'folder'))).toThrow('ENOTDIR');
  });

  it.runIf(process.platform === 'linux')('fails without a retry where it cannot be created', () => {
    expect(() => makeFolders('/proc/no-such-folder/run')).toThrow('ENOENT');
  });
});
