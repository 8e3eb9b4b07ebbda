import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// A Node process, a framework, a published server and the sources compiled on the way: ten
// seconds on a busy machine, and a hang must still be reported.
const limitMs = 90_000;

const examples = ['ai-sdk', 'langchain', 'openai'];

describe('the example of the adapter', () => {
  it.each(examples)(
    '%s has a tool of a real server answer the model, and ends by itself',
    { timeout: limitMs },
    async (name) => {
      const { stdout, stderr } = await run(
        process.execPath,
        ['--import', 'tsx', `examples/adapters/${name}.ts`],
        { cwd: root, timeout: limitMs - 5_000 },
      );
      expect(stderr).toBe('');
      expect(stdout).toContain('The sum of 2 and 3 is 5.\n');
    },
  );

  it.each(examples)('%s is named by the page about adapters', async (name) => {
    const page = await readFile(join(root, 'docs/adapters.md'), 'utf8');
    expect(page).toContain(`../examples/adapters/${name}.ts`);
    expect(page).toContain(`from 'mcp-troupe/${name}'`);
  });
});
