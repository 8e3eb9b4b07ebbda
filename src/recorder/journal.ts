/**
 * Writes what is recorded into files while it happens, a record a line. Each file stands
 * alone, whatever became of those before it. It follows the ring like everybody else: who is
 * too slow for it begins a new file with what is true by then.
 *
 * Files are the owner's alone. A disk that fails ends the writing, is told of once, and
 * harms nothing else.
 */

import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from '../../actors/files/make-folders.ts';
import type { InspectionSource } from '../domain/host/inspection.ts';
import { headOf, lineOf } from './journal-lines.ts';

export interface JournalOptions {
  /** Ends in `.ndjson` by custom. One that is there is kept as an older part. */
  readonly file: string;
  /** When a new file is begun. Default: 16 MB, half an hour of a busy troupe. */
  readonly maxBytes?: number;
  /** Files in all, the older ones numbered. Default: 4. */
  readonly files?: number;
  readonly report: (message: string, error: unknown) => void;
}

const usualBytes = 16_777_216;
const usualFiles = 4;
const batchCount = 500;

export class JournalWriter {
  readonly #source: InspectionSource;
  readonly #options: JournalOptions;
  readonly #unfollow: () => void;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The record to be written next. */
  #next: number;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();
  #isAtWork = false;

  /** Begins at once, with what is true now. */
  constructor(source: InspectionSource, options: JournalOptions) {
    this.#source = source;
    this.#options = options;
    this.#next = source.last + 1;
    this.#unfollow = source.follow(() => this.#wake());
    this.#wake();
  }

  /** Settles when all that was recorded by now is written. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#work;
    this.#wake();
    await this.#work;
    await this.#handle?.close().catch(() => undefined);
    this.#handle = undefined;
    this.#isOver = true;
  }

  #wake(): void {
    if (this.#isOver || this.#isAtWork) return;
    this.#isAtWork = true;
    this.#work = this.#write().then(
      () => {
        this.#isAtWork = false;
      },
      (reason: unknown) => this.#end(reason),
    );
  }

  async #write(): Promise<void> {
    const { maxBytes = usualBytes } = this.#options;
    const source = this.#source;
    do {
      const isBehind = this.#next < source.first;
      if (this.#handle === undefined || isBehind || this.#bytes >= maxBytes) {
        if (isBehind) this.#next = source.first;
        await this.#begin();
      }
      const records = source.records(this.#next, batchCount);
      // The ring went on while the file was made.
      if (this.#next < source.first) continue;
      this.#next += records.length;
      await this.#append(records.map(lineOf).join(''));
    } while (this.#next <= source.last);
  }

  /** A new file, which tells first what is true before its records. */
  async #begin(): Promise<void> {
    const { file, files = usualFiles } = this.#options;
    const head = lineOf(headOf(this.#source, this.#next - 1));
    await this.#handle?.close();
    this.#handle = undefined;
    makeFolders(path.dirname(file));
    await shift(file, files);
    // Never through a link, and never into a file that is there.
    this.#handle = await open(file, 'wx', 0o600);
    this.#bytes = 0;
    await this.#append(head);
  }

  async #append(text: string): Promise<void> {
    if (text === '') return;
    const bytes = Buffer.from(text);
    this.#bytes += bytes.length;
    await this.#handle?.writeFile(bytes);
  }

  #end(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unfollow();
    void this.#handle?.close().catch(() => undefined);
    this.#options.report(
      `The journal ${this.#options.file} cannot be written, so it ends here; records are kept in memory.`,
      reason,
    );
  }
}

/** Makes way for a new file: each one older takes the next number, the oldest goes. */
async function shift(file: string, files: number): Promise<void> {
  await rm(partOf(file, files - 1), { force: true });
  for (let number = files - 1; number > 0; number -= 1) {
    await rename(partOf(file, number - 1), partOf(file, number)).catch(ignoreMissing);
  }
}

/** `db.ndjson` is followed into the past by `db.1.ndjson`. */
function partOf(file: string, number: number): string {
  if (number === 0) return file;
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}.${number}${ext}`);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
