/**
 * The code as it is published, bundled into a folder of its own. Counts what is loaded: one careless import
 * would make every start slower, and no other test would notice.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createStandIn, statusOf, toolOf } from '../cli/stand-in-troupe.ts';
import { upHere } from '../cli/up-here.ts';

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
async function loadedBy(words: readonly string[], cwd = root): Promise<readonly string[]> {
  const coverage = await mkdtemp(join(tmpdir(), 'mcp-troupe-loaded-'));
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: coverage, MCP_TROUPE_HOME: join(cwd, 'state') };
    await run(process.execPath, words, { cwd, env });
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
    expect(new Set((await insideByPackage()).keys())).toEqual(
      new Set([
        '@modelcontextprotocol/core',
        '@modelcontextprotocol/server',
        'commander',
        'env-paths',
        'is-safe-filename',
        'rxjs',
        'tslib',
        'zod',
      ]),
    );
  });

  it('has the licence of each of them', async () => {
    const licences = await readFile(join(folder, 'THIRD-PARTY-LICENSES.md'), 'utf8');
    const listed = [...licences.matchAll(/^## (\S+) - /gmu)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set((await insideByPackage()).keys()));
  });

  it('has no more of RxJS than the operators in use', async () => {
    const files = (await insideByPackage()).get('rxjs') ?? [];
    expect(files.length).toBeLessThanOrEqual(70);
    expect(files.filter((file) => /ajax|webSocket|\/testing\//u.test(file))).toEqual([]);
  });
});

describe('a process', () => {
  it('loads four files and four packages when it imports mcp-troupe', async () => {
    const entry = pathToFileURL(join(folder, 'src/index.js')).href;
    const loaded = await loadedBy(['--eval', `import(${JSON.stringify(entry)})`]);
    expect(new Set(loaded.filter((file) => !file.startsWith('src/')))).toEqual(
      new Set(['canonicalize', 'fast-deep-equal', 'jsonc-parser', 'xstate']),
    );
    expect(loaded.filter((file) => file.startsWith('src/')).length).toBeLessThanOrEqual(4);
  });

  it('loads three small files for a line that a running troupe answers', async () => {
    const tools = [toolOf('db', 'query')];
    const { folder: project } = await upHere(createStandIn({ servers: [statusOf('db')], tools }));
    const lines = ['--version', 'status', 'status db --json', 'tools db', 'call db query a=1'];
    const files = await Promise.all(
      lines.map((line) => loadedBy([join(folder, 'src/cli/main.js'), ...line.split(' ')], project)),
    );
    for (const loaded of files) expect(loaded).toHaveLength(3);
    const sizes = (files[0] ?? []).map(async (file) => (await stat(join(folder, file))).size);
    const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0);
    expect(bytes).toBeLessThan(150_000);
  });

  it('runs every other command of the bundled command line', async () => {
    const { stdout } = await run(process.execPath, [join(folder, 'src/cli/main.js'), 'help', 'up']);
    expect(stdout).toMatch(/^Usage: troupe up/u);
  });
});
