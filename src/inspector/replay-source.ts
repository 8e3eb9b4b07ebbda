/** Reads a whole journal and shows any moment of it, like a running troupe. */

import { constants, open } from 'node:fs/promises';
import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
  StateRecord,
} from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { parsedJson } from '../policies/parsed-json.ts';
import { applyRecord, type Canvas, canvasOf, pictureOf } from '../recorder/picture.ts';
import { isJournalHead, isJournalRecord } from './journal-shape.ts';

// Sixteen times the size of our own files; a larger file is not one of ours and would take too much memory.
const maxBytes = 268_435_456;
// Records between two stored pictures.
const checkpointCount = 500;

/** @throws TroupeError `USAGE` with the file, the line and the next step */
export async function openJournal(file: string): Promise<InspectionSource> {
  return new Journal(file, await readText(file));
}

async function readText(file: string): Promise<string> {
  // Opening a pipe without a writer would block forever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'ENOENT' ? 'file does not exist' : `cannot be read (${error.code})`;
      throw unusable(`${file}: ${why}; use a journal from troupe up --journal`);
    },
  );
  try {
    const found = await handle.stat();
    if (!found.isFile())
      throw unusable(`${file} is not a file; use a journal from troupe up --journal`);
    if (found.size > maxBytes)
      throw unusable(`${file} is larger than 256 MB; replay one of the parts it was rotated into`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

class Journal implements InspectionSource {
  readonly startedAt: string;
  readonly clockStart: number;
  readonly version: string;
  readonly machines: InspectionSource['machines'];
  readonly #head: JournalHead;
  readonly #records: InspectionRecord[] = [];
  /** The picture before the first record, and after every {@link checkpointCount}. */
  readonly #checkpoints: InspectionPicture[];
  /** Each actor's records with changes of its context. */
  readonly #changes = new Map<ActorKey, StateRecord[]>();

  constructor(file: string, text: string) {
    const lines = text.split('\n');
    // A crash may have cut off the last line.
    const torn = lines.pop();
    const head = parsedJson(lines[0] ?? '');
    if (!isJournalHead(head)) throw notAJournal(file, head ?? parsedJson(torn ?? ''));
    this.#head = head;
    ({ startedAt: this.startedAt, clockStart: this.clockStart } = head);
    ({ version: this.version, machines: this.machines } = head);
    this.#checkpoints = [head.picture];
    const canvas = canvasOf(head.picture);
    for (const [index, line] of lines.slice(1).entries()) {
      const record = parsedJson(line);
      if (!isJournalRecord(record) || record.n !== this.last + 1) {
        throw unusable(
          `${file}:${index + 2} is not a journal record; remove that line and all lines below it, then try again`,
        );
      }
      this.#add(record, canvas);
    }
  }

  get first(): number {
    return this.#head.picture.n + 1;
  }

  get last(): number {
    return this.#records.at(-1)?.n ?? this.#head.picture.n;
  }

  picture(at = this.last): InspectionPicture | undefined {
    const count = at - this.first + 1;
    if (count < 0 || count > this.#records.length) return undefined;
    const place = Math.floor(count / checkpointCount);
    const canvas = canvasOf(this.#checkpoints[place] as InspectionPicture);
    for (const record of this.#records.slice(place * checkpointCount, count))
      applyRecord(canvas, record);
    return pictureOf(canvas);
  }

  records(from: number, limit: number): readonly InspectionRecord[] {
    const start = Math.max(0, from - this.first);
    return this.#records.slice(start, start + limit);
  }

  context(actor: ActorKey, at = this.last): Readonly<Record<string, unknown>> | undefined {
    const before = Object.hasOwn(this.#head.contexts, actor)
      ? this.#head.contexts[actor]
      : undefined;
    const changes = (this.#changes.get(actor) ?? []).filter(({ n }) => n <= at);
    if (before === undefined && changes.length === 0) return undefined;
    const context: Record<string, unknown> = { ...before };
    // One at a time, because a journal may have more changes than a call can take arguments.
    for (const { changed } of changes) Object.assign(context, changed);
    return context;
  }

  /** A journal gets no new records. */
  follow(): () => void {
    return () => undefined;
  }

  #add(record: InspectionRecord, canvas: Canvas): void {
    applyRecord(canvas, record);
    this.#records.push(record);
    if (this.#records.length % checkpointCount === 0) this.#checkpoints.push(pictureOf(canvas));
    if (record.kind !== 'state' || record.changed === undefined) return;
    const changes = this.#changes.get(record.actor) ?? [];
    this.#changes.set(record.actor, changes);
    changes.push(record);
  }
}

function notAJournal(file: string, head: unknown): TroupeError {
  const format = isRecord(head) ? head['format'] : undefined;
  const why =
    typeof format === 'number' && format > 1
      ? 'was written by a newer version; use that version to replay it'
      : 'is not the start of a journal; use a journal from troupe up --journal';
  return unusable(`${file}:1 ${why}`);
}

function unusable(message: string): TroupeError {
  return new TroupeError('USAGE', message);
}
