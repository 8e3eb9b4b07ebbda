/** The stories in `test/traces/`: what a chart did, below a heading that is written by hand. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';

/** The heading of a new story until its author writes one; a test refuses it. */
const blankHeading = '# (What this story shows, and why it matters.)';

/**
 * Compares a story with its file: `losses/crash-loop` is `test/traces/losses/crash-loop.txt`.
 *
 * The file begins with a heading that no run produces. An update rewrites the story and keeps it.
 */
export async function expectStory(
  story: { readonly toString: () => string },
  name: string,
): Promise<void> {
  const file = fileURLToPath(new URL(`../traces/${name}.txt`, import.meta.url));
  const heading = headingOf(file) ?? blankHeading;
  await expect(`${heading}\n${story.toString()}`).toMatchFileSnapshot(file);
}

/** Returns a story's heading, or `undefined` if its file has none or does not exist. */
export function headingOf(file: string): string | undefined {
  const [heading = ''] = contentOf(file).split('\n', 1);
  return heading.startsWith('# ') && heading !== blankHeading ? heading : undefined;
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
