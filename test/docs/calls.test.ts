/** The table of docs/calls.md that says when a call did not run and when it is sent again. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { root, titlesIn } from './documents.ts';

const heading = '## What proves that a call did not run';
const named = /^`([\w./-]+\.test\.ts)` (.+)$/u;

async function testsByRow(): Promise<ReadonlyMap<string, readonly string[]>> {
  const page = await readFile(join(root, 'docs/calls.md'), 'utf8');
  const [, section = ''] = page.split(heading);
  const [table = ''] = section.split('\n## ');
  const rows = table.split('\n').filter((line) => /^\| [A-Z]/u.test(line));
  return new Map(
    rows.map((row) => {
      const [, what = '', , , shownBy = ''] = row.split(/ ?\| ?/u);
      return [what, shownBy.split('<br>')];
    }),
  );
}

describe('the table of outcomes', () => {
  it('names an existing test in each row', async () => {
    const rows = await testsByRow();
    expect(rows.size).toBeGreaterThan(20);
    const lost: string[] = [];
    for (const [what, tests] of rows) {
      for (const test of tests) {
        const [, file = '', title = ''] = named.exec(test) ?? [];
        const titles = file === '' ? new Set() : await titlesIn(join(root, 'test', file));
        if (!titles.has(title)) lost.push(`${what}: ${test}`);
      }
    }
    expect(lost).toEqual([]);
  });

  it('has a row for each test that counts runs', async () => {
    const rows = [...(await testsByRow()).values()].flat();
    for (const file of ['runtime/call-executions.test.ts', 'gateway/executions.test.ts']) {
      const titles = await titlesIn(join(root, 'test', file));
      const missing = [...titles].filter((title) => !rows.includes(`\`${file}\` ${title}`));
      expect(missing).toEqual([]);
    }
  });
});
