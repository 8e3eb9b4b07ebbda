/** Reads a journal record by record, so that its size does not matter. */

import { constants, type FileHandle, open } from 'node:fs/promises';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { parsedJson } from '../../src/domain/data/parsed-json.ts';
import type { InspectionRecord, JournalHead } from '../../src/domain/host/inspection.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { isJournalHead, isJournalRecord } from './journal-shape.ts';

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
