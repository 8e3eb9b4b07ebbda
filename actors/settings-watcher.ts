/**
 * Says that a settings file may have changed.
 *
 * The folder of each file is watched, not the file: a watch on a file ends with
 * the first editor that saves by renaming. Where even that does not hold (the
 * folder is missing or was deleted, the path leads over a link, the system has no
 * watches left) the file is looked at once a second instead.
 *
 * Reports too much rather than too little; whether anything changed is for the
 * reader to find out. After it was stopped it reports nothing.
 */

import { unwatchFile, watchFile } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import path from 'node:path';

import type { FSWatcher } from 'chokidar';

export interface WatchListener {
  changed(): void;
  /** Watching goes on, but slower; one sentence says why and what would help. */
  slowed(message: string): void;
}

/** Watches files until the returned function is called. Never throws. */
export type WatchFiles = (files: readonly string[], listener: WatchListener) => () => void;

// Once a second: an edit is seen within two, and a look costs microseconds.
const pollIntervalMs = 1_000;

export const watchSettingsFiles: WatchFiles = (paths, listener) => {
  const files = paths.map((file) => path.resolve(file));
  const polled = new Set<string>();
  let isStopped = false;

  const changed = (): void => {
    if (isStopped) return;
    listener.changed();
  };
  const poll = (file: string): void => {
    if (isStopped || polled.has(file)) return;
    polled.add(file);
    watchFile(file, { interval: pollIntervalMs, persistent: false }, changed);
    // What happened between the last watch and the first look.
    changed();
  };
  const pollWhatWatchesMiss = async (): Promise<void> => {
    for (const file of files) if (await isBeyondWatches(file)) poll(file);
  };

  const folders = [...new Set(files.map((file) => path.dirname(file)))];
  const wanted = new Set([...folders, ...files]);
  const names = new Set(files.map((file) => path.basename(file)));
  let watcher: FSWatcher | undefined;

  const fallBack = (error: unknown): void => {
    if (isStopped) return;
    void watcher?.close();
    for (const file of files) poll(file);
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    listener.slowed(
      `settings are looked at once a second because they cannot be watched (${code}); raise fs.inotify.max_user_watches and max_user_instances`,
    );
  };
  const watchFolders = async (): Promise<void> => {
    // Loaded here, so that a host without files to watch never pays for it.
    const { watch } = await import('chokidar');
    if (isStopped) return;
    watcher = watch([], {
      depth: 0,
      ignoreInitial: true,
      ignored: (name) => !wanted.has(path.resolve(name)),
    });
    watcher
      .on('all', () => {
        changed();
        void pollWhatWatchesMiss();
      })
      // What chokidar leaves out, such as an edit that keeps the time of the file.
      .on('raw', (_event, name: string | null) => {
        if (name === null || names.has(path.basename(name))) changed();
      })
      .on('error', fallBack)
      // Edits made before the watch stood are found by one more look.
      .on('ready', changed);
    watcher.add(folders);
  };
  if (folders.length > 0) void watchFolders().catch(fallBack);
  void pollWhatWatchesMiss();

  return () => {
    isStopped = true;
    for (const file of polled) unwatchFile(file, changed);
    void watcher?.close();
  };
};

/** Says whether a file's folder is missing, or its path leads over a link. */
async function isBeyondWatches(file: string): Promise<boolean> {
  try {
    const folder = path.dirname(file);
    if ((await realpath(folder)) !== folder) return true;
    await access(file);
    return (await realpath(file)) !== file;
  } catch (error) {
    // A missing file in a folder that is there: the folder's watch sees it come.
    return (
      !(await hasFolder(file)) ||
      !(error instanceof Error && 'code' in error && error.code === 'ENOENT')
    );
  }
}

async function hasFolder(file: string): Promise<boolean> {
  return access(path.dirname(file)).then(
    () => true,
    () => false,
  );
}
