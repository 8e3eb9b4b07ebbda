/**
 * Slow packages are loaded at their first use. One careless import would undo that for every user,
 * and no other test would notice.
 */

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

/** All files that a process loaded, from its coverage report. */
async function urlsIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('coverage-'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) => (JSON.parse(text) as Coverage).result.map(({ url }) => url));
}

function packageOf(url: string): string | undefined {
  return /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/u.exec(url)?.[1];
}

/** The runtime dependencies that a process loaded, according to Node's coverage. */
async function packagesLoadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-loaded-'));
  try {
    await new Promise<void>((resolve) => {
      // A command without a running troupe exits with an error code, which does not matter here.
      execFile(
        process.execPath,
        ['--import', 'tsx', ...args],
        { cwd: root, env: { ...process.env, NODE_V8_COVERAGE: folder, MCP_TROUPE_HOME: folder } },
        () => resolve(),
      );
    });
    const loaded = new Set((await urlsIn(folder)).map(packageOf));
    const manifest = await readFile(join(root, 'package.json'), 'utf8');
    const { dependencies } = JSON.parse(manifest) as Manifest;
    return Object.keys(dependencies).filter((name) => loaded.has(name));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('a process', () => {
  it('loads only packages for charts and settings when it imports mcp-troupe', async () => {
    expect(await packagesLoadedBy('--eval', "import('./src/index.ts')")).toEqual([
      'canonicalize',
      'fast-deep-equal',
      'jsonc-parser',
      'xstate',
      'zod',
    ]);
  });

  it.each(['--help', 'status'])('loads only the command line for troupe %s', async (word) => {
    expect(await packagesLoadedBy('src/cli/main.ts', word)).toEqual(['commander', 'env-paths']);
  });
});
