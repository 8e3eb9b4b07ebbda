/** The table of docs/calls.md about calls that did not run and calls that are sent again. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { shownRowsOf } from '../../scripts/docs/shown-rows.ts';
import { partsWithoutTest, root, titlesIn } from './documents.ts';

const heading = '## What proves that a call did not run';

async function testsInTable(): Promise<readonly string[]> {
  const page = await readFile(join(root, 'docs/calls.md'), 'utf8');
  const [, section = ''] = page.split(heading);
  const [table = ''] = section.split('\n## ');
  return shownRowsOf(table).flatMap(({ shownBy }) => shownBy);
}

describe('the outcome table', () => {
  it('refers to an existing test in each row', async () => {
    const tests = await testsInTable();
    expect(tests.length).toBeGreaterThan(20);
    expect(await partsWithoutTest(tests)).toEqual([]);
  });

  it('has a row for each test that counts runs', async () => {
    const tests = await testsInTable();
    for (const file of ['runtime/calls/executions.test.ts', 'gateway/executions.test.ts']) {
      const titles = await titlesIn(join(root, 'test', file));
      const missing = [...titles].filter((title) => !tests.includes(`\`${file}\` ${title}`));
      expect(missing).toEqual([]);
    }
  });
});
