import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createResultFiles, type ResultFileLimits } from '../../../actors/stores/results.ts';

let stateDir = '';
let now = 1_000_000_000_000;
beforeEach(() => {
  stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-results-'));
});
afterEach(() => {
  rmSync(stateDir, { recursive: true, force: true });
});

const folder = () => path.join(stateDir, 'results');
const few: ResultFileLimits = { filesMaxCount: 3, filesMaxBytes: 100, filesMaxAgeMs: 10_000 };
const filesOf = (changed?: Partial<ResultFileLimits>) => {
  const files = createResultFiles({ stateDir, wallNow: () => now });
  return {
    save: (
      content: string | Uint8Array,
      extension: string,
      limits: ResultFileLimits = { ...few, ...changed },
    ) => files.save(content, extension, limits),
  };
};

describe('result files', () => {
  it('are private and have random names', async () => {
    const files = filesOf();
    const [one, other] = await Promise.all([
      files.save('grüße', 'txt'),
      files.save(Buffer.from([0, 255]), 'png'),
    ]);
    expect(path.dirname(String(one))).toBe(folder());
    expect(path.basename(String(one))).toMatch(/^[0-9a-f]{32}\.txt$/);
    expect(path.basename(String(other))).toMatch(/^[0-9a-f]{32}\.png$/);
    expect(readFileSync(String(one), 'utf8')).toBe('grüße');
    expect([...readFileSync(String(other))]).toEqual([0, 255]);
    expect(statSync(String(one)).mode & 0o777).toBe(0o600);
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
  });

  it.each(['', '../../evil', 'TXT', 'a/b', 'toolong', '.txt'])(
    'are not written with the extension %j',
    async (extension) => {
      expect(await filesOf().save('x', extension)).toBeUndefined();
      expect(readdirSync(folder())).toEqual([]);
      expect(readdirSync(stateDir)).toEqual(['results']);
    },
  );

  it('are limited in number by removing the oldest', async () => {
    const files = filesOf();
    const saved: (string | undefined)[] = [];
    for (const text of ['a', 'b', 'c']) saved.push(await files.save(text, 'txt'));
    expect(readdirSync(folder())).toHaveLength(3);
    await files.save('d', 'txt');
    expect(readdirSync(folder())).toHaveLength(3);
    expect(readdirSync(folder())).not.toContain(path.basename(String(saved[0])));
  });

  it('are limited in total size by removing the oldest', async () => {
    const files = filesOf();
    await files.save('x'.repeat(60), 'txt');
    await files.save('x'.repeat(40), 'txt');
    expect(readdirSync(folder())).toHaveLength(2);
    await files.save('x', 'txt');
    expect(readdirSync(folder())).toHaveLength(2);
    expect(await files.save('x'.repeat(101), 'txt')).toBeUndefined();
    expect(await files.save('x'.repeat(100), 'txt')).toBeDefined();
    expect(readdirSync(folder())).toHaveLength(1);
  });

  it('are removed when too old, even from earlier runs', async () => {
    mkdirSync(folder());
    const left = `${'a'.repeat(32)}.txt`;
    writeFileSync(path.join(folder(), left), 'x');
    writeFileSync(path.join(folder(), 'notes.txt'), 'mine');
    utimesSync(path.join(folder(), left), now / 1_000, now / 1_000);
    utimesSync(path.join(folder(), 'notes.txt'), 0, 0);
    const files = filesOf();
    now += 10_000;
    const kept = path.basename(String(await files.save('new', 'txt')));
    expect(readdirSync(folder()).sort()).toEqual([left, kept, 'notes.txt'].sort());
    now += 1;
    const other = path.basename(String(await files.save('newer', 'txt')));
    expect(readdirSync(folder()).sort()).toEqual([kept, other, 'notes.txt'].sort());
  });

  it('use the current limits', async () => {
    const files = filesOf();
    for (const text of ['a', 'b', 'c']) await files.save(text, 'txt');
    const last = await files.save('d', 'txt', { ...few, filesMaxCount: 1 });
    expect(readdirSync(folder())).toEqual([path.basename(String(last))]);
  });

  it('are removed when only partly written', async () => {
    const files = filesOf();
    const handle = await open(path.join(stateDir, 'other'), 'w');
    const ofHandles = Object.getPrototypeOf(handle) as typeof handle;
    const whole = Reflect.get(ofHandles, 'writeFile') as (
      this: typeof handle,
      content: string,
    ) => Promise<void>;
    ofHandles.writeFile = async function half(this: typeof handle) {
      await whole.call(this, 'ha');
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    };
    try {
      expect(await files.save('half', 'txt')).toBeUndefined();
    } finally {
      ofHandles.writeFile = whole;
      await handle.close();
    }
    expect(readdirSync(folder())).toEqual([]);
    expect(await files.save('half', 'txt')).toBeDefined();
  });

  it('are saved even if an older one cannot be removed', async () => {
    mkdirSync(path.join(folder(), `${'a'.repeat(32)}.txt`), { recursive: true });
    const files = filesOf({ filesMaxCount: 1 });
    expect(await files.save('x', 'txt')).toBeDefined();
    expect(readdirSync(folder())).toHaveLength(2);
  });

  it('are not written through a link in place of their folder', async () => {
    const elsewhere = path.join(stateDir, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, folder());
    expect(await filesOf().save('secret', 'txt')).toBeUndefined();
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('fail without affecting the next file', async () => {
    writeFileSync(folder(), 'in the way');
    const files = filesOf();
    expect(await files.save('x', 'txt')).toBeUndefined();
    rmSync(folder());
    expect(await files.save('x', 'txt')).toBeDefined();
  });
});
