import type { WatchListener } from '../../actors/files/watcher.ts';
import type { FileReading } from '../../actors/settings/file.ts';

/** Settings files that exist only in memory, and a watch that sees every edit of them. */
export interface MemoryFiles {
  /** Writes a file; an object is written as JSON. The watch fires at once. */
  write(file: string, content: string | Readonly<Record<string, unknown>>): void;
  /** Deletes a file. The watch fires at once. */
  remove(file: string): void;
  /** What the file holds now; undefined when it does not exist. */
  text(file: string): string | undefined;
  /** Fires the watch although nothing changed, as editors and backups do. */
  touch(): void;
  /** While false, edits go unseen: a watch that lost events. Default true. */
  isWatched: boolean;
  /** Called with each file's content when it is read. */
  onRead: ((file: string, text: string | undefined) => void) | undefined;
}

/** The ports through which the settings source reads the same files. */
export interface MemoryFilePorts {
  readonly readFile: (file: string) => Promise<FileReading>;
  readonly checkFolder: (folder: string) => Promise<undefined>;
  readonly watch: (files: readonly string[], listener: WatchListener) => () => void;
}

/** Creates empty files, and the ports through which a troupe reads them. */
export function createMemoryFiles(): {
  readonly files: MemoryFiles;
  readonly ports: MemoryFilePorts;
} {
  const texts = new Map<string, string>();
  const listeners = new Set<WatchListener>();
  const files: MemoryFiles = {
    isWatched: true,
    onRead: undefined,
    write(file, content) {
      texts.set(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      files.touch();
    },
    remove(file) {
      texts.delete(file);
      files.touch();
    },
    text: (file) => texts.get(file),
    touch() {
      if (!files.isWatched) return;
      for (const listener of listeners) listener.changed();
    },
  };
  return {
    files,
    ports: {
      readFile: async (file) => {
        const text = texts.get(file);
        files.onRead?.(file, text);
        return text === undefined ? { missing: true } : { text };
      },
      checkFolder: async () => undefined,
      watch: (_files, listener) => {
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
        };
      },
    },
  };
}
