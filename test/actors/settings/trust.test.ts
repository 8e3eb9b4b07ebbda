/** Whose settings files are believed, and which of a project's are not followed. */

import {
  chmodSync,
  chownSync,
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
import { checkFolder, readSettingsFile } from '../../../actors/settings/file.ts';
import { createSettingsReader } from '../../../actors/settings/last-good-settings.ts';
import { namesOf, serversText } from './bench.ts';

const one = serversText({ one: 'x' });
const two = serversText({ two: 'x' });

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-trust-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a settings file that other users may change', () => {
  const chmodded = (mode: number): string => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    writeFileSync(file, one);
    chmodSync(file, mode);
    return file;
  };
  const read = (file: string, scope: 'user' | 'config' | 'project') =>
    createSettingsReader({ files: [{ file, scope }], projectRoot: path.dirname(file) });

  it.each(['user', 'config'] as const)(
    'is rejected with a remedy as a %s file that every user may change',
    async (scope) => {
      const file = chmodded(0o666);
      const reader = read(file, scope);
      const { settings } = await reader.read(0);
      expect(settings.servers).toEqual([]);
      expect(settings.problems.map(({ message }) => message)).toEqual([
        expect.stringContaining(`run: chmod o-w ${file}`),
      ]);
      chmodSync(file, 0o644);
      expect(namesOf((await reader.read(1)).settings)).toEqual(['one']);
      chmodSync(file, 0o646);
      const again = (await reader.read(2)).settings;
      expect(namesOf(again)).toEqual(['one']);
      expect(again.problems[0]?.message).toContain('last good content');
    },
  );

  it('is used when only the user’s own group may change it, as with umask 002', async () => {
    const { settings } = await read(chmodded(0o664), 'user').read(0);
    expect([namesOf(settings), settings.problems]).toEqual([['one'], []]);
  });

  // Only root may give a file to a group that it is not in.
  it.runIf(process.getuid?.() === 0)(
    'is used with a warning when another group may change it',
    async () => {
      const file = chmodded(0o664);
      chownSync(file, 0, 12_345);
      const { settings } = await read(file, 'user').read(0);
      expect(namesOf(settings)).toEqual(['one']);
      expect(settings.problems[0]?.message).toContain(`run: chmod g-w ${file}`);
    },
  );

  it('is used when it belongs to a project, whose servers wait for approval', async () => {
    const { settings } = await read(chmodded(0o666), 'project').read(0);
    expect([namesOf(settings), settings.problems]).toEqual([['one'], []]);
  });
});

describe("a project's settings file", () => {
  it('is read through links within the project but not through links out of it', async () => {
    const folder = temporaryFolder();
    const project = path.join(folder, 'project');
    mkdirSync(project);
    writeFileSync(path.join(folder, 'outside.json'), one);
    writeFileSync(path.join(project, 'inside.json'), two);
    symlinkSync('../outside.json', path.join(project, '.mcp.json'));
    symlinkSync('inside.json', path.join(project, 'linked.json'));
    const read = (name: string) => readSettingsFile(path.join(project, name), project);
    expect(await read('.mcp.json')).toEqual({
      message: expect.stringContaining('leads out of the project folder'),
    });
    expect(await read('linked.json')).toMatchObject({ text: two });
  });
});

describe("a project server's folder", () => {
  it('is not checked outside the project', async () => {
    const folder = temporaryFolder();
    symlinkSync('/', path.join(folder, 'out'));
    expect(await checkFolder('/nowhere/at/all', folder)).toBeUndefined();
    expect(await checkFolder(path.join(folder, 'out/nowhere'), folder)).toBeUndefined();
    expect(await checkFolder(path.join(folder, 'gone'), folder)).toBe('missing');
  });
});
