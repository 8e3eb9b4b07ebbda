/**
 * A private JSON file that several processes read and change.
 *
 * It is trusted only if this program could have written all of it and no other user could have. A
 * file that cannot be trusted is never replaced. A damaged one is set aside under the lock, so that
 * a file that another process is replacing is never moved. A file is replaced atomically and
 * durably. The chart `machines/record-file.ts` decides when to read and when to write.
 */

import { dirname } from 'node:path';
import { type ActorRefFrom, createActor, fromPromise, waitFor } from 'xstate';
import { z } from 'zod';
import {
  type FoundFile,
  type RecordFileEvent,
  recordFileMachine,
} from '../../machines/record-file.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { removeDrafts, replaceWhole, syncFolder } from '../files/file-system.ts';
import { readPrivate, setAside } from '../files/private-file.ts';
import { type WatchFiles, watchSettingsFiles } from '../files/watcher.ts';
import { withFileLock } from './file-lock.ts';

/** The form of a file. */
export interface RecordForm<Content> {
  readonly maxBytes: number;
  /** The latest known version. A file with a later one is refused. */
  readonly version: number;
  readonly schema: z.ZodType<Content>;
}

export type RecordReading<Content> =
  | { readonly found: 'absent' }
  | { readonly found: 'kept'; readonly content: Content }
  /** The reason is a sentence about "it". */
  | { readonly found: 'damaged'; readonly why: string }
  /**
   * The reason ends a sentence about the file and contains the remedy. `isExposed`: another user
   * may have read or written the file.
   */
  | { readonly found: 'refused'; readonly why: string; readonly isExposed?: true }
  /** The file could not be locked, set aside or written. */
  | { readonly found: 'failed'; readonly error: unknown };

/** Returns a file's content; undefined if there is none that can be trusted. */
export function contentIn<Content>(reading: RecordReading<Content>): Content | undefined {
  return reading.found === 'kept' ? reading.content : undefined;
}

/** Reads a file once, without its lock. Never rejects. */
export async function readRecord<Content>(
  file: string,
  { maxBytes, version, schema }: RecordForm<Content>,
): Promise<RecordReading<Content>> {
  const reading = await readPrivate(file, maxBytes);
  if ('refusal' in reading) {
    const { refusal, ...exposure } = reading;
    return { found: 'refused', why: refusal, ...exposure };
  }
  if ('damage' in reading) return { found: 'damaged', why: reading.damage };
  if (reading.content === undefined) return { found: 'absent' };
  let content: unknown;
  try {
    content = JSON.parse(reading.content);
  } catch {
    return { found: 'damaged', why: 'it is not JSON' };
  }
  const written = z.object({ version: z.int() }).safeParse(content);
  if (written.success && written.data.version > version) {
    const why = 'was written by a newer version; use that one, or move the file away';
    return { found: 'refused', why };
  }
  const { success, data } = schema.safeParse(content);
  if (success) return { found: 'kept', content: data };
  return { found: 'damaged', why: 'its content is not in the expected form' };
}

/**
 * Replaces a file atomically and durably.
 *
 * @throws file-system errors; `EFBIG` if the text is too large to be read again
 */
export async function writeRecord(file: string, text: string, maxBytes: number): Promise<void> {
  if (Buffer.byteLength(text) > maxBytes)
    throw Object.assign(new Error('the file is full'), { code: 'EFBIG' });
  await replaceWhole(file, text);
  await syncFolder(dirname(file));
}

/**
 * Returns a file's next content; undefined leaves the file as it is. Gets no content if there is no
 * file, or a damaged one.
 */
export type RecordEdit<Content> = (
  content: Content | undefined,
) => Content | undefined | Promise<Content | undefined>;

export interface RecordFilePorts<Content> extends RecordForm<Content> {
  readonly path: string;
  readonly clock: Clock;
  /** Default: indented JSON. */
  readonly textOf?: (content: Content) => string;
  /**
   * Called with what was found or written, before the callers get it; with a damaged file only under
   * its lock, because without it another process may be repairing the file.
   */
  readonly onReading?: (reading: RecordReading<Content>) => void;
  /** Called with a damaged file's new path. */
  readonly onAside?: (aside: string, why: string) => void;
  /** Watches the file. Default: on the disk. */
  readonly watch?: WatchFiles | undefined;
}

type Answer<Content> = (reading: RecordReading<Content>) => void;

interface Change<Content> {
  readonly edit: RecordEdit<Content>;
  readonly answer: Answer<Content>;
}

export class RecordFile<Content> {
  readonly path: string;
  readonly #ports: RecordFilePorts<Content>;
  readonly #readers: Answer<Content>[] = [];
  readonly #edits: Change<Content>[] = [];
  #actor: ActorRefFrom<typeof recordFileMachine> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(ports: RecordFilePorts<Content>) {
    this.path = ports.path;
    this.#ports = ports;
  }

  /** Reads the file after the call, even if a reading has already begun. Never rejects. */
  read(): Promise<RecordReading<Content>> {
    return new Promise((answer) => {
      this.#readers.push(answer);
      this.#send('file.read');
    });
  }

  /**
   * Changes the file while no other process does. Resolves once the change is durable, or with the
   * reason why it was not made. Never rejects.
   */
  update(edit: RecordEdit<Content>): Promise<RecordReading<Content>> {
    return new Promise((answer) => {
      this.#edits.push({ edit, answer });
      this.#send('file.write');
    });
  }

  /** Reads the file whenever it may have changed. */
  watch(): void {
    const { watch = watchSettingsFiles } = this.#ports;
    const changed = (): void => this.#send('file.read');
    // It is then polled; the settings watch reports why.
    this.#unwatch ??= watch([this.path], { changed, slowed: () => {} });
  }

  /** Stops watching; resolves after the last reading and the last write. */
  async close(): Promise<void> {
    this.#unwatch?.();
    this.#unwatch = () => {};
    if (this.#actor !== undefined) await waitFor(this.#actor, (file) => file.hasTag('settled'));
  }

  #send(type: RecordFileEvent['type']): void {
    // A file that is not used costs nothing.
    this.#actor ??= createActor(
      recordFileMachine.provide({
        actors: { read: fromPromise(() => this.#read()), write: fromPromise(() => this.#write()) },
      }),
    ).start();
    this.#actor.send({ type });
  }

  async #read(): Promise<FoundFile> {
    const readers = this.#readers.splice(0);
    const reading = await readRecord(this.path, this.#ports);
    if (reading.found !== 'damaged') return this.#answer(reading, readers);
    // The write that sets it aside answers, unless it finds the file repaired.
    this.#readers.unshift(...readers);
    return reading.found;
  }

  async #write(): Promise<FoundFile> {
    const readers = this.#readers.splice(0);
    const edits = this.#edits.splice(0);
    const { path, clock } = this.#ports;
    const change = () => this.#change(edits);
    const reading = await withFileLock(path, clock, change).catch(
      (error: unknown) => ({ found: 'failed', error }) as const,
    );
    return this.#answer(reading, [...readers, ...edits.map(({ answer }) => answer)]);
  }

  /** Makes the changes; one that fails is answered and taken out. */
  async #change(edits: Change<Content>[]): Promise<RecordReading<Content>> {
    const { path, clock, maxBytes, textOf = indented, onReading, onAside } = this.#ports;
    let reading = await readRecord(path, this.#ports);
    if (reading.found === 'damaged') {
      onReading?.(reading);
      onAside?.(await setAside(path, clock.wallNow()), reading.why);
      reading = { found: 'absent' };
    }
    if (reading.found === 'refused') return reading;
    const before = contentIn(reading);
    let content = before;
    for (const one of [...edits]) {
      try {
        content = (await one.edit(content)) ?? content;
      } catch (error) {
        edits.splice(edits.indexOf(one), 1);
        one.answer({ found: 'failed', error });
      }
    }
    if (content === undefined || content === before) return reading;
    // Processes that were killed have left them; no other process writes while this one has the lock.
    await removeDrafts(path);
    await writeRecord(path, textOf(content), maxBytes);
    return { found: 'kept', content };
  }

  #answer(reading: RecordReading<Content>, waiting: readonly Answer<Content>[]): FoundFile {
    try {
      this.#ports.onReading?.(reading);
    } finally {
      for (const answer of waiting) answer(reading);
    }
    return reading.found;
  }
}

function indented(content: unknown): string {
  return `${JSON.stringify(content, undefined, 1)}\n`;
}
