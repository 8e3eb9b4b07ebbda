import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { type CatalogFiles, createCatalogFiles } from '../../../actors/stores/catalogs.ts';
import { emptyCatalog } from '../../../src/domain/catalog.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { type CatalogEntry, entryName } from '../../../src/policies/tools/stored-catalog.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const day = 86_400_000;
const startMs = Date.parse('2026-11-01T00:00:00Z');

let stateDir: string;
let problems: readonly Problem[];
let clock: VirtualClock;

beforeEach(() => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-catalogs-'));
  problems = [];
  clock = new VirtualClock({ wallMs: startMs });
});
afterEach(() => {
  chmodSync(stateDir, 0o700);
  rmSync(stateDir, { recursive: true, force: true });
});

function files(): CatalogFiles {
  return createCatalogFiles({ stateDir, clock, onProblems: (list) => (problems = list) });
}

function entryOf(server: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    server,
    generation: 'g1',
    listedAt: clock.wallNow(),
    catalog: {
      ...emptyCatalog,
      tools: [{ name: 'query', description: 'Asks.', inputSchema: { type: 'object' } }],
      resources: [{ uri: 'note://all', name: 'notes' }],
      resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note' }],
      prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
      instructions: 'Ask.',
      completions: true,
    },
    era: { verdict: { kind: 'legacy' }, at: clock.wallNow() },
    ...more,
  };
}

async function stored(...entries: readonly CatalogEntry[]): Promise<void> {
  const writer = files();
  for (const entry of entries) writer.save(entry, []);
  await writer.close();
}

function load(server = 'db', generation = 'g1', maxAgeMs: number | null = 30 * day) {
  return files().load([{ server, generation, maxAgeMs }]);
}

function fileOf(server: string): string {
  return path.join(stateDir, 'catalogs', `${entryName({ server, generation: 'g1' })}.json`);
}

describe('stored catalogs', () => {
  it('keeps icons, metadata and fields of later revisions', async () => {
    const more = { icons: [{ src: 'a:b' }], _meta: { a: 1 }, extra: { 'x-future': [1] } };
    const about = { annotations: { priority: 1 }, ...more };
    const entry = entryOf('db', {
      catalog: {
        ...emptyCatalog,
        tools: [{ name: 'query', inputSchema: { type: 'object' }, execution: {}, ...more }],
        resources: [{ uri: 'note://all', name: 'notes', ...about }],
        resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note', ...about }],
        prompts: [{ name: 'greet', arguments: [{ name: 'who', extra: { kind: 1 } }], ...more }],
      },
    });
    const first = files();
    first.save(entry, []);
    await first.close();
    expect(await files().load([{ server: 'db', generation: 'g1', maxAgeMs: null }])).toEqual([
      entry,
    ]);
  });

  it('are read as written, with the era and its date', async () => {
    const entry = entryOf('db');
    await stored(entry);
    expect(await load()).toEqual([entry]);
    expect(problems).toEqual([]);
  });

  it('tell an empty list from one that the server has not sent yet', async () => {
    const catalog = { ...entryOf('db').catalog, resources: [], prompts: [], unlisted: ['prompts'] };
    const entry = entryOf('db', { catalog: catalog as CatalogEntry['catalog'] });
    await stored(entry);
    expect(await load()).toEqual([entry]);
  });

  it('are private files in a private folder', async () => {
    await stored(entryOf('db'));
    expect(statSync(fileOf('db')).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(fileOf('db'))).mode & 0o777).toBe(0o700);
    expect(readdirSync(path.dirname(fileOf('db')))).toHaveLength(1);
  });

  it('belong to one server and one generation', async () => {
    await stored(entryOf('db'));
    expect(await load('web')).toEqual([]);
    expect(await load('db', 'g2')).toEqual([]);
    writeFileSync(fileOf('web'), readFileSync(fileOf('db')));
    expect(await load('web')).toEqual([]);
    expect(problems[0]?.message).toContain('it belongs to another server');
  });

  it.each([
    ['a day less than thirty days', 29 * day, 30 * day, 1],
    ['thirty days', 30 * day, 30 * day, 0],
    ['thirty days, however long the policy allows', 30 * day, null, 0],
    ['longer than the policy allows', 10, 10, 0],
  ])('are read only up to their maximum age: %s', async (_what, ageMs, maxAgeMs, count) => {
    await stored(entryOf('db'));
    clock = new VirtualClock({ wallMs: startMs + ageMs });
    expect(await load('db', 'g1', maxAgeMs)).toHaveLength(count);
  });

  it('are ignored when dated in the future', async () => {
    await stored(entryOf('db', { listedAt: startMs + 1 }));
    expect(await load()).toEqual([]);
  });

  it('are written once, half a second after the first of several saves', async () => {
    const writer = files();
    writer.save(entryOf('db', { catalog: emptyCatalog }), []);
    await clock.advanceAndSettle(499);
    writer.save(entryOf('db'), []);
    expect(await load()).toEqual([]);
    await clock.advanceAndSettle(1);
    await writer.close();
    expect(await load()).toMatchObject([{ catalog: { tools: [{ name: 'query' }] } }]);
  });

  it('are rewritten when changed and otherwise once a day', async () => {
    await stored(entryOf('db'));
    const writer = files();
    await writer.load([{ server: 'db', generation: 'g1', maxAgeMs: null }]);
    const { ino } = statSync(fileOf('db'));
    writer.save(entryOf('db', { listedAt: startMs + day - 1 }), []);
    await writer.close();
    expect(statSync(fileOf('db')).ino).toBe(ino);
    writer.save(entryOf('db', { listedAt: startMs + day }), []);
    await writer.close();
    clock = new VirtualClock({ wallMs: startMs + 2 * day });
    expect(await load()).toMatchObject([{ listedAt: startMs + day }]);
  });

  it('contain no secrets, not even in text from the server', async () => {
    const words = (text: string) => ({ catalog: { ...entryOf('db').catalog, instructions: text } });
    await stored(entryOf('db'));
    const writer = files();
    writer.save(entryOf('db', words('The key is "s3cr\\et".')), ['s3cr\\et']);
    writer.save(entryOf('web', words('The key is none.')), ['s3cr\\et']);
    await writer.close();
    expect(await load('db')).toEqual([]);
    expect(await load('web')).toHaveLength(1);
  });
});

describe('an invalid stored catalog', () => {
  it.each([
    ['empty', () => ''],
    ['truncated', (text: string) => text.slice(0, -10)],
    ['a list', () => '[]'],
    ['without a date', (text: string) => text.replace('"listedAt":', '"was":')],
    ['altered', (text: string) => text.replace('Asks.', 'Pays.')],
  ])('is a cache miss, set aside and reported once when it is %s', async (_what, damage) => {
    await stored(entryOf('db'));
    writeFileSync(fileOf('db'), damage(readFileSync(fileOf('db'), 'utf8')));
    expect(await load()).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ file: fileOf('db') });
    expect(problems[0]?.message).toMatch(
      /stored catalog of db is damaged .* set aside as \w+\.damaged/u,
    );
    problems = [];
    expect(await load()).toEqual([]);
    expect(problems).toEqual([]);
    await stored(entryOf('db'));
    expect(await load()).toHaveLength(1);
  });

  it('is a cache miss whichever byte is missing', async () => {
    await stored(entryOf('db'));
    const whole = readFileSync(fileOf('db'), 'utf8').trimEnd();
    for (let length = 0; length < whole.length; length += 37) {
      writeFileSync(fileOf('db'), whole.slice(0, length));
      expect(await load()).toEqual([]);
    }
  });

  it('is set aside and reported when it is nested too deeply', async () => {
    await stored(entryOf('db'));
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const text = readFileSync(fileOf('db'), 'utf8');
    writeFileSync(fileOf('db'), text.replace('"resources":', `"more":${deep},"resources":`));
    expect(await load()).toEqual([]);
    expect(problems[0]?.message).toContain('set aside');
    expect(readdirSync(path.dirname(fileOf('db')))).not.toContain(path.basename(fileOf('db')));
  });

  it('is replaced by the next save when it is not a plain file', async () => {
    await stored(entryOf('db'));
    const elsewhere = path.join(stateDir, 'elsewhere.json');
    renameSync(fileOf('db'), elsewhere);
    symlinkSync(elsewhere, fileOf('db'));
    expect(await load()).toEqual([]);
    await stored(entryOf('db', { listedAt: startMs + 1 }));
    clock = new VirtualClock({ wallMs: startMs + 1 });
    expect(await load()).toHaveLength(1);
    expect(readFileSync(elsewhere, 'utf8')).toContain(`"listedAt":${startMs},`);
  });

  // Opening a pipe to read waits for a writer, and blocks a thread of the pool.
  it.runIf(process.platform !== 'win32')('does not block when it is a pipe', async () => {
    await stored(entryOf('db'));
    rmSync(fileOf('db'));
    execFileSync('mkfifo', [fileOf('db')]);
    expect(await load()).toEqual([]);
  });

  it('is a silent cache miss when another version wrote it', async () => {
    await stored(entryOf('db'));
    const text = readFileSync(fileOf('db'), 'utf8');
    writeFileSync(fileOf('db'), text.replace('"version":1', '"version":2'));
    expect(await load()).toEqual([]);
    expect(problems).toEqual([]);
    await stored(entryOf('db'));
    expect(await load()).toHaveLength(1);
  });

  it('is removed without being read when it is too large', async () => {
    await stored(entryOf('db'));
    writeFileSync(fileOf('db'), Buffer.alloc(8 * 1024 * 1024 + 1, ' '));
    expect(await load()).toEqual([]);
    expect(problems[0]?.message).toContain('too large');
    expect(readdirSync(path.dirname(fileOf('db')))).toEqual([]);
  });

  it('is removed instead of written when it would be too large', async () => {
    await stored(entryOf('db'));
    const tools = Array.from({ length: 600 }, (_, index) => ({
      name: `t${index}`,
      description: 'x'.repeat(16_000),
      inputSchema: { type: 'object' },
    }));
    await stored(entryOf('db', { catalog: { ...emptyCatalog, tools } }));
    expect(await load()).toEqual([]);
  });

  it('keeps the valid part of a catalog', async () => {
    const tools = [
      { name: 'good', inputSchema: { type: 'object' } },
      { name: 'bad\u001b[2J', inputSchema: { type: 'object' } },
    ];
    await stored(entryOf('db', { catalog: { ...emptyCatalog, tools } }));
    expect(await load()).toMatchObject([{ catalog: { tools: [{ name: 'good' }] } }]);
  });
});

describe('the catalog folder', () => {
  it('is bounded by removing the oldest files', async () => {
    mkdirSync(path.join(stateDir, 'catalogs'));
    const old = (name: string, ageDays: number, bytes: number): void => {
      const file = path.join(stateDir, 'catalogs', name);
      writeFileSync(file, Buffer.alloc(bytes));
      utimesSync(file, (startMs - ageDays * day) / 1_000, (startMs - ageDays * day) / 1_000);
    };
    const half = 32 * 1024 * 1024;
    old('older.json', 3, half);
    old('newer.json', 1, half - 100);
    old('forgotten.json', 31, 10);
    old('draft.json.x.tmp', 1, 10);
    old('foreign.txt', 40, 10);
    await stored(entryOf('db'));
    expect(readdirSync(path.join(stateDir, 'catalogs')).sort()).toEqual(
      [path.basename(fileOf('db')), 'newer.json', 'foreign.txt'].sort(),
    );
  });

  it.runIf(process.getuid?.() !== 0)(
    'is reported once and unused when it is not writable',
    async () => {
      chmodSync(stateDir, 0o500);
      await stored(entryOf('db'), entryOf('web'));
      expect(problems).toHaveLength(1);
      expect(problems[0]?.message).toContain('EACCES');
    },
  );

  it('is reported once and unused when it is not a folder', async () => {
    writeFileSync(path.join(stateDir, 'catalogs'), '');
    const both = files();
    expect(
      await both.load(
        ['db', 'web'].map((server) => ({ server, generation: 'g1', maxAgeMs: null })),
      ),
    ).toEqual([]);
    both.save(entryOf('db'), []);
    both.save(entryOf('web'), []);
    await both.close();
    both.save(entryOf('db'), []);
    await both.close();
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('cannot be read (ENOTDIR)'),
      expect.stringMatching(/cannot be stored here \((?:EEXIST|ENOTDIR)\)/u),
    ]);
  });
});
