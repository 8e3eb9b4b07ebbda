/** What the charts say about themselves: laws at their heads, invariants on their fields, headings of stories. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { headingOf } from './golden.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(root + path, 'utf8');
/** The files below a folder, as paths from the root of the repository. */
const filesIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .toSorted();
/** A comment's text in one line, without its stars. */
const unfolded = (text: string): string => text.replaceAll(/\n \* +/gu, ' ');

const stories = filesIn('test/traces', '.txt');

describe.each(['server', 'session'])('the %s chart', (chart) => {
  const [head = ''] = read(`machines/${chart}/${chart}.ts`).split('*/');
  const laws = [...unfolded(head).matchAll(/ \d\. (.+?) Held by `([\w./-]+)`: ([^.]+)\./gu)];

  it('names the test that holds each of its three laws', () => {
    expect(laws).toHaveLength(3);
    for (const [, law, file = '', name = ''] of laws)
      expect(read(file), law).toContain(`'${name}'`);
  });
});

describe('the server chart', () => {
  it('has no region that reads another state', () => {
    const files = filesIn('machines/server', '.ts');
    expect(files.length).toBeGreaterThan(5);
    for (const file of files) expect(read(file), file).not.toMatch(/\b(stateIn|getSnapshot)\b/u);
  });

  it('has a rule for each invariant on a field of its context', () => {
    const rules = read('test/machines/server/invariants.ts');
    const fields = unfolded(read('machines/server/context.ts').replaceAll('\n   * ', '\n * '));
    const invariants = [...fields.matchAll(/Invariant: ([^.]+)\./gu)].map(([, rule]) => rule);
    expect(invariants.length).toBeGreaterThan(8);
    for (const rule of invariants) expect(rules).toContain(`'${rule}'`);
  });
});

describe('a story', () => {
  it.each(stories)('begins with a line that says what it shows: %s', (story) => {
    const heading = headingOf(root + story) ?? '';
    expect(heading).toMatch(/^# [A-Z].{30,}\.$/u);
    expect(stories.filter((other) => headingOf(root + other) === heading)).toEqual([story]);
  });

  it('belongs to exactly one test', () => {
    const tests = filesIn('test/machines', '.test.ts').map(read).join('\n');
    const told = [...tests.matchAll(/expectStory\(\s*\w+,\s*'([\w/-]+)'/gu)].map(
      ([, name]) => name,
    );
    expect(told.map((name) => `test/traces/${name}.txt`).toSorted()).toEqual(stories);
  });
});
