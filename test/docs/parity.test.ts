import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shownRowsOf, testNamedIn } from '../../scripts/docs/shown-rows.ts';
import { partsWithoutTest, root } from './documents.ts';

describe('the parity page', async () => {
  const rows = shownRowsOf(await readFile(join(root, 'docs/parity.md'), 'utf8')).map(
    ({ cells: [id = '', , whatWeDo = ''], shownBy }) => ({
      id,
      whatWeDo,
      tests: shownBy.filter((part) => testNamedIn(part) !== undefined),
      rest: shownBy.filter((part) => testNamedIn(part) === undefined).join(),
    }),
  );

  it('refers only to tests that exist', async () => {
    const named = rows.flatMap(({ tests }) => tests);
    expect(await partsWithoutTest(named)).toEqual([]);
    expect(named.length).toBeGreaterThan(100);
  });

  it('has each row once, with a test or a "not done" mark', () => {
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
