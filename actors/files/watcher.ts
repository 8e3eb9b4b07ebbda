/**
 * Says that a settings file may have changed.
 *
 * Not the file is watched but the folders that decide what is found at its
 * path: its own, those of the links on the way, and the one in which a part of
 * the path is missing. A watch on a file ends with the first editor that saves
 * by renaming. Each event makes the way be looked at again, for it may lead
 * elsewhere now. What cannot be watched is looked at once a second instead.
 *
 * Reports too much rather than too little; whether anything changed is for the
 * reader to find out. After it was stopped it reports nothing.
 */

import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from './error-code.ts';
import { isWithin } from './way-within.ts';

export interface WatchListener {
  changed(): void;
  /** Watching goes on, but slower; one sentence says why and what would help. Undefined: as fast as before. */
  slowed(message: string | undefined): void;
}

/** For each absolute path of a file, the real path of the folder that its links must not leave. */
export type Confines = ReadonlyMap<string, string>;

/** Watches files until the returned function is called. Never throws. */
export type WatchFiles = (
  files: readonly string[],
  listener: WatchListener,
  confines?: Confines,
) => () => void;

/** One name in one folder on the way to a file. */
interface Hop {
  readonly folder: string;
  readonly name: string;
  /** Without a watch here an edit goes unseen; elsewhere only the loss of a whole branch does. */
  readonly isNeeded: boolean;
}

interface FolderWatch {
  readonly watcher: FSWatcher;
  /** The files whose way leads through each name. */
  readonly names: Map<string, Set<string>>;
}

// Once a second: an edit is seen within two, and a look costs microseconds.
const pollIntervalMs = 1_000;

// Once a minute: whoever used all watches up may have ended, and a try costs a few system calls.
const retryMs = 60_000;

// As many links as Linux follows.
const maxLinks = 40;

// A folder that comes and goes between our looking and our watching is there or gone by then.
const maxTries = 5;

// With inotify a watch of a folder costs a kilobyte, hears of nothing below it and hinders
// nobody, so that all folders up to the root may be watched. Elsewhere none of this holds,
// and the names in events may differ from those in paths.
const isInotify = process.platform === 'linux';

const usedUpCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EMFILE', 'ENFILE']);

export const watchSettingsFiles: WatchFiles = (files, listener, confines) =>
  watchFilesWith(watch, files, listener, retryMs, confines);

/** The same with another way to watch a folder, and another wait before that is tried again. */
export function watchFilesWith(
  watchFolder: typeof watch,
  files: readonly string[],
  listener: WatchListener,
  triesAgainAfterMs = retryMs,
  confines: Confines = new Map(),
): () => void {
  const paths = files.map((file) => path.resolve(file));
  const watcher = new FilesWatcher({ watchFolder, triesAgainAfterMs, confines }, paths, listener);
  watcher.look(paths);
  return () => {
    watcher.stop();
  };
}

interface WatchWay {
  readonly watchFolder: typeof watch;
  readonly triesAgainAfterMs: number;
  readonly confines: Confines;
}

class FilesWatcher {
  readonly #way: WatchWay;
  readonly #files: readonly string[];
  readonly #listener: WatchListener;
  readonly #watches = new Map<string, FolderWatch>();
  readonly #routes = new Map<string, readonly Hop[]>();
  readonly #polled = new Set<string>();
  /** Files whose way has to be looked at, and how often that was in vain. */
  #due = new Map<string, number>();
  #isLooking = false;
  #isUsedUp = false;
  #isStopped = false;
  #isSlow = false;
  #retry: NodeJS.Timeout | undefined;
  readonly #changed = (): void => {
    if (!this.#isStopped) this.#listener.changed();
  };

  constructor(way: WatchWay, files: readonly string[], listener: WatchListener) {
    this.#way = way;
    this.#files = files;
    this.#listener = listener;
  }

  look(files: Iterable<string>): void {
    for (const file of files) this.#due.set(file, 0);
    void this.#lookAtDue();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    this.#close([...this.#watches.keys()]);
    for (const file of this.#polled) unwatchFile(file, this.#changed);
  }

  async #lookAtDue(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let isNew = false;
    while (this.#due.size > 0) {
      const due = this.#due;
      this.#due = new Map();
      for (const [file, tries] of due) {
        const hops = await routeTo(file, this.#way.confines.get(file));
        if (this.#isStopped || this.#isUsedUp) return;
        if (this.#follow(file, hops, tries)) isNew = true;
      }
    }
    this.#isLooking = false;
    this.#noteSpeed();
    // Edits made before the watch stood are found by one more look.
    if (isNew) this.#changed();
  }

  /** Watches this way in place of the last one. True when something was not watched before. */
  #follow(file: string, hops: readonly Hop[], tries: number): boolean {
    const before = this.#routes.get(file) ?? [];
    this.#routes.set(file, hops);
    this.#leave(file, before);
    const opened = hops.map((hop) => this.#enter(file, hop));
    if (this.#isUsedUp) return true;
    this.#close(before.map(({ folder }) => folder).filter((folder) => this.#isUnused(folder)));
    const isNew = opened.includes('new');
    // A folder may have come, gone or taken the place of another since we looked at the way.
    const mayDiffer = (isNew && tries === 0) || opened.includes('gone');
    if (mayDiffer && tries < maxTries) this.#due.set(file, tries + 1);
    if (hops.some(({ isNeeded }, index) => isNeeded && opened[index] === 'closed')) {
      this.#poll(file);
    } else if (this.#polled.delete(file)) unwatchFile(file, this.#changed);
    return isNew;
  }

  /** Has a file told of what happens to one name on its way. */
  #enter(file: string, { folder, name }: Hop): 'watched' | 'new' | 'gone' | 'closed' {
    const code = this.#watches.has(folder) ? 'watched' : this.#open(folder);
    const names = this.#watches.get(folder)?.names;
    names?.set(name, (names.get(name) ?? new Set()).add(file));
    if (code === 'watched') return code;
    if (code === undefined) return 'new';
    if (usedUpCodes.has(code)) this.#fallBack(code);
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : 'closed';
  }

  #leave(file: string, hops: readonly Hop[]): void {
    for (const { folder, name } of hops) {
      const names = this.#watches.get(folder)?.names;
      const others = names?.get(name);
      others?.delete(file);
      if (others?.size === 0) names?.delete(name);
    }
  }

  /** Watches a folder; gives the code of what went wrong. */
  #open(folder: string): string | undefined {
    if (this.#isUsedUp) return 'EMFILE';
    try {
      const watcher = this.#way.watchFolder(folder, { persistent: false }, (event, name) => {
        this.#hear(folder, event, name);
      });
      const own: FolderWatch = { watcher, names: new Map() };
      this.#watches.set(folder, own);
      watcher.on('error', (error) => {
        if (this.#watches.get(folder) !== own) return;
        if (usedUpCodes.has(codeOf(error))) this.#fallBack(codeOf(error));
        else this.#lose(folder);
      });
      return undefined;
    } catch (error) {
      return codeOf(error);
    }
  }

  #hear(folder: string, event: string, name: string | null): void {
    const names = this.#watches.get(folder)?.names;
    if (this.#isStopped || names === undefined) return;
    const files = isInotify && name !== null ? names.get(name) : everyFile(names);
    // A folder tells of its own end under its own name.
    const isOwnEnd = event === 'rename' && (name === null || name === path.basename(folder));
    if (isOwnEnd) this.#lose(folder);
    if (files === undefined) return;
    // Another folder may have the place of this one, and the old watch would stay with the old.
    if (event === 'rename' && name !== null) this.#closeBelow(path.join(folder, name));
    this.#changed();
    this.look(files);
  }

  #lose(folder: string): void {
    const files = everyFile(this.#watches.get(folder)?.names ?? new Map());
    this.#close([folder]);
    this.#changed();
    this.look(files);
  }

  #closeBelow(place: string): void {
    this.#close(
      [...this.#watches.keys()].filter(
        (folder) => folder === place || folder.startsWith(place + path.sep),
      ),
    );
  }

  #isUnused(folder: string): boolean {
    return this.#watches.get(folder)?.names.size === 0;
  }

  #close(folders: readonly string[]): void {
    for (const folder of folders) {
      this.#watches.get(folder)?.watcher.close();
      this.#watches.delete(folder);
    }
  }

  #poll(file: string): void {
    if (this.#polled.has(file)) return;
    this.#polled.add(file);
    watchFile(file, { interval: pollIntervalMs, persistent: false }, this.#changed);
    // What happened between the last watch and the first look.
    this.#changed();
  }

  #noteSpeed(): void {
    if (!this.#isSlow || this.#isUsedUp) return;
    this.#isSlow = false;
    this.#listener.slowed(undefined);
  }

  #tryAgain(): void {
    this.#isUsedUp = false;
    // The look that found all watches used up ended there.
    this.#isLooking = false;
    this.look(this.#files);
  }

  #fallBack(code: string): void {
    if (this.#isUsedUp) return;
    this.#isUsedUp = true;
    this.#retry = setTimeout(() => this.#tryAgain(), this.#way.triesAgainAfterMs).unref();
    this.#close([...this.#watches.keys()]);
    for (const file of this.#files) this.#poll(file);
    if (this.#isSlow) return;
    this.#isSlow = true;
    this.#listener.slowed(
      `settings are looked at once a second because they cannot be watched (${code}); raise fs.inotify.max_user_watches and max_user_instances`,
    );
  }
}

function everyFile(names: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  return new Set([...names.values()].flatMap((files) => [...files]));
}

/**
 * Lists the folders, and the names in them, that decide what a path leads to, as far as it exists
 * and stays within a folder.
 */
async function routeTo(file: string, within: string | undefined): Promise<readonly Hop[]> {
  const hops: Hop[] = [];
  let { root: folder } = path.parse(file);
  let rest = partsOf(file.slice(folder.length));
  let linkCount = 0;
  for (;;) {
    const [name, ...more] = rest;
    // Outside the folder nothing is even looked up: a cloned repository's link may name a network folder.
    if (name === undefined || isBeside(path.join(folder, name), within)) return hops;
    rest = more;
    if (name === '..') {
      folder = path.dirname(folder);
      continue;
    }
    const place = path.join(folder, name);
    const found = await lookAt(place);
    const isEnd = found === undefined || (found.target === undefined && rest.length === 0);
    const isNeeded = isEnd || found.target !== undefined;
    if (isNeeded || isInotify) hops.push({ folder, name, isNeeded });
    // Written under another name it is no news in this folder; a file tells of itself as a folder does.
    if (found?.hasOtherNames === true) hops.push({ folder: place, name, isNeeded: false });
    if (isEnd) return hops;
    if (found.target === undefined) {
      folder = place;
      continue;
    }
    linkCount += 1;
    if (linkCount > maxLinks) return hops;
    const { root } = path.parse(found.target);
    folder = path.resolve(folder, root);
    rest = [...partsOf(found.target.slice(root.length)), ...rest];
  }
}

function isBeside(place: string, folder: string | undefined): boolean {
  return folder !== undefined && !isWithin(place, folder) && !isWithin(folder, place);
}

function partsOf(route: string): string[] {
  const parts = path.sep === '/' ? route.split('/') : route.split(/[\\/]/u);
  return parts.filter((part) => part !== '' && part !== '.');
}

interface Found {
  /** Of a link. */
  readonly target?: string;
  /** It is a file with several hard links. */
  readonly hasOtherNames: boolean;
}

/** What is there; undefined: nothing that we may see. */
async function lookAt(place: string): Promise<Found | undefined> {
  try {
    const found = await lstat(place);
    if (found.isSymbolicLink()) return { target: await readlink(place), hasOtherNames: false };
    return { hasOtherNames: found.isFile() && found.nlink > 1 };
  } catch {
    return undefined;
  }
}
