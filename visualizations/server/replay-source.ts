/** Keeps a whole journal in memory and shows any moment of it, like a running troupe. */

import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
  StateRecord,
} from '../../src/domain/host/inspection.ts';
import { applyRecord, type Canvas, canvasOf, pictureOf } from '../../src/recorder/picture.ts';
import { readJournal } from './journal-reader.ts';

// Sixteen times the size of our own files; a larger file is not one of ours and would take too much memory.
const maxBytes = 268_435_456;
// Records between two stored pictures.
const checkpointCount = 500;

/** @throws TroupeError `USAGE` with the file, the line and the next step */
export async function openJournal(file: string): Promise<InspectionSource> {
  const journal = await readJournal(file, maxBytes);
  try {
    const source = new Journal(journal.head);
    for await (const record of journal.records) source.add(record);
    return source;
  } finally {
    await journal.close();
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

  readonly #canvas: Canvas;

  constructor(head: JournalHead) {
    this.#head = head;
    ({ startedAt: this.startedAt, clockStart: this.clockStart } = head);
    ({ version: this.version, machines: this.machines } = head);
    this.#checkpoints = [head.picture];
    this.#canvas = canvasOf(head.picture);
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

  add(record: InspectionRecord): void {
    applyRecord(this.#canvas, record);
    this.#records.push(record);
    if (this.#records.length % checkpointCount === 0)
      this.#checkpoints.push(pictureOf(this.#canvas));
    if (record.kind !== 'state' || record.changed === undefined) return;
    const changes = this.#changes.get(record.actor) ?? [];
    this.#changes.set(record.actor, changes);
    changes.push(record);
  }
}
