/**
 * Reports that a settings file may have changed.
 *
 * It watches folders rather than files, because a watch on a file ends with the first editor that
 * saves by renaming. The folders are the file's own, those of the links on its path, and the one in
 * which part of the path is missing. Each event resolves the paths again, since they may now lead
 * elsewhere. A file whose folder cannot be watched is polled once a second.
 *
 * The watcher may report changes that did not happen; readers compare contents. It reports nothing
 * once it is stopped.
 */

import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import { codeOf } from './file-system.ts';
import { isWithin, maxLinks, partsOf } from './path-within.ts';

export interface WatchListener {
  changed(): void;
  /**
   * Called with the reason and the remedy when watching falls back to polling, and with undefined
   * when polling ends.
   */
  slowed(message: string | undefined): void;
}

export interface WatchOptions {
  /**
   * Maps each file's absolute path to the real path of the folder that its links must not leave.
   */
  readonly confines?: ReadonlyMap<string, string>;
  /** Default: Node's `watch`. */
  readonly watchFolder?: typeof watch;
  /** Delay before folders are watched again after the system ran out of watches. */
  readonly retryMs?: number;
}

/** Watches files until the returned function is called. Never throws. */
export type WatchFiles = (
  files: readonly string[],
  listener: WatchListener,
  scope?: Pick<WatchOptions, 'confines'>,
) => () => void;

/** A name to watch for in one folder on the path to a file. */
interface Hop {
  readonly folder: string;
  readonly name: string;
  /**
   * Whether edits would be missed without a watch here; in other places, only a replaced branch
   * would be.
   */
  readonly isNeeded: boolean;
}

// Once a second: an edit is noticed within two seconds, and a poll costs microseconds.
const pollIntervalMs = 1_000;

// Once a minute: the program that used up all watches may have ended, and an attempt costs a few
// system calls.
const defaultRetryMs = 60_000;

// Folders may change between resolving a path and watching it; they settle within five attempts.
const maxAttempts = 5;

// With inotify, a watch on a folder costs a kilobyte, reports nothing below the folder and blocks
// no other program, so all folders up to the root can be watched. On other systems none of this
// holds, and the names in events may differ from those in paths.
const isInotify = process.platform === 'linux';

const exhaustedCodes: ReadonlySet<string> = new Set(['ENOSPC', 'EMFILE', 'ENFILE']);

export function watchSettingsFiles(
  files: readonly string[],
  listener: WatchListener,
  options: WatchOptions = {},
): () => void {
  const watcher = new FilesWatcher(
    files.map((file) => path.resolve(file)),
    listener,
    options,
  );
  void watcher.update();
  return () => watcher.stop();
}

class FilesWatcher {
  readonly #files: readonly string[];
  /** Absent once the watcher is stopped. */
  #listener: WatchListener | undefined;
  readonly #options: WatchOptions;
  readonly #watches = new Map<string, FSWatcher>();
  readonly #polled = new Set<string>();
  /** The names to watch in each folder on the paths to the files. */
  #names = new Map<string, Set<string>>();
  /** How often the paths had to be resolved since the current update began; 0 if there is none. */
  #updateCount = 0;
  /** The reported reason for polling. */
  #slowness: string | undefined;
  /** Set while the system has no watches left. */
  #retry: NodeJS.Timeout | undefined;
  readonly #changed = (): void => this.#listener?.changed();

  constructor(files: readonly string[], listener: WatchListener, options: WatchOptions) {
    this.#files = files;
    this.#listener = listener;
    this.#options = options;
  }

  /** Resolves all paths and watches the folders that they currently lead through. */
  async update(): Promise<void> {
    this.#updateCount += 1;
    // The update that is under way begins again.
    if (this.#updateCount > 1) return;
    let hasNew = false;
    let attempt = 0;
    for (let seen = 0; seen !== this.#updateCount; ) {
      seen = this.#updateCount;
      attempt += 1;
      const { confines } = this.#options;
      const paths = await Promise.all(this.#files.map((file) => hopsTo(file, confines?.get(file))));
      if (this.#listener === undefined) return;
      if (!this.#watchAll(paths)) continue;
      hasNew = true;
      // A folder may have been created, removed or replaced since its path was resolved.
      if (attempt < maxAttempts) this.#updateCount += 1;
    }
    this.#updateCount = 0;
    if (this.#retry !== undefined) return;
    if (this.#slowness !== undefined) this.#listener?.slowed(undefined);
    this.#slowness = undefined;
    // Another read finds edits made before the folders were watched.
    if (hasNew) this.#changed();
  }

  stop(): void {
    this.#listener = undefined;
    clearTimeout(this.#retry);
    this.#closeWhere(() => true);
    for (const file of this.#polled) unwatchFile(file, this.#changed);
  }

  /**
   * Watches these paths instead of the previous ones; returns whether any folder is new to the
   * watch.
   */
  #watchAll(paths: readonly (readonly Hop[])[]): boolean {
    this.#names = new Map();
    for (const { folder, name } of paths.flat())
      this.#names.set(folder, (this.#names.get(folder) ?? new Set()).add(name));
    this.#closeWhere((folder) => !this.#names.has(folder));
    const unwatched = [...this.#names.keys()].filter((folder) => !this.#watches.has(folder));
    const codes = new Map(unwatched.map((folder) => [folder, this.#open(folder)]));
    if (this.#retry !== undefined) return false;
    const isClosed = ({ folder, isNeeded }: Hop): boolean =>
      isNeeded && !['opened', 'gone'].includes(codes.get(folder) ?? 'opened');
    for (const [index, file] of this.#files.entries()) {
      if (paths[index]?.some(isClosed)) this.#poll(file);
      else if (this.#polled.delete(file)) unwatchFile(file, this.#changed);
    }
    return [...codes.values()].some((code) => code === 'opened' || code === 'gone');
  }

  #open(folder: string): 'opened' | 'gone' | 'closed' {
    if (this.#retry !== undefined) return 'closed';
    const { watchFolder = watch } = this.#options;
    try {
      const watcher = watchFolder(folder, { persistent: false }, (event, name) =>
        this.#onEvent(folder, event, name),
      );
      this.#watches.set(folder, watcher);
      watcher.on('error', (error) => {
        if (this.#watches.get(folder) !== watcher) return;
        if (exhaustedCodes.has(codeOf(error))) this.#pollAll(codeOf(error));
        else this.#lose((place) => place === folder);
      });
      return 'opened';
    } catch (error) {
      const code = codeOf(error);
      if (exhaustedCodes.has(code)) this.#pollAll(code);
      return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : 'closed';
    }
  }

  #onEvent(folder: string, event: string, name: string | null): void {
    if (this.#listener === undefined || !this.#watches.has(folder)) return;
    // A folder reports its own removal under its own name.
    const isOwnEnd = event === 'rename' && (name === null || name === path.basename(folder));
    const isOnPath = !isInotify || name === null || this.#names.get(folder)?.has(name) === true;
    if (!isOwnEnd && !isOnPath) return;
    // Another folder may have replaced this one, and the old watch would stay on the old folder.
    const replaced = event === 'rename' && name !== null ? path.join(folder, name) : undefined;
    this.#lose(
      (place) =>
        (isOwnEnd && place === folder) || (replaced !== undefined && isWithin(place, replaced)),
    );
  }

  #lose(isLost: (folder: string) => boolean): void {
    this.#closeWhere(isLost);
    this.#changed();
    void this.update();
  }

  #closeWhere(isUseless: (folder: string) => boolean): void {
    for (const [folder, watcher] of this.#watches) {
      if (!isUseless(folder)) continue;
      watcher.close();
      this.#watches.delete(folder);
    }
  }

  #poll(file: string): void {
    if (this.#polled.has(file)) return;
    this.#polled.add(file);
    watchFile(file, { interval: pollIntervalMs, persistent: false }, this.#changed);
    // An edit between the last watch and the first poll would go unseen.
    this.#changed();
  }

  /** Polls every file until watches are available again. */
  #pollAll(code: string): void {
    if (this.#retry !== undefined) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.update();
    }, this.#options.retryMs ?? defaultRetryMs).unref();
    this.#closeWhere(() => true);
    for (const file of this.#files) this.#poll(file);
    if (this.#slowness !== undefined) return;
    this.#slowness = `settings are polled once a second because they cannot be watched (${code}); raise fs.inotify.max_user_watches and max_user_instances`;
    this.#listener?.slowed(this.#slowness);
  }
}

/**
 * Lists the folders, and the names in them, that decide where a path leads, as far as it exists and
 * stays within a folder.
 */
async function hopsTo(file: string, within: string | undefined): Promise<readonly Hop[]> {
  const hops: Hop[] = [];
  let { root: folder } = path.parse(file);
  let rest = partsOf(file.slice(folder.length));
  let linkCount = 0;
  for (;;) {
    const [name, ...more] = rest;
    // Do not even read anything outside the folder: a cloned repository's link may name a network
    // folder.
    if (name === undefined || isBeside(path.join(folder, name), within)) return hops;
    rest = more;
    if (name === '..') {
      folder = path.dirname(folder);
      continue;
    }
    const place = path.join(folder, name);
    const found = await read(place);
    const isEnd = found === undefined || (found.target === undefined && rest.length === 0);
    const isNeeded = isEnd || found.target !== undefined;
    if (isNeeded || isInotify) hops.push({ folder, name, isNeeded });
    // This folder does not report a write through the file's other name; a watch on the file does.
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

/**
 * Reads a link's target, or whether a file has several hard links; returns undefined when nothing
 * at the path can be read.
 */
async function read(
  place: string,
): Promise<{ readonly target?: string; readonly hasOtherNames: boolean } | undefined> {
  try {
    const found = await lstat(place);
    if (found.isSymbolicLink()) return { target: await readlink(place), hasOtherNames: false };
    return { hasOtherNames: found.isFile() && found.nlink > 1 };
  } catch {
    return undefined;
  }
}
