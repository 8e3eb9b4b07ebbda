/** Reads a journal record by record, so that its size does not matter. */

import { constants, type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { parsedJson } from '../../src/domain/data/parsed-json.ts';
import type { InspectionRecord, JournalHead } from '../../src/domain/host/inspection.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { isServerName } from '../../src/policies/text/name-rule.ts';

// The head holds the whole state; no line of ours comes near this.
const longestLine = 67_108_864;

export interface JournalReading {
  readonly head: JournalHead;
  /** Throws a TroupeError as {@link readJournal}. */
  readonly records: AsyncGenerator<InspectionRecord, void>;
  close(): Promise<void>;
}

/**
 * Opens a journal and reads its head.
 * @param maxBytes - refuses a larger file
 * @returns the caller closes it
 * @throws TroupeError `USAGE` with the file, the line and the next step
 */
export async function readJournal(file: string, maxBytes = Infinity): Promise<JournalReading> {
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
    const lines = linesOf(file, handle);
    const { value: first } = await lines.next();
    const head = parsedJson(first?.text ?? '');
    if (first?.isTorn !== false || !isJournalHead(head)) throw notAJournal(file, head);
    return { head, records: recordsOf(file, head, lines), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface Line {
  readonly text: string;
  /** Whether no line break follows: a crash may have cut it off. */
  readonly isTorn: boolean;
}

async function* recordsOf(
  file: string,
  head: JournalHead,
  lines: AsyncGenerator<Line, void>,
): AsyncGenerator<InspectionRecord, void> {
  let { n } = head.picture;
  let line = 1;
  for await (const { text, isTorn } of lines) {
    line += 1;
    if (isTorn) return;
    const record = parsedJson(text);
    if (!isJournalRecord(record) || record.n !== n + 1) {
      throw unusable(
        `${file}:${line} is not a journal record; remove that line and all lines below it, then try again`,
      );
    }
    ({ n } = record);
    yield record;
  }
}

async function* linesOf(file: string, handle: FileHandle): AsyncGenerator<Line, void> {
  // A long line is joined once: to join it with every chunk would take minutes.
  let rest: string[] = [];
  let restLength = 0;
  for await (const chunk of handle.createReadStream({ encoding: 'utf8', autoClose: false })) {
    const [first = '', ...others] = String(chunk).split('\n');
    rest.push(first);
    restLength += first.length;
    const last = others.pop();
    if (last !== undefined) {
      for (const text of [rest.join(''), ...others]) yield { text, isTorn: false };
      rest = [last];
      restLength = last.length;
    }
    if (restLength > longestLine)
      throw unusable(
        `${file} has a line of more than 64 MB; use a journal from troupe up --journal`,
      );
  }
  if (restLength > 0) yield { text: rest.join(''), isTorn: true };
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

const text = z.string();
const texts = z.array(text);
const number = z.number();
const object = z.looseObject({});
// Names are inserted into programs, command lines and pictures, so the rules for settings apply here too.
const name = text.refine(isServerName);
const server = name.optional();
// Charts of other versions have other states, but none is named like a part of every object.
const leaves = z.array(
  text.refine((leaf) => !leaf.split('.').some((key) => key in Object.prototype)),
);

const login = z.looseObject({ origin: text, account: text.optional(), servers: z.array(name) });
const timer = z.looseObject({ id: text, ms: number, armedAt: number });
const picturedActor = z.looseObject({
  actor: text,
  id: text,
  life: text,
  leaves,
  timers: z.array(timer),
  server,
  login: login.optional(),
});
const step = z.looseObject({ step: text, server: name, why: text });
const status = z.looseObject({
  name,
  state: text,
  catalog: text,
  circuit: text,
  since: text,
  generation: text,
  transport: text,
  source: object,
});

const headSchema = z.looseObject({
  kind: z.literal('journal'),
  format: z.literal(1),
  version: text,
  startedAt: text,
  clockStart: number,
  machines: object,
  picture: z.looseObject({
    n: number,
    t: number,
    actors: z.array(picturedActor),
    servers: z.array(status),
    calls: z.record(name, number).optional(),
  }),
  contexts: object,
});

// Complete, so that a new kind of record does not compile until it is added here.
const schemas: Readonly<Record<InspectionRecord['kind'], z.ZodType>> = {
  actor: z.looseObject({ actor: text, id: text, server }),
  event: z.looseObject({ to: text, type: text }),
  step: z.looseObject({ actor: text, type: text, edges: texts }),
  state: z.looseObject({ actor: text, life: text, leaves }),
  ignored: z.looseObject({ actor: text, type: text }),
  timer: z.looseObject({ actor: text, id: text, ms: number }),
  timerEnd: z.looseObject({ actor: text, id: text, fired: z.boolean() }),
  status: z.looseObject({ status }),
  login: z.looseObject({ actor: text, login }),
  gone: z.looseObject({ server: name }),
  reconciled: z.looseObject({ plan: z.array(step), durationMs: number, troupe: object }),
  gap: z.looseObject({ count: number }),
};
const recordSchema = z.looseObject({
  kind: z.enum(Object.keys(schemas) as InspectionRecord['kind'][]),
  n: number,
  t: number,
});

function isJournalHead(value: unknown): value is JournalHead {
  return headSchema.safeParse(value).success;
}

export function isJournalRecord(value: unknown): value is InspectionRecord {
  const { success, data } = recordSchema.safeParse(value);
  return success && schemas[data.kind].safeParse(value).success;
}
