import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { compiledProgram } from '../support/compiled-program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// Starting a published server takes seconds on a busy machine. The limit only reports a hang.
const limitMs = 90_000;

const examples = ['ai-sdk', 'langchain', 'openai'];

describe("an adapter's example", () => {
  const programs = new Map(
    examples.map((name) => [name, compiledProgram(`examples/adapters/${name}.ts`)]),
  );

  it.each(examples)(
    "%s answers the model with a real server's tool and exits",
    { timeout: limitMs },
    async (name) => {
      const { stdout, stderr } = await run(process.execPath, programs.get(name)?.words ?? [], {
        cwd: root,
        timeout: limitMs - 5_000,
      });
      expect(stderr).toBe('');
      expect(stdout).toContain('The sum of 2 and 3 is 5.\n');
    },
  );

  it.each(examples)('%s appears in the adapter documentation', async (name) => {
    const page = await readFile(join(root, 'docs/adapters.md'), 'utf8');
    expect(page).toContain(`../examples/adapters/${name}.ts`);
    expect(page).toContain(`from 'mcp-troupe/${name}'`);
  });
});
