import { describe, expect, it } from 'vitest';
import { requiredRowsOf } from '../bench/report.ts';
import { works } from '../bench/works.ts';
import { readDocuments } from './documents.ts';

describe('docs/speed.md', () => {
  it('shows the rows of the benchmark with their targets', async () => {
    const documents = await readDocuments();
    const text = documents.find(({ path }) => path === 'docs/speed.md')?.text ?? '';
    const [, results = ''] = text.split(/<!-- \/?results -->/u);
    const shown = results
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.slice(2, -2).split(' | '))
      .slice(2)
      .map(([title, , , , required]) => [title, required]);
    expect(shown).toEqual(requiredRowsOf(works));
  });

  it('names each benchmark once', () => {
    const names = works.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
