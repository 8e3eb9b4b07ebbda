/**
 * The code as it is published, bundled into a folder of its own. Counts what is loaded: one careless import
 * would make every start slower, and no other test would notice.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const cache = join(root, 'node_modules/.cache');
let folder = '';

// Below node_modules, so that packages outside of the bundle resolve.
beforeAll(async () => {
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, 'mcp-troupe-bundle-'));
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const words = ['build', '--config', 'vite.package.config.ts', '--outDir', folder];
  await run(process.execPath, [vite, ...words], { cwd: root });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

/** The files that a process loads, by Node's coverage: packages by name, ours by path. */
async function loadedBy(...words: readonly string[]): Promise<readonly string[]> {
  const coverage = await mkdtemp(join(tmpdir(), 'mcp-troupe-loaded-'));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: coverage, MCP_TROUPE_HOME: coverage };
    // A command without a running troupe exits with an error code, which does not matter here.
    await run(process.execPath, words, { cwd: root, env }).catch(() => undefined);
    const names = (await readdir(coverage)).filter((name) => name.startsWith('coverage-'));
    const texts = await Promise.all(names.map((name) => readFile(join(coverage, name), 'utf8')));
    const urls = texts.flatMap((text) =>
      (JSON.parse(text) as Coverage).result.map(({ url }) => url),
    );
    const own = `${pathToFileURL(folder).href}/`;
    return urls.flatMap((url) => {
      if (url.startsWith(own)) return [url.slice(own.length)];
      const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(url) ?? [];
      return name === undefined ? [] : [name];
    });
  } finally {
    await rm(coverage, { recursive: true, force: true });
  }
}

const packageOf = (source: string): string | undefined =>
  /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(source)?.[1];

/** The files that were bundled, by package; ours are left out. */
async function insideByPackage(): Promise<ReadonlyMap<string, readonly string[]>> {
  const inside = new Map<string, string[]>();
  const files = await readdir(folder, { recursive: true });
  for (const file of files.filter((name) => name.endsWith('.js.map'))) {
    const text = await readFile(join(folder, file), 'utf8');
    for (const source of (JSON.parse(text) as { readonly sources: readonly string[] }).sources) {
      const name = packageOf(resolve(folder, dirname(file), source));
      if (name !== undefined) inside.set(name, [...(inside.get(name) ?? []), source]);
    }
  }
  return inside;
}

describe('the published code', () => {
  it('has only the packages inside that its decision names', async () => {
    expect([...(await insideByPackage()).keys()].sort()).toEqual([
      '@modelcontextprotocol/client',
      '@modelcontextprotocol/core',
      '@modelcontextprotocol/server',
      'canonicalize',
      'commander',
      'env-paths',
      'fast-deep-equal',
      'is-safe-filename',
      'jose',
      'jsonc-parser',
      'pkce-challenge',
      'rxjs',
      'tslib',
      'zod',
    ]);
  });

  it('has the licence of each of them', async () => {
    const licences = await readFile(join(folder, 'THIRD-PARTY-LICENSES.md'), 'utf8');
    const listed = [...licences.matchAll(/^## (\S+) - /gmu)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...(await insideByPackage()).keys()].sort());
  });

  it('has no more of RxJS than the operators in use', async () => {
    const files = (await insideByPackage()).get('rxjs') ?? [];
    expect(files.length).toBeLessThanOrEqual(70);
    expect(files.filter((file) => /ajax|webSocket|\/testing\//u.test(file))).toEqual([]);
  });
});

describe('a process', () => {
  it('loads three files and XState when it imports mcp-troupe', async () => {
    const entry = pathToFileURL(join(folder, 'src/index.js')).href;
    const loaded = await loadedBy('--eval', `import(${JSON.stringify(entry)})`);
    expect(new Set(loaded.filter((file) => !file.startsWith('src/')))).toEqual(new Set(['xstate']));
    expect(loaded.filter((file) => file.startsWith('src/')).length).toBeLessThanOrEqual(3);
  });
});
