import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isWithin, pathWithin } from '../../../actors/files/path-within.ts';

let outer = '';
const at = (...parts: string[]): string => path.join(outer, ...parts);

beforeAll(() => {
  outer = realpathSync(mkdtempSync(path.join(tmpdir(), 'ways-')));
  mkdirSync(at('project', 'sub', 'deep'), { recursive: true });
  mkdirSync(at('elsewhere'));
  writeFileSync(at('project', 'file'), '');
  writeFileSync(at('elsewhere', 'file'), '');
  symlinkSync('../../file', at('project', 'sub', 'deep', 'up'));
  symlinkSync(at('project', 'sub'), at('project', 'absolute'));
  symlinkSync('absolute/deep', at('project', 'chain'));
  symlinkSync('../elsewhere', at('project', 'out'));
  symlinkSync('/net/host.example/share', at('project', 'network'));
  symlinkSync('chain/../../../elsewhere', at('project', 'sly'));
  symlinkSync('../project/file', at('project', 'around'));
  symlinkSync('circle', at('project', 'circle'));
  symlinkSync(`${at('project')}-b/../project/file`, at('project', 'detour'));
});
afterAll(() => rmSync(outer, { recursive: true, force: true }));

describe('the path to a file in a folder', () => {
  it.each(['file', 'sub/deep/up', 'absolute/deep', 'chain/up', '.', 'sub/deep/../deep'])(
    'is followed while it stays inside the folder: %s',
    async (name) => {
      const file = at('project', name);
      expect(await pathWithin(file, at('project'))).toEqual({
        place: realpathSync(file),
        isInside: true,
      });
    },
  );

  it.each([
    ['out/file', 'elsewhere/file'],
    ['out', 'elsewhere'],
    ['sly', 'elsewhere'],
    ['../elsewhere/file', 'elsewhere/file'],
  ])('ends where it leaves the folder: %s', async (name, place) => {
    const way = await pathWithin(path.join(at('project'), name), at('project'));
    expect(way).toEqual({ place: at(place), isInside: false });
  });

  it("reports a network link's target without following it", async () => {
    expect(await pathWithin(at('project', 'network', 'x'), at('project'))).toEqual({
      place: '/net/host.example/share/x',
      isInside: false,
    });
  });

  it.each(['around', 'detour'])(
    'ends where it leaves the folder, even if it returns: %s',
    async (name) => {
      expect((await pathWithin(at('project', name), at('project'))).isInside).toBe(false);
    },
  );

  it('stays inside the folder for missing files and link cycles', async () => {
    const missing = at('project', 'sub', 'none', 'file');
    expect(await pathWithin(missing, at('project'))).toEqual({ place: missing, isInside: true });
    expect((await pathWithin(at('project', 'circle'), at('project'))).isInside).toBe(true);
  });
});

describe('a containment check', () => {
  it.each([
    ['/a', '/a', true],
    ['/a/..b', '/a', true],
    ['/a/b', '/a', true],
    ['/ab', '/a', false],
    ['/', '/a', false],
    ['/a', '/', true],
  ])('reports whether %s is within %s: %s', (place, folder, expected) => {
    expect(isWithin(place, folder)).toBe(expected);
  });
});
