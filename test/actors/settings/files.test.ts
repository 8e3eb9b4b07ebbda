/** The settings source on real files: every way in which programs save them. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
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
import { watchSettingsFiles } from '../../../actors/files/watcher.ts';
import { checkFolder, readSettingsFile } from '../../../actors/settings/file.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { maxSettingsBytes } from '../../../src/settings/settings-bytes.ts';
import { namesOf, serversText, startSettings } from './bench.ts';

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
async function start(
  make: (file: string) => void = (file) => writeFileSync(file, one),
  place = 'settings',
) {
  const root = temporaryFolder();
  const folder = path.join(root, place);
  const file = path.join(folder, 'troupe.json');
  mkdirSync(folder, { recursive: true });
  make(file);

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

  it('is read again after vim saves it', async () => {
    const { file, next } = await start();
    renameSync(file, `${file}~`);
    writeFileSync(file, two);
    unlinkSync(`${file}~`);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when it is emptied and then written', async () => {
    const { file, facts, next } = await start();
    truncateSync(file);
    appendFileSync(file, two.slice(0, 9));
    appendFileSync(file, two.slice(9));
    expect(namesOf(await next())).toEqual(['two']);
    expect(facts).toHaveLength(2);
  });

  it('is read again even if its size and modification time stay the same', async () => {
    const { file, next } = await start();
    const { atime, mtime } = statSync(file);
    writeFileSync(file, serversText({ uno: 'x' }));
    utimesSync(file, atime, mtime);
    expect(namesOf(await next())).toEqual(['uno']);
  });

  it('is read again when it is deleted and restored', async () => {
    const { file, next } = await start();
    unlinkSync(file);
    expect((await next()).problems).toMatchObject([{ file }]);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when its whole folder is deleted and restored', async () => {
    const { file, folder, next } = await start();
    rmSync(folder, { recursive: true });
    expect((await next()).servers).toEqual([]);
    mkdirSync(folder);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
    replace(file, three);
    expect(namesOf(await next())).toEqual(['three']);
  });

  it('is read again when another folder replaces its folder', async () => {
    const { root, folder, next } = await start();
    mkdirSync(path.join(root, 'other'));
    writeFileSync(path.join(root, 'other/troupe.json'), two);
    renameSync(folder, path.join(root, 'old'));
    renameSync(path.join(root, 'other'), folder);
    expect(namesOf(await next())).toEqual(['two']);
  });

  it('is read again when it becomes a link, when the link moves and when its target changes', async () => {
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

  it('emits no fact when it is only touched', async () => {
    const { file, facts, next } = await start();
    writeFileSync(file, `// nothing new\n${one}`);
    replace(file, `${one}\n`);
    writeFileSync(file, two);
    expect(namesOf(await next())).toEqual(['two']);
    expect(facts).toHaveLength(2);
  });

  it('is found when it and its folder are created after the start', async () => {
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

/** Ways to save, as programs do it: each makes the file hold `two`. */
const savings: readonly (readonly [who: string, save: (file: string) => void])[] = [
  [
    'vim, which tests write access, keeps a backup and writes a new file',
    (file) => {
      const trial = path.join(path.dirname(file), '4913');
      writeFileSync(trial, '');
      unlinkSync(trial);
      renameSync(file, `${file}~`);
      writeFileSync(file, two);
      chmodSync(file, 0o644);
      unlinkSync(`${file}~`);
    },
  ],
  [
    'emacs, which locks with a dangling link and keeps the old file',
    (file) => {
      const lock = path.join(path.dirname(file), '.#troupe.json');
      symlinkSync('user@host.123:456', lock);
      renameSync(file, `${file}~`);
      writeFileSync(file, two);
      unlinkSync(lock);
    },
  ],
  [
    'an editor that empties the file and writes it in two steps',
    (file) => {
      truncateSync(file);
      appendFileSync(file, two.slice(0, 12));
      appendFileSync(file, two.slice(12));
    },
  ],
  ['sed -i', (file) => void execFileSync('sed', ['-i', 's/one/two/', file])],
  [
    'git checkout, which deletes and recreates it',
    (file) => {
      unlinkSync(file);
      writeFileSync(file, two);
    },
  ],
  [
    'a program that breaks a hard link',
    (file) => {
      linkSync(file, `${file}.old`);
      unlinkSync(file);
      linkSync(`${file}.old`, `${file}.copy`);
      writeFileSync(`${file}.new`, two);
      renameSync(`${file}.new`, file);
    },
  ],
];

describe('a saved settings file', () => {
  it.each(savings)('is read again once after a save by %s', async (_who, save) => {
    const { file, facts, next } = await start();
    save(file);
    const settings = await next();
    expect(namesOf(settings)).toEqual(['two']);
    expect(settings.problems).toEqual([]);
    expect(facts).toHaveLength(2);
  });
});

describe('a hard-linked settings file', () => {
  // Elsewhere a folder tells of its own names only.
  it.runIf(process.platform === 'linux')(
    'is read again when it is written through the other name',
    async () => {
      const { root, next } = await start((file) => {
        writeFileSync(file, one);
        linkSync(file, path.join(path.dirname(file), '../other.json'));
      });
      writeFileSync(path.join(root, 'other.json'), two);
      expect(namesOf(await next())).toEqual(['two']);
      writeFileSync(path.join(root, 'other.json'), three);
      expect(namesOf(await next())).toEqual(['three']);
    },
  );
});

describe('a settings file behind links', () => {
  it('is read again when ln -sfn swaps the link to its folder', async () => {
    const { folder, next } = await start((file) => {
      const own = path.dirname(file);
      for (const [name, text] of [
        ['first', one],
        ['second', two],
      ] as const) {
        mkdirSync(`${own}.${name}`);
        writeFileSync(path.join(`${own}.${name}`, 'troupe.json'), text);
      }
      rmSync(own, { recursive: true });
      symlinkSync(`${own}.first`, own);
    });
    execFileSync('ln', ['-sfn', `${folder}.second`, folder]);
    expect(namesOf(await next())).toEqual(['two']);
    writeFileSync(path.join(`${folder}.second`, 'troupe.json'), three);
    expect(namesOf(await next())).toEqual(['three']);
  });

  it('is read again whenever Kubernetes swaps the folder behind two links', async () => {
    const put = (folder: string, stamp: string, text: string): void => {
      mkdirSync(path.join(folder, stamp));
      writeFileSync(path.join(folder, stamp, 'troupe.json'), text);
      symlinkSync(stamp, path.join(folder, '..data_tmp'));
      renameSync(path.join(folder, '..data_tmp'), path.join(folder, '..data'));
    };
    const { folder, next } = await start((file) => {
      put(path.dirname(file), '..2026_1', one);
      symlinkSync('..data/troupe.json', file);
    });
    put(folder, '..2026_2', two);
    rmSync(path.join(folder, '..2026_1'), { recursive: true });
    expect(namesOf(await next())).toEqual(['two']);
    put(folder, '..2026_3', three);
    rmSync(path.join(folder, '..2026_2'), { recursive: true });
    expect(namesOf(await next())).toEqual(['three']);
  });

  it('is read again when a dangling link gets a target', async () => {
    const { root, next } = await start((file) => {
      writeFileSync(file, one);
      symlinkSync('../above.json', `${file}.new`);
      renameSync(`${file}.new`, file);
      writeFileSync(path.join(path.dirname(file), '../above.json'), one);
    });
    unlinkSync(path.join(root, 'above.json'));
    expect((await next()).servers).toEqual([]);
    writeFileSync(path.join(root, 'above.json'), two);
    expect(namesOf(await next())).toEqual(['two']);
  });
});

describe('a settings file in a folder that moves', () => {
  // Only inotify can be told to watch the folders above without watching all that is in them.
  it.runIf(process.platform === 'linux')(
    'is read again when a parent folder is replaced',
    async () => {
      const { root, file, next } = await start(undefined, 'x/a/b');
      const other = path.join(root, 'y/a/b');
      mkdirSync(other, { recursive: true });
      writeFileSync(path.join(other, 'troupe.json'), two);
      renameSync(path.join(root, 'x'), path.join(root, 'z'));
      renameSync(path.join(root, 'y'), path.join(root, 'x'));
      expect(namesOf(await next())).toEqual(['two']);
      writeFileSync(file, three);
      expect(namesOf(await next())).toEqual(['three']);
    },
  );

  it('is read again each time the folder is removed and created', async () => {
    const { folder, file, next } = await start();
    for (const [text, name] of [
      [two, 'two'],
      [three, 'three'],
    ] as const) {
      // Within the grace of a deletion, as a checkout does it.
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
      writeFileSync(file, text);
      expect(namesOf(await next())).toEqual([name]);
    }
  });
});

describe('a settings file that becomes invalid', () => {
  it.each<[what: string, make: (file: string) => void]>([
    ['a folder', (file) => mkdirSync(file)],
    ['a named pipe', (file) => void execFileSync(pipeMaker, [file])],
    ['a device', (file) => symlinkSync('/dev/zero', file)],
    ['too large', (file) => writeFileSync(file, one.padEnd(maxSettingsBytes + 1))],
    ['truncated', (file) => writeFileSync(file, one.slice(0, 12))],
    ['filled with zeros', (file) => writeFileSync(file, Buffer.alloc(64))],
    ['a link cycle', (file) => symlinkSync(file, file)],
  ])('keeps its last good content while it is %s, and recovers', async (_what, make) => {
    const { file, next } = await start();
    rmSync(file);
    make(file);
    const broken = await next();
    expect(namesOf(broken)).toEqual(['one']);
    expect(broken.problems).toMatchObject([{ file }]);

    rmSync(file, { recursive: true });
    writeFileSync(file, two);
    const fixed = await next();
    expect(namesOf(fixed)).toEqual(['two']);
    expect(fixed.problems).toEqual([]);
  });

  // Root may read everything.
  it.skipIf(process.getuid?.() === 0)(
    'keeps its last good content while unreadable, and recovers',
    async () => {
      const { file, next } = await start();
      chmodSync(file, 0);
      expect((await next()).problems).toMatchObject([
        { message: expect.stringContaining('EACCES') },
      ]);
      writeFileSync(`${file}.new`, two);
      renameSync(`${file}.new`, file);
      expect(namesOf(await next())).toEqual(['two']);
    },
  );
});

describe('a stopped watch', () => {
  it.runIf(process.platform === 'linux')('closes every file system watch', async () => {
    const watchesOf = (fd: string): number => {
      const lines = readFileSync(path.join('/proc/self/fdinfo', fd), 'utf8').split('\n');
      return lines.filter((line) => line.startsWith('inotify wd')).length;
    };
    const isInotify = (fd: string): boolean => {
      try {
        return readlinkSync(path.join('/proc/self/fd', fd)) === 'anon_inode:inotify';
      } catch {
        return false;
      }
    };
    const watchCount = (): number =>
      readdirSync('/proc/self/fd')
        .filter(isInotify)
        .reduce((sum, fd) => sum + watchesOf(fd), 0);
    const before = watchCount();
    const { stop } = await start();
    expect(watchCount()).toBeGreaterThan(before);
    stop();
    expect(watchCount()).toBe(before);
  });
});

describe('reading a settings file', () => {
  it('returns its content', async () => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    writeFileSync(file, '\ufeff{ "é": "日本" }');
    expect(await readSettingsFile(file)).toEqual({ text: '\ufeff{ "é": "日本" }' });
  });

  it('distinguishes a missing file from one that cannot be read', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'file'), '');
    expect(await readSettingsFile(path.join(folder, 'gone'))).toEqual({ missing: true });
    expect(await readSettingsFile(path.join(folder, 'file/below'))).toEqual({ missing: true });
    expect(await readSettingsFile('\0')).toEqual({
      message: expect.stringContaining('cannot be read'),
    });
  });

  it('rejects a folder, a named pipe and a device without blocking', async () => {
    const folder = temporaryFolder();
    execFileSync(pipeMaker, [path.join(folder, 'pipe')]);
    for (const file of [folder, path.join(folder, 'pipe'), '/dev/zero'])
      expect(await readSettingsFile(file)).toEqual({
        message: expect.stringContaining('put a settings file in its place'),
      });
  });

  it('stops following link cycles where the operating system does', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    symlinkSync(file, path.join(folder, 'other.json'));
    symlinkSync(path.join(folder, 'other.json'), file);
    expect(await readSettingsFile(file)).toEqual({ message: expect.stringContaining('ELOOP') });
  });

  it('accepts the maximum size, and names both sizes of a larger file', async () => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    writeFileSync(file, '{}'.padEnd(maxSettingsBytes));
    expect(await readSettingsFile(file)).toHaveProperty('text');
    appendFileSync(file, '     ');
    expect(await readSettingsFile(file)).toEqual({
      message:
        'the settings are longer than 8000000 bytes (they have 8000005); split them into several files, and name each with --config or in "sources"',
    });
  });
});

describe("checking a server's folder", () => {
  it('distinguishes a file, an unreachable folder and a missing one', async () => {
    const folder = temporaryFolder();
    const circle = path.join(folder, 'circle');
    symlinkSync(circle, circle);
    writeFileSync(path.join(folder, 'file'), '');
    expect(await checkFolder(folder)).toBeUndefined();
    expect(await checkFolder(path.join(folder, 'file'))).toBe('notFolder');
    expect(await checkFolder(path.join(folder, 'gone'))).toBe('missing');
    expect(await checkFolder(path.join(folder, 'file/below'))).toBe('missing');
    expect(await checkFolder(circle)).toBe('unreachable');
    expect(await checkFolder('\0')).toBe('unreachable');
  });
});
