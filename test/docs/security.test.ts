/** The threat model in docs/security.md. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { type ShownRow, shownRowsOf } from '../../scripts/docs/shown-rows.ts';
import { partsWithoutTest, root } from './documents.ts';

const attackers = [
  'Servers',
  'Project files',
  'Other users of the machine',
  'Web pages',
  'Models and gateway clients',
] as const;

async function threatsOf(attacker: string): Promise<readonly ShownRow[]> {
  const page = await readFile(join(root, 'docs/security.md'), 'utf8');
  const [, section = ''] = page.split(`\n## ${attacker}\n`);
  const [table = ''] = section.split('\n## ');
  return shownRowsOf(table);
}

describe('the threat model', () => {
  it.each(attackers)('has a defence and an existing test for each threat: %s', async (attacker) => {
    const threats = await threatsOf(attacker);
    expect(threats.length).toBeGreaterThan(3);
    expect(threats.filter(({ cells: [, defence = ''] }) => defence === '')).toEqual([]);
    expect(await partsWithoutTest(threats.flatMap(({ shownBy }) => shownBy))).toEqual([]);
  });
});
