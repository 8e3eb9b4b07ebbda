/**
 * Writes records to files as they happen, one per line. Each file is self-contained, whatever happened to the
 * files before it. A writer that is too slow for the recorder's ring starts a new file with the current state.
 *
 * Files are readable only by their owner. A disk failure ends the journal, is reported once, and affects nothing
 * else.
 */

import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, makeFolders, readPlain } from '../../actors/files/file-system.ts';
import { partOf, rotate } from '../../actors/files/rotation.ts';
import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
} from '../domain/host/inspection.ts';
import { usageError } from '../domain/user-errors.ts';

export interface JournalOptions {
  /** Usually ends in `.ndjson`. An existing journal is kept as an older part; any other file is refused. */
  readonly file: string;
  /** Size at which a new file starts. Default: 16 MB, half an hour of a busy troupe. */
  readonly maxBytes?: number;
  /** How many files to keep; older ones are numbered. Default: 4. */
  readonly files?: number;
  readonly report: (message: string, error: unknown) => void;
}

const usualBytes = 16_777_216;
const usualFiles = 4;
// Single lines are slow to send; all at once take too much memory.
const batchCount = 500;
const journalStart = '{"kind":"journal",';

export class JournalWriter {
  readonly #source: InspectionSource;
  readonly #options: JournalOptions;
  readonly #unfollow: () => void;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The next record to write. */
  #next: number;
  #work: Promise<void> = Promise.resolve();
  #state: 'idle' | 'writing' | 'over' = 'idle';

  /** Starts at once with the current state. */
  constructor(source: InspectionSource, options: JournalOptions) {
    this.#source = source;
    this.#options = options;
    this.#next = source.last + 1;
    this.#unfollow = source.follow(() => this.#wake());
    this.#wake();
  }

  /** Resolves when everything recorded so far is written. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#work;
    this.#wake();
    await this.#work;
    this.#state = 'over';
    await this.#handle?.close().catch(() => undefined);
    this.#handle = undefined;
  }

  #wake(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'writing';
    this.#work = this.#write().then(
      () => {
        this.#state = 'idle';
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
      // Records were dropped while the file was created.
      if (this.#next < source.first) continue;
      this.#next += records.length;
      await this.#append(records.map(lineOf).join(''));
    } while (this.#next <= source.last);
  }

  /** Starts a new file with the state before its first record. */
  async #begin(): Promise<void> {
    const { file, files = usualFiles } = this.#options;
    const head = lineOf(headOf(this.#source, this.#next - 1));
    await this.#handle?.close();
    this.#handle = undefined;
    makeFolders(path.dirname(file));
    await requireJournals(file, files);
    await rotate(file, files);
    // Never writes through a link or into an existing file.
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
    this.#state = 'over';
    this.#unfollow();
    void this.#handle?.close().catch(() => undefined);
    this.#options.report(
      `The journal ${this.#options.file} cannot be written and ends here; recording continues in memory.`,
      reason,
    );
  }
}

/**
 * Checks that a new journal replaces nothing but older journals, and changes nothing.
 * @throws TroupeError `USAGE` that names the other file
 */
export async function requireJournals(file: string, files = usualFiles): Promise<void> {
  for (let number = 0; number < files; number += 1) {
    const part = partOf(file, number);
    if (await isFreeOrJournal(part)) continue;
    throw usageError(
      `${part} is not a journal and would be replaced; choose another file for the journal`,
    );
  }
}

async function isFreeOrJournal(part: string): Promise<boolean> {
  try {
    const found = await readPlain(part, journalStart.length, { followsLink: false });
    const start = found?.bytes.toString('utf8', 0, journalStart.length);
    // A run that died at once leaves an empty file behind.
    return start === '' || start === journalStart;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
  }
}

/** Yields everything that a source still has as text, in chunks: a head, then one record per line. */
export function* journalOf(source: InspectionSource): Generator<string> {
  const { last } = source;
  let next = source.first;
  yield lineOf(headOf(source, next - 1));
  while (next <= last) {
    const records = source.records(next, Math.min(batchCount, last - next + 1));
    // The reader was too slow and the next records are gone, so the journal ends here.
    if (records[0]?.n !== next) return;
    next = (records.at(-1) as InspectionRecord).n + 1;
    yield records.map(lineOf).join('');
  }
}

/** The state after record `at`, which must be kept. */
function headOf(source: InspectionSource, at: number): JournalHead {
  const { startedAt, clockStart, version, machines } = source;
  const picture = source.picture(at) as InspectionPicture;
  const contexts = picture.actors.flatMap(({ actor }) => {
    const context = source.context(actor, at);
    return context === undefined ? [] : [[actor, context] as const];
  });
  return {
    kind: 'journal',
    format: 1,
    version,
    startedAt,
    clockStart,
    machines,
    picture,
    contexts: Object.fromEntries(contexts),
  };
}

function lineOf(document: JournalHead | InspectionRecord): string {
  return `${JSON.stringify(document)}\n`;
}
