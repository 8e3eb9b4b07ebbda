import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { InspectionSource } from '../../src/domain/host/inspection.ts';
import { JournalWriter, journalOf } from '../../src/recorder/journal.ts';
import { openJournal } from '../../visualizations/server/replay-source.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { type Stage, servers, stageOf } from '../runtime/stage.ts';

interface Written {
  readonly stage: Stage;
  readonly source: InspectionSource;
  readonly file: string;
  readonly faults: string[];
  readonly errors: unknown[];
  readonly writer: JournalWriter;
}

async function writing(
  more: { readonly file?: string; readonly maxBytes?: number; readonly files?: number } = {},
  records = 100_000,
): Promise<Written> {
  const stage = await stageOf({ settings: servers({ db: 'srv' }), record: { records } });
  const faults: string[] = [];
  const errors: unknown[] = [];
  const file = path.join(temporaryFolder(), 'journal', 'db.ndjson');
  const source = stage.troupe.inspection;
  const writer = new JournalWriter(source, {
    file,
    ...more,
    report: (message, error) => {
      faults.push(message);
      errors.push(error);
    },
  });
  return { stage, source, file: more.file ?? file, faults, errors, writer };
}

async function restart({ stage }: Written): Promise<void> {
  stage.troupe.send({ type: 'server.restart', server: 'db' });
  await stage.settle();
  // The writer is woken once whatever happened is over.
  await new Promise(setImmediate);
}

const namesIn = (file: string): readonly string[] => readdirSync(path.dirname(file)).toSorted();

describe('a journal', () => {
  it('replays every recorded moment', async () => {
    const written = await writing();
    const { source, file, writer } = written;
    const began = source.last;
    for (let count = 0; count < 5; count += 1) await restart(written);
    await writer.close();
    const replay = await openJournal(file);
    expect(replay).toMatchObject({
      startedAt: source.startedAt,
      clockStart: source.clockStart,
      version: source.version,
      machines: source.machines,
      first: began + 1,
      last: source.last,
    });
    expect(replay.records(began + 1, 10_000)).toEqual(source.records(began + 1, 10_000));
    expect(replay.records(replay.last, 5)).toEqual(source.records(source.last, 5));
    const actors = source.picture()?.actors ?? [];
    for (let n = began; n <= source.last; n += 1) {
      expect(replay.picture(n)).toEqual(source.picture(n));
      for (const { actor } of actors)
        expect(replay.context(actor, n)).toEqual(source.context(actor, n));
    }
    expect(replay.picture(began - 1)).toBeUndefined();
    expect(replay.picture(source.last + 1)).toBeUndefined();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('rotates full files and keeps the newest, each self-contained', async () => {
    const written = await writing({ maxBytes: 20_000, files: 3 });
    const { source, file, writer } = written;
    for (let count = 0; count < 60; count += 1) await restart(written);
    await writer.close();
    expect(namesIn(file)).toEqual(['db.1.ndjson', 'db.2.ndjson', 'db.ndjson']);
    const parts = [];
    for (const name of ['db.2.ndjson', 'db.1.ndjson', 'db.ndjson']) {
      const part = await openJournal(path.join(path.dirname(file), name));
      expect(part.picture(part.last)).toEqual(source.picture(part.last));
      parts.push(part);
    }
    expect(parts.map(({ first }) => first - 1)).toEqual([
      expect.any(Number),
      parts[0]?.last,
      parts[1]?.last,
    ]);
    expect(parts[0]?.first).toBeGreaterThan(1);
    expect(parts[2]?.last).toBe(source.last);
  });

  it("keeps an earlier run's files", async () => {
    const first = await writing();
    await first.writer.close();
    const { writer, file } = await writing({ file: first.file });
    await writer.close();
    expect(namesIn(file)).toEqual(['db.1.ndjson', 'db.ndjson']);
    expect((await openJournal(file)).first).toBeGreaterThan(0);
  });

  it.each([
    ['a file', 'db.ndjson', (file: string) => writeFileSync(file, 'precious')],
    ['settings', 'db.ndjson', (file: string) => writeFileSync(file, '{"mcpServers":{}}\n')],
    ['a folder', 'db.ndjson', (file: string) => mkdirSync(file)],
    ['a link', 'db.ndjson', (file: string) => symlinkSync('elsewhere', file)],
    ['an older part', 'db.3.ndjson', (file: string) => writeFileSync(file, 'precious')],
  ])('leaves %s that is not a journal in place', async (_what, name, make) => {
    const folder = temporaryFolder();
    const other = path.join(folder, name);
    make(other);
    const { writer, file, errors } = await writing({ file: path.join(folder, 'db.ndjson') });
    await writer.close();
    expect(namesIn(file)).toEqual([name]);
    expect(errors).toEqual([
      expect.objectContaining({
        code: 'USAGE',
        message: `${other} is not a journal and would be replaced; choose another file for the journal`,
      }),
    ]);
  });

  it('starts a new file with the current state when it falls behind the ring', async () => {
    const written = await writing({}, 50);
    const { stage, source, file, writer } = written;
    await restart(written);
    // Far more than the ring holds, before the writer hears of any.
    for (let count = 0; count < 10; count += 1) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.settle();
    }
    await writer.close();
    const replay = await openJournal(file);
    expect(replay.last).toBe(source.last);
    expect(replay.picture()).toEqual(source.picture());
  });

  it('ends when the disk fails, reports it once and affects nothing else', async () => {
    const folder = temporaryFolder();
    // A folder cannot be made below a file, not even by root.
    writeFileSync(path.join(folder, 'full'), '');
    const file = path.join(folder, 'full', 'db.ndjson');
    const written = await writing({ file });
    for (let count = 0; count < 3; count += 1) await restart(written);
    await written.writer.close();
    expect(written.faults).toEqual([
      expect.stringContaining(`The journal ${file} cannot be written`),
    ]);
    expect(written.stage.stateOf('db')).toBe('ready');
    expect(written.stage.errors).toEqual([]);
    expect(written.source.last).toBeGreaterThan(50);
  });

  it('is readable up to the point of a crash', async () => {
    const written = await writing();
    await restart(written);
    await written.writer.close();
    const { file } = written;
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.slice(0, -20));
    const replay = await openJournal(file);
    expect(replay.last).toBe(written.source.last - 1);
  });
});

describe('a journal that is saved more slowly than the ring advances', () => {
  it('ends where unsent records are dropped', async () => {
    const { stage, source, file, writer } = await writing({}, 50);
    await writer.close();
    const pieces = journalOf(source);
    const head = pieces.next().value as string;
    while (source.first <= 100) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.settle();
    }
    writeFileSync(file, [head, ...pieces].join(''));
    const saved = await openJournal(file);
    expect(saved.last).toBe(saved.first - 1);
  });
});

describe('a file that is not a journal', () => {
  const head = {
    kind: 'journal',
    format: 1,
    version: '0',
    startedAt: '',
    clockStart: 0,
    machines: {},
    picture: { n: 0, t: 0, actors: [], servers: [] },
    contexts: {},
  };
  const lines = (...documents: readonly unknown[]): string =>
    documents.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join('');
  const ignored = { kind: 'ignored', n: 1, t: 0, actor: 'x:1', type: 'a' };

  it.each([
    ['is empty', '', ':1 is not the start of a journal'],
    ['is plain text', 'hello\n', ':1 is not the start of a journal'],
    ['is other JSON', '{"mcpServers":{}}\n', ':1 is not the start of a journal'],
    ['has a damaged header', lines({ ...head, picture: null }), ':1 is not the start of a journal'],
    ['has a newer version', lines({ ...head, format: 2 }), ':1 was written by a newer version'],
    [
      'has a damaged line',
      lines(head, ignored, '{"kind":', { ...ignored, n: 2 }),
      ':3 is not a journal record',
    ],
    ['lacks a record', lines(head, ignored, { ...ignored, n: 3 }), ':3 is not a journal record'],
    [
      'has a record with another shape',
      lines(head, { kind: 'status', n: 1, t: 0 }),
      ':2 is not a journal record',
    ],
    ['has null for a record', lines(head, null), ':2 is not a journal record'],
    [
      'has a state without its leaves',
      lines(head, { kind: 'state', n: 1, t: 0, actor: 'x:1', life: 'active' }),
      ':2 is not a journal record',
    ],
    [
      'has a status without its state',
      lines(head, { kind: 'status', n: 1, t: 0, status: { name: 'db' } }),
      ':2 is not a journal record',
    ],
    [
      'has a type that is not a string',
      lines(head, { ...ignored, type: {} }),
      ':2 is not a journal record',
    ],
    [
      'has an unknown kind',
      lines(head, { ...ignored, kind: 'constructor' }),
      ':2 is not a journal record',
    ],
    [
      'has null for an actor',
      lines({ ...head, picture: { ...head.picture, actors: [null] } }),
      ':1 is not the start of a journal',
    ],
    [
      'has null for a server',
      lines({ ...head, picture: { ...head.picture, servers: [null] } }),
      ':1 is not the start of a journal',
    ],
  ])('is rejected with its name, the line and a remedy if it %s', async (_, text, said) => {
    const file = path.join(temporaryFolder(), 'a.ndjson');
    writeFileSync(file, text);
    await expect(openJournal(file)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining(file + said),
    });
  });

  it.skipIf(process.platform === 'win32')(
    'is rejected immediately when it is a pipe without a writer',
    async () => {
      const pipe = path.join(temporaryFolder(), 'pipe.ndjson');
      execFileSync('mkfifo', [pipe]);
      await expect(openJournal(pipe)).rejects.toMatchObject({
        message: expect.stringContaining('is not a file'),
      });
    },
  );

  it('is rejected when it is missing or a folder', async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'sub'));
    const missing = path.join(folder, 'none.ndjson');
    await expect(openJournal(missing)).rejects.toMatchObject({
      message: `${missing}: file does not exist; use a journal from troupe up --journal`,
    });
    await expect(openJournal(path.join(folder, 'sub'))).rejects.toMatchObject({
      message: expect.stringContaining('is not a file'),
    });
  });
});

describe('a long journal', () => {
  it('opens with all its moments available', async () => {
    const file = path.join(temporaryFolder(), 'long.ndjson');
    const actor = { actor: 'x:1', id: 'db.0', machine: 'server', server: 'db' };
    const head = {
      kind: 'journal',
      format: 1,
      version: '0',
      startedAt: '',
      clockStart: 0,
      machines: {},
      picture: {
        n: 0,
        t: 0,
        actors: [{ ...actor, life: 'active', leaves: [], timers: [] }],
        servers: [],
      },
      contexts: { 'x:1': { session: 0 } },
    };
    const records = Array.from({ length: 50_000 }, (_, index) => ({
      kind: 'state',
      n: index + 1,
      t: index,
      actor: 'x:1',
      life: 'active',
      leaves: [`s${index + 1}`],
      changed: { session: index + 1 },
    }));
    writeFileSync(file, [head, ...records].map((each) => `${JSON.stringify(each)}\n`).join(''));
    const journal = await openJournal(file);
    for (const n of [0, 1, 499, 500, 501, 27_777, 50_000]) {
      expect(journal.picture(n)?.actors[0]?.leaves).toEqual(n === 0 ? [] : [`s${n}`]);
      expect(journal.context('x:1', n)).toEqual({ session: n });
    }
  });
});
