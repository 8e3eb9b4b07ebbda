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

/** The files that a process loaded, according to Node's coverage. */
async function urlsLoadedBy(...args: readonly string[]): Promise<readonly string[]> {
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
    return await urlsIn(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The runtime dependencies among the files that a process loaded. */
async function packagesLoadedBy(...args: readonly string[]): Promise<readonly string[]> {
  const loaded = new Set((await urlsLoadedBy(...args)).map(packageOf));
  const manifest = await readFile(join(root, 'package.json'), 'utf8');
  const { dependencies } = JSON.parse(manifest) as Manifest;
  return Object.keys(dependencies).filter((name) => loaded.has(name));
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

  it('loads nothing of the SDK for sessions with older servers', async () => {
    const server = join(root, 'test/bench/servers/stdio-echo.mjs');
    const settings = { mcpServers: { db: { command: process.execPath, args: [server] } } };
    const script = `
      const { createTroupe } = await import('./src/index.ts');
      const troupe = createTroupe(${JSON.stringify({ settings })});
      await troupe.callTool('mcp__db__echo', { text: 'hello' });
      await import('./test/bench/servers.ts');
      await troupe.stop();`;
    const urls = await urlsLoadedBy('--input-type=module', '--eval', script);
    // The last line but one of the script, so the call was answered.
    expect(urls.some((url) => url.endsWith('/test/bench/servers.ts'))).toBe(true);
    expect(urls.filter((url) => url.includes('/node_modules/@modelcontextprotocol/'))).toEqual([]);
  });

  it.each(['--help', 'status'])('loads only the command line for troupe %s', async (word) => {
    expect(await packagesLoadedBy('src/cli/main.ts', word)).toEqual(['commander', 'env-paths']);
  });
});
