import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { placeOfThisProcess, startOf } from '../../../actors/processes/process-table.ts';
import {
  RecordFile,
  type RecordFilePorts,
  type RecordReading,
} from '../../../actors/stores/record-file.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

interface Words {
  readonly version: number;
  readonly words: readonly string[];
}
type Reading = RecordReading<Words>;

const form = {
  maxBytes: 100,
  version: 1,
  schema: z.strictObject({ version: z.literal(1), words: z.array(z.string()) }),
};
const contentOf = (...words: readonly string[]): Words => ({ version: 1, words });
const textOf = (...words: readonly string[]): string => JSON.stringify(contentOf(...words));
const add =
  (word: string) =>
  (content: Words | undefined): Words =>
    contentOf(...(content?.words ?? []), word);

/** A file in a new folder. */
function place(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'record-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'words.json');
}
const put = (file: string, text: string): void => writeFileSync(file, text, { mode: 0o600 });
const namesIn = (file: string): readonly string[] => readdirSync(path.dirname(file)).toSorted();

/** Locks a file as a process that lives does; returns the function that unlocks it. */
function holdLock(file: string): () => void {
  const start = startOf(process.pid) ?? '';
  const token = '00000000-0000-4000-8000-000000000000';
  const holder = { token, pid: process.pid, start, place: placeOfThisProcess() };
  writeFileSync(`${file}.lock`, JSON.stringify(holder));
  return () => rmSync(`${file}.lock`);
}

/** Advances the clock until the reading is there: attempts to take the lock are real. */
async function advanced(clock: VirtualClock, reading: Promise<Reading>): Promise<Reading> {
  let found: Reading | undefined;
  void reading.then((result) => {
    found = result;
  });
  while (found === undefined) {
    await new Promise(setImmediate);
    clock.advanceBy(100);
  }
  return found;
}

/** Opens a file that is closed after the test; `next()` is its next reading. */
function open(file: string, ports: Partial<RecordFilePorts<Words>> = {}) {
  const readings: Reading[] = [];
  const asides: string[] = [];
  const waiting: ((reading: Reading) => void)[] = [];
  const record = new RecordFile<Words>({
    ...form,
    path: file,
    clock: realClock,
    onReading: (reading) => {
      readings.push(reading);
      for (const resolve of waiting.splice(0)) resolve(reading);
    },
    onAside: (aside, why) => asides.push(`${path.basename(aside)}: ${why}`),
    ...ports,
  });
  onTestFinished(() => record.close());
  const next = (): Promise<Reading> => new Promise((resolve) => waiting.push(resolve));
  return { record, readings, asides, next };
}

interface Case {
  readonly name: string;
  readonly make: (file: string) => void;
  /** What a reading finds. */
  readonly read: object;
  /** What a change finds then. */
  readonly written: object;
}

const unharmed = { found: 'kept', content: contentOf('a', 'new') };
const replaced = { found: 'kept', content: contentOf('new') };
const refused = (why: string): object => ({ found: 'refused', why: expect.stringContaining(why) });
const leftAlone = (name: string, why: string, make: Case['make']): Case => ({
  name,
  make,
  read: refused(why),
  written: refused(why),
});
const damaged = (name: string, text: string): Case => ({
  name,
  make: (file) => put(file, text),
  read: { found: 'absent' },
  written: replaced,
});

const cases: readonly Case[] = [
  { name: 'is absent', make: () => {}, read: { found: 'absent' }, written: replaced },
  {
    name: 'is intact',
    make: (file) => put(file, textOf('a')),
    read: { found: 'kept', content: contentOf('a') },
    written: unharmed,
  },
  damaged('is not JSON', '{'),
  damaged('has another form', '{"version":1}'),
  damaged('has an unknown version', '{"version":0,"words":[]}'),
  damaged('is too large', ' '.repeat(101)),
  leftAlone('has a newer version', 'newer version', (file) => put(file, '{"version":2}')),
  leftAlone('is open to other users', 'chmod 600', (file) => {
    put(file, textOf('a'));
    chmodSync(file, 0o640);
  }),
  leftAlone('is a link', 'is a link', (file) => {
    put(`${file}.other`, textOf('a'));
    symlinkSync(`${file}.other`, file);
  }),
  leftAlone('is a folder', 'not a file', (file) => mkdirSync(file)),
  ...(process.getuid?.() === 0
    ? [
        leftAlone('belongs to another user', 'another user', (file) => {
          put(file, textOf('a'));
          chownSync(file, 65_534, 65_534);
        }),
      ]
    : []),
];

describe('a stored file', () => {
  it.each(cases)(
    'is read and changed, or left alone, when it $name',
    async ({ make, ...wanted }) => {
      const file = place();
      make(file);
      const before = namesIn(file);
      const { record, asides } = open(file);
      expect(await record.read()).toMatchObject(wanted.read);
      // Only a damaged file moves; it keeps its content.
      expect(namesIn(file)).toHaveLength(before.length);
      expect(await record.update(add('new'))).toMatchObject(wanted.written);
      const isDamaged = wanted.written === replaced && before.length > 0;
      expect(asides).toHaveLength(isDamaged ? 1 : 0);
      if (wanted.written !== unharmed && wanted.written !== replaced)
        expect(namesIn(file)).toEqual(before);
      else expect(await open(file).record.read()).toEqual(wanted.written);
    },
  );

  it('is no longer known while it is set aside, and keeps its content', async () => {
    const file = place();
    put(file, '{');
    const { record, readings, asides } = open(file);
    await record.read();
    expect(readings.map(({ found }) => found)).toEqual(['damaged', 'absent']);
    expect(asides).toEqual([expect.stringMatching(/^words\.json\.damaged-.*: it is not JSON$/u)]);
    const [aside = ''] = namesIn(file);
    expect(readFileSync(path.join(path.dirname(file), aside), 'utf8')).toBe('{');
  });

  it('is not reported as damaged when another process has repaired it under its lock', async () => {
    const file = place();
    put(file, '{"version":1}');
    const release = holdLock(file);
    let parseCount = 0;
    const schema = z.preprocess((content) => {
      parseCount += 1;
      return content;
    }, form.schema) as unknown as typeof form.schema;
    const clock = new VirtualClock();
    const { record, readings, asides } = open(file, { clock, schema });
    const reading = record.read();
    while (parseCount === 0) await new Promise(setImmediate);
    put(file, textOf('b'));
    release();
    expect(await advanced(clock, reading)).toEqual(kept(contentOf('b')));
    expect(readings).toEqual([kept(contentOf('b'))]);
    expect(asides).toEqual([]);
  });

  it('is changed even while it is read without a pause', async () => {
    const file = place();
    const { record } = open(file);
    let written: Reading | undefined;
    const first = record.read();
    void record.update(add('a')).then((reading) => {
      written = reading;
    });
    await first;
    for (let reads = 0; written === undefined && reads < 20; reads += 1) await record.read();
    expect(written).toEqual(kept(contentOf('a')));
  });

  it('answers a read that follows a change with the change', async () => {
    const { record } = open(place());
    const [, , after] = await Promise.all([record.read(), record.update(add('a')), record.read()]);
    expect(after).toEqual(kept(contentOf('a')));
  });

  it('includes the changes beside one that fails', async () => {
    const { record } = open(place());
    const broken = (): Words => {
      throw new Error('broken');
    };
    const edits = [add('a'), add('b'), broken, add('c')];
    expect(await Promise.all(edits.map((edit) => record.update(edit)))).toMatchObject([
      kept(contentOf('a')),
      kept(contentOf('a', 'b', 'c')),
      { found: 'failed' },
      kept(contentOf('a', 'b', 'c')),
    ]);
  });

  it('is cleared of what killed processes have left when it is changed', async () => {
    const file = place();
    put(`${file}.${randomUUID()}.tmp`, 'half');
    put(`${file}.mine.tmp`, 'the user has put this here');
    const { record } = open(file);
    await record.update(add('a'));
    expect(namesIn(file)).toEqual(['words.json', 'words.json.mine.tmp']);
  });

  it('is read once more for any number of requests', async () => {
    const file = place();
    put(file, textOf('a'));
    const { record, readings } = open(file);
    const [first, ...more] = [record.read(), record.read(), record.read()];
    await first;
    // Those who asked while it was read get what it is now.
    put(file, textOf('b'));
    expect(await Promise.all(more)).toMatchObject([contentOf('b'), contentOf('b')].map(kept));
    expect(readings).toHaveLength(2);
  });

  it('includes every change, in order, and writes those that wait together', async () => {
    const file = place();
    const { record, readings } = open(file);
    const words = ['a', 'b', 'c', 'd'];
    const written = await Promise.all(words.map((word) => record.update(add(word))));
    expect(written.at(-1)).toEqual(kept(contentOf(...words)));
    expect(readings).toEqual([kept(contentOf('a')), kept(contentOf(...words))]);
    expect(readFileSync(file, 'utf8')).toBe(
      `${JSON.stringify(contentOf(...words), undefined, 1)}\n`,
    );
  });

  it('stays as it is when a change returns nothing, throws or is too large', async () => {
    const file = place();
    put(file, textOf('a'));
    const { record } = open(file);
    expect(await record.update(() => undefined)).toEqual(kept(contentOf('a')));
    const broken = new Error('broken');
    const thrown = await record.update(() => {
      throw broken;
    });
    expect(thrown).toEqual({ found: 'failed', error: broken });
    expect(await record.update(add('x'.repeat(100)))).toMatchObject({
      found: 'failed',
      error: { code: 'EFBIG' },
    });
    expect(readFileSync(file, 'utf8')).toBe(textOf('a'));
    expect(namesIn(file)).toEqual(['words.json']);
  });

  it('is read, but not changed, while another process holds its lock', async () => {
    const file = place();
    put(file, textOf('a'));
    const release = holdLock(file);
    const clock = new VirtualClock();
    const { record } = open(file, { clock });
    expect(await record.read()).toEqual(kept(contentOf('a')));
    const written = await advanced(clock, record.update(add('b')));
    expect(written).toMatchObject({ found: 'failed', error: { code: 'ELOCKED' } });
    release();
    expect(await record.update(add('b'))).toEqual(kept(contentOf('a', 'b')));
  });

  it('is read again when another process writes or removes it, until it is closed', async () => {
    const file = place();
    const { record, readings, next } = open(file);
    record.watch();
    await record.update(add('a'));
    const program = `const fs = require('node:fs');
      fs.writeFileSync(process.argv[1] + '.new', process.argv[2], { mode: 0o600 });
      fs.renameSync(process.argv[1] + '.new', process.argv[1]);`;
    const found = async (wanted: object): Promise<void> => {
      while (JSON.stringify(readings.at(-1)) !== JSON.stringify(wanted)) await next();
    };
    expect(spawnSync(process.execPath, ['-e', program, file, textOf('b')]).status).toBe(0);
    await found(kept(contentOf('b')));
    rmSync(file);
    await found({ found: 'absent' });
    await record.close();
    const count = readings.length;
    put(file, textOf('c'));
    expect(await record.read()).toEqual(kept(contentOf('c')));
    expect(readings).toHaveLength(count + 1);
  });
});

function kept(content: Words): Reading {
  return { found: 'kept', content };
}
