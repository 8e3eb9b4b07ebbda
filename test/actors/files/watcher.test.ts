/** Folders that cannot be watched, and many of them. Ordinary edits are tested in settings/files.test.ts. */

import { spawn, spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import {
  type FSWatcher,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { describe, expect, it, onTestFinished } from 'vitest';

import { watchSettingsFiles } from '../../../actors/files/watcher.ts';
import { compiledProgram } from '../../support/compiled-program.ts';

type WatchFolder = typeof watch;
type Hear = (event: string, name: string | null) => void;

/** A watch of a folder whose events come from the test. */
class ScriptedWatcher extends EventEmitter {
  readonly folder: string;
  readonly hear: Hear;
  isClosed = false;

  constructor(folder: string, hear: Hear) {
    super();
    this.folder = folder;
    this.hear = hear;
  }

  close(): void {
    this.isClosed = true;
  }
}

const refused = (code: string): Error => Object.assign(new Error('refused'), { code });

function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-watch-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts watching; `refusal` returns the error code with which watching a folder fails. */
function start(
  filesIn: (root: string) => readonly string[],
  refusal: (folder: string, root: string) => string | undefined = () => undefined,
  retryMs?: number,
) {
  const root = temporaryFolder();
  const files = filesIn(root);
  const watchers: ScriptedWatcher[] = [];
  const messages: (string | undefined)[] = [];
  let changeCount = 0;
  let said = (): void => {};
  const watchFolder = (folder: string, _options: unknown, hear: Hear): ScriptedWatcher => {
    const code = refusal(folder, root);
    if (code !== undefined) throw refused(code);
    const watcher = new ScriptedWatcher(folder, hear);
    watchers.push(watcher);
    return watcher;
  };
  const listener = {
    changed: () => {
      changeCount += 1;
      said();
    },
    slowed: (message: string | undefined) => {
      messages.push(message);
      said();
    },
  };
  const stop = watchSettingsFiles(files, listener, {
    watchFolder: watchFolder as unknown as WatchFolder,
    ...(retryMs !== undefined && { retryMs }),
  });
  onTestFinished(stop);
  return {
    root,
    files,
    messages,
    stop,
    changeCount: () => changeCount,
    open: () => watchers.filter(({ isClosed }) => !isClosed),
    openIn: (folder: string) => watchers.find((one) => one.folder === folder && !one.isClosed),
    news: () =>
      new Promise<void>((resolve) => {
        said = resolve;
      }),
  };
}

const oneFile = (root: string): readonly string[] => [path.join(root, 'troupe.json')];

describe.each(['ENOSPC', 'EMFILE'])('a settings watch that fails with %s', (code) => {
  it('reports the failure once, closes all watches and still detects edits', async () => {
    const bench = start(oneFile, (folder, root) => (folder === root ? code : undefined));
    while (bench.messages.length === 0) await bench.news();
    expect(bench.messages).toEqual([expect.stringContaining(code)]);
    expect(bench.open()).toEqual([]);

    // The first poll finds no file and reports that.
    await bench.news();
    const edit = bench.news();
    writeFileSync(bench.files[0] ?? '', '{}');
    await edit;
    expect(bench.messages).toHaveLength(1);
  });

  it('reports a later failure too', async () => {
    const bench = start(oneFile);
    await bench.news();
    bench.openIn(bench.root)?.emit('error', refused(code));
    expect(bench.messages).toEqual([expect.stringContaining(code)]);
    expect(bench.open()).toEqual([]);
  });

  it('resumes watching once possible and reports it', async () => {
    let isRefused = true;
    const bench = start(oneFile, () => (isRefused ? code : undefined), 1);
    while (bench.messages.length === 0) await bench.news();
    isRefused = false;
    while (bench.messages.length < 2) await bench.news();
    expect(bench.messages).toEqual([expect.stringContaining(code), undefined]);
    expect(bench.openIn(bench.root)).toBeDefined();
    const before = bench.changeCount();
    bench.openIn(bench.root)?.hear('change', 'troupe.json');
    expect(bench.changeCount()).toBe(before + 1);
  });

  it('reports nothing once it is stopped', async () => {
    const bench = start(oneFile, () => code);
    bench.stop();
    await new Promise((resolve) => setImmediate(resolve));
    expect(bench.messages).toEqual([]);
    expect(bench.open()).toEqual([]);
  });
});

describe('a settings watch', () => {
  it('polls a file in an unwatchable folder without reporting it', async () => {
    const bench = start(oneFile, (folder, root) => (folder === root ? 'EACCES' : undefined));
    // The poll has begun, the update is done, and the first poll finds no file.
    for (let count = 0; count < 3; count += 1) await bench.news();
    const edit = bench.news();
    writeFileSync(bench.files[0] ?? '', '{}');
    await edit;
    expect(bench.messages).toEqual([]);
  });

  it('works without watches on parent folders', async () => {
    const bench = start(oneFile, (folder, root) => (folder === root ? undefined : 'EACCES'));
    await bench.news();
    expect(bench.open().map(({ folder }) => folder)).toEqual([bench.root]);
  });

  it('replaces a watch that fails', async () => {
    const bench = start(oneFile);
    await bench.news();
    const lost = bench.openIn(bench.root);
    lost?.emit('error', refused('EPERM'));
    while (bench.openIn(bench.root) === undefined) await bench.news();
    expect(lost?.isClosed).toBe(true);
    expect(bench.messages).toEqual([]);
  });

  it('treats an event without a file name as a change to every file', async () => {
    const bench = start(oneFile);
    await bench.news();
    const before = bench.changeCount();
    bench.openIn(bench.root)?.hear('change', null);
    expect(bench.changeCount()).toBe(before + 1);
  });

  it('uses one watch per folder for a thousand files', async () => {
    const bench = start((root) =>
      Array.from({ length: 1_000 }, (_, index) => {
        const folder = path.join(root, `folder${index % 10}`);
        mkdirSync(folder, { recursive: true });
        return path.join(folder, `${index}.json`);
      }),
    );
    await bench.news();
    const own = bench.open().filter(({ folder }) => folder.startsWith(bench.root));
    expect(own).toHaveLength(11);
    bench.stop();
    expect(bench.open()).toEqual([]);
  });

  it('ignores other files in the same folder', async () => {
    const root = temporaryFolder();
    const file = path.join(root, 'troupe.json');
    let changeCount = 0;
    let said = (): void => {};
    const heard = (): Promise<void> =>
      new Promise((resolve) => {
        said = resolve;
      });
    let sawOther = (): void => {};
    const otherSeen = new Promise<void>((resolve) => {
      sawOther = resolve;
    });
    const watchFolder = ((folder: string, options: object, hear: Hear): FSWatcher =>
      watch(folder, options, (event, name) => {
        hear(event, name);
        if (name === 'other.json') sawOther();
      })) as unknown as WatchFolder;
    const stop = watchSettingsFiles(
      [file],
      {
        changed: () => {
          changeCount += 1;
          said();
        },
        slowed: () => {},
      },
      { watchFolder },
    );
    onTestFinished(stop);
    await heard();
    writeFileSync(path.join(root, 'other.json'), '{}');
    await otherSeen;
    expect(changeCount).toBe(1);
    const edit = heard();
    renameSync(path.join(root, 'other.json'), file);
    await edit;
  });
});

// The limit applies to one user namespace, so other programs keep their watches.
const limitFile = '/proc/sys/user/max_inotify_instances';
const mayTakeAway =
  process.platform === 'linux' &&
  spawnSync('unshare', ['-Ur', 'sh', '-c', `echo 0 > ${limitFile}`]).status === 0;

describe.runIf(mayTakeAway)('a settings watch on a system that has run out of watches', () => {
  const program = compiledProgram('test/fixtures/hosts/watching-host.ts');

  it('polls, reports it and resumes watching once watches are available', async () => {
    const file = path.join(temporaryFolder(), 'troupe.json');
    const script = `echo 0 > ${limitFile} && exec "$0" "$@"`;
    const words = [process.execPath, ...program.words, file, limitFile];
    const host = spawn('unshare', ['-Ur', 'sh', '-c', script, ...words], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void host.kill());
    const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
    const heard = async (word: string): Promise<string> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`It ended before it said "${word}".`);
        if (value.startsWith(word)) return value;
      }
    };
    expect(await heard('slow')).toContain('(EMFILE)');
    // Reported before the edit.
    await heard('changed');
    writeFileSync(file, '{}');
    await heard('changed');
    host.stdin.write('free\n');
    await heard('fast');
    await heard('changed');
    writeFileSync(file, '{ }');
    await heard('changed');
    host.stdin.end();
    await heard('over');
  });
});
