import { expect, it } from 'vitest';
import { wideTokenNote } from '../../../src/policies/text/wide-token.ts';

it('names the resource of a wide token on one line', () => {
  const note = wideTokenNote('db', `https://example.test/?\n${'x'.repeat(1_000)}`);
  expect(note).toMatch(/^db asks for a token for https:\/\/example\.test\/\?.*, which is not its/u);
  expect(note.length).toBeLessThan(450);
});
