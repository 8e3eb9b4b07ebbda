import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

// Compiling the sources and starting a published server takes five seconds on a busy machine. The
// limit only reports a hang.
const limitMs = 60_000;

describe('the embedding example', () => {
  it('is the first TypeScript block of the README and has at most 20 lines', async () => {
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    const example = await readFile(join(root, 'examples/embedding.ts'), 'utf8');
    const [, shown] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(shown).toBe(example);
    expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
  });

  it("calls a published server's tool and exits", { timeout: limitMs }, async () => {
    const { stdout, stderr } = await run(
      process.execPath,
      ['--import', 'tsx', 'examples/embedding.ts'],
      { cwd: root, timeout: limitMs - 5_000 },
    );
    expect(stderr).toBe('');
    expect(stdout).toContain('everything ready\n');
    expect(stdout).toContain('The sum of 2 and 3 is 5.\n');
  });
});
