import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, titlesIn } from './documents.ts';

interface Row {
  readonly id: string;
  readonly whatWeDo: string;
  /** Tests by file below `test/` and name. */
  readonly tests: readonly { readonly file: string; readonly title: string }[];
  /** What the last cell holds that is no test. */
  readonly rest: string;
}

const testPattern = /^`([\w./-]+\.test\.ts)` (.+)$/;

function rowsOf(page: string): readonly Row[] {
  const lines = page.split('\n').filter((line) => /^\| [A-Z]/.test(line));
  return lines.map((line) => {
    const [, id = '', , whatWeDo = '', shownBy = ''] = line.split(/ ?\| ?/);
    const parts = shownBy.split('<br>');
    return {
      id,
      whatWeDo,
      tests: parts.flatMap((part) => {
        const [, file, title] = testPattern.exec(part) ?? [];
        return file === undefined || title === undefined ? [] : [{ file, title }];
      }),
      rest: parts.filter((part) => !testPattern.test(part)).join(),
    };
  });
}

describe('the page about parity', async () => {
  const rows = rowsOf(await readFile(join(root, 'docs/parity.md'), 'utf8'));

  it('names only tests that exist', async () => {
    const named = rows.flatMap(({ id, tests }) => tests.map((test) => ({ id, ...test })));
    const files = [...new Set(named.map(({ file }) => file))];
    const found = new Map<string, ReadonlySet<string>>();
    for (const file of files) {
      const path = join(root, 'test', file);
      if (existsSync(path)) found.set(file, await titlesIn(path));
    }
    const lost = named.filter(({ file, title }) => found.get(file)?.has(title) !== true);
    expect(lost.map(({ id, file, title }) => `${id}: ${file} ${title}`)).toEqual([]);
    expect(named.length).toBeGreaterThan(100);
  });

  it('has each row once, with a test or with the plain word that nothing is done', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, place) => ids.indexOf(id) !== place)).toEqual([]);
    const bare = rows.filter(
      ({ whatWeDo, tests, rest }) =>
        rest !== (tests.length > 0 ? '' : '–') ||
        (tests.length === 0 && !whatWeDo.startsWith('**not done')),
    );
    expect(bare.map(({ id }) => id)).toEqual([]);
  });
});
