/** The settings source on real files: every way in which programs save them. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readSettingsFile } from '../../actors/settings-file.ts';
import { watchSettingsFiles } from '../../actors/settings-watcher.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import { namesOf, serversText, startSettings } from './settings-bench.ts';

const pipeMaker = 'mkfifo';

const one = serversText({ one: 'x' });
const two = serversText({ two: 'x' });
const three = serversText({ three: 'x' });

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-settings-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A watched file in a folder of its own, two levels below a temporary one. */
async function start() {
  const root = temporaryFolder();
  const folder = path.join(root, 'settings');
  const file = path.join(folder, 'troupe.json');
  mkdirSync(folder);
  writeFileSync(file, one);

  // The first signal is the watch itself: only from then on are edits its business.
  let begin = (): void => {};
  const watching = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const bench = startSettings({
    files: [{ file, scope: 'config' }],
    projectRoot: root,
    clock: realClock,
    watch: (files, listener) =>
      watchSettingsFiles(files, {
        ...listener,
        changed: () => {
          begin();
          listener.changed();
        },
        // Whether this machine has watches left is not what is asked here.
        slowed: () => {},
      }),
  });
  onTestFinished(() => bench.stop());
  expect(namesOf(await bench.next())).toEqual(['one']);
  await watching;
  return { ...bench, root, folder, file };
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

describe('a watched settings file', () => {
  it('is read again after an edit in place', async () => {
    const { file, next } = await start();
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again after every save by renaming', async () => {
    const { file, next } = await start();
    replace(file, two);
    expect(namesOf(await next())).toEqual(['two']);
    replace(file, three);
    expect(namesOf(await next())).toEqual(['three']);
    writeFileSync(file, one);
    expect(namesOf(await next())).toEqual(['one']);
  });

  it('is read again after a save as vim does it', async () => {
    const { file, next } = await start();
    renameSync(file, `${file}~`);
    writeFileSync(file, two);
    unlinkSync(`${file}~`);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when it was emptied and then written', async () => {
    const { file, facts, next } = await start();
    truncateSync(file);
    appendFileSync(file, two.slice(0, 9));
    appendFileSync(file, two.slice(9));
    expect(namesOf(await next())).toEqual(['two']);
    expect(facts).toHaveLength(2);
  });

  it('is read again although its size and time stayed the same', async () => {
    const { file, next } = await start();
    const { atime, mtime } = statSync(file);
    writeFileSync(file, serversText({ uno: 'x' }));
    utimesSync(file, atime, mtime);
    expect(namesOf(await next())).toEqual(['uno']);
  });

  it('is read again when it was deleted and came back', async () => {
    const { file, next } = await start();
    unlinkSync(file);
    expect((await next()).problems).toMatchObject([{ file }]);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when its whole folder was deleted and came back', async () => {
    const { file, folder, next } = await start();
    rmSync(folder, { recursive: true });
    expect((await next()).servers).toEqual([]);
    mkdirSync(folder);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
    replace(file, three);
    expect(namesOf(await next())).toEqual(['three']);
  });

  it('is read again when another folder took the place of its own', async () => {
    const { root, folder, next } = await start();
    mkdirSync(path.join(root, 'other'));
    writeFileSync(path.join(root, 'other/troupe.json'), two);
    renameSync(folder, path.join(root, 'old'));
    renameSync(path.join(root, 'other'), folder);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when it became a link, the link moved, and its target changed', async () => {
    const { root, file, next } = await start();
    const [first, second] = [path.join(root, 'first.json'), path.join(root, 'second.json')];
    writeFileSync(first, two);
    writeFileSync(second, three);
    symlinkSync(first, `${file}.new`);
    renameSync(`${file}.new`, file);
    expect(namesOf(await next())).toEqual(['two']);

    symlinkSync(second, `${file}.new`);
    renameSync(`${file}.new`, file);
    expect(namesOf(await next())).toEqual(['three']);

    replace(second, one);
    expect(namesOf(await next())).toEqual(['one']);
  });

  it('is not spoken of when it was only touched', async () => {
    const { file, facts, next } = await start();
    writeFileSync(file, `// nothing new\n${one}`);
    replace(file, `${one}\n`);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
    expect(facts).toHaveLength(2);
  });

  it('is found when it is created after the start, its folder too', async () => {
    const root = temporaryFolder();
    const file = path.join(root, 'later/.mcp.json');
    const bench = startSettings({
      files: [{ file, scope: 'project', optional: true }],
      projectRoot: root,
      clock: realClock,
      watch: (files, listener) => watchSettingsFiles(files, { ...listener, slowed: () => {} }),
    });
    onTestFinished(() => bench.stop());
    expect((await bench.next()).problems).toEqual([]);
    mkdirSync(path.dirname(file));
    writeFileSync(file, one);
    const settings = await bench.next();
    expect(namesOf(settings)).toEqual(['one']);
    expect(settings.servers[0]?.gated).toBe(true);
  });
});

describe('reading a settings file', () => {
  it('gives its text', async () => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    writeFileSync(file, '\ufeff{ "é": "日本" }');
    expect(await readSettingsFile(file)).toEqual({ text: '\ufeff{ "é": "日本" }' });
  });

  it('tells a missing file and a file for a folder from one that cannot be read', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'file'), '');
    expect(await readSettingsFile(path.join(folder, 'gone'))).toEqual({ missing: true });
    expect(await readSettingsFile(path.join(folder, 'file/below'))).toEqual({ missing: true });
    expect(await readSettingsFile('\0')).toEqual({
      message: expect.stringContaining('cannot be read'),
    });
  });

  it('refuses a folder, a named pipe and a device without waiting for them', async () => {
    const folder = temporaryFolder();
    execFileSync(pipeMaker, [path.join(folder, 'pipe')]);
    for (const file of [folder, path.join(folder, 'pipe'), '/dev/zero'])
      expect(await readSettingsFile(file)).toEqual({
        message: expect.stringContaining('put a settings file in its place'),
      });
  });

  it('follows a circle of links no further than the system does', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    symlinkSync(file, path.join(folder, 'other.json'));
    symlinkSync(path.join(folder, 'other.json'), file);
    expect(await readSettingsFile(file)).toEqual({ message: expect.stringContaining('ELOOP') });
  });

  it('stops at a megabyte', async () => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    writeFileSync(file, '{}'.padEnd(1_000_000));
    expect(await readSettingsFile(file)).toHaveProperty('text');
    appendFileSync(file, ' ');
    expect(await readSettingsFile(file)).toEqual({ message: expect.stringContaining('split') });
  });
});
