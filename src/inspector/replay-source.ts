/** Reads a journal from a file, whole, and answers as a running troupe does: any moment of it at once. */

import { constants, open } from 'node:fs/promises';
import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
} from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { applyRecord, type Canvas, canvasOf, pictureOf } from '../recorder/picture.ts';
import { isJournalHead, isJournalRecord } from './journal-shape.ts';

// Sixteen times a file of ours; what is larger is none of ours, and would fill the memory.
const maxBytes = 268_435_456;
// A moment is at most so many records behind a picture that is kept.
const checkpointCount = 500;

interface Change {
  readonly n: number;
  readonly changed: Readonly<Record<string, unknown>>;
}

/** @throws TroupeError `USAGE` that names the file, the line and the next step. */
export async function openJournal(file: string): Promise<InspectionSource> {
  return new Journal(file, await readText(file));
}

async function readText(file: string): Promise<string> {
  // A pipe that nobody writes to would keep us waiting for ever.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${error.code})`;
      throw new TroupeError(
        'USAGE',
        `${file}: ${why}; name a journal that troupe up --journal wrote`,
      );
    },
  );
  try {
    const found = await handle.stat();
    if (!found.isFile())
      throw new TroupeError(
        'USAGE',
        `${file} is not a file; name a journal that troupe up --journal wrote`,
      );
    if (found.size > maxBytes)
      throw new TroupeError(
        'USAGE',
        `${file} is larger than 256 MB; replay one of the parts it was rotated into`,
      );
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
  /** The picture before the first record, and after every five hundred. */
  readonly #checkpoints: InspectionPicture[];
  readonly #changes = new Map<ActorKey, Change[]>();

  constructor(file: string, text: string) {
    const lines = text.split('\n');
    // What a crash cut off is the end.
    const torn = lines.pop();
    const head = parsed(lines[0]);
    if (!isJournalHead(head)) throw notAJournal(file, head ?? parsed(torn));
    this.#head = head;
    ({ startedAt: this.startedAt, clockStart: this.clockStart } = head);
    ({ version: this.version, machines: this.machines } = head);
    this.#checkpoints = [head.picture];
    const canvas = canvasOf(head.picture);
    for (const [index, line] of lines.slice(1).entries()) {
      const record = parsed(line);
      if (!isJournalRecord(record) || record.n !== this.last + 1) {
        throw new TroupeError(
          'USAGE',
          `${file}:${index + 2} is no record of a journal; remove that line and all below it, then replay it again`,
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
    // One by one: a call takes only so many arguments, and a journal has more changes than that.
    for (const { changed } of changes) Object.assign(context, changed);
    return context;
  }

  /** Nothing comes any more. */
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
    changes.push({ n: record.n, changed: record.changed });
  }
}

function parsed(line = ''): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function notAJournal(file: string, head: unknown): TroupeError {
  const format = isRecord(head) ? head['format'] : undefined;
  const why =
    typeof format === 'number' && format > 1
      ? 'was written by a newer version; replay it with that one'
      : 'does not begin like a journal; name a file that troupe up --journal wrote';
  return new TroupeError('USAGE', `${file}:1 ${why}`);
}
