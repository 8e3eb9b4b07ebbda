/**
 * Bundles what is published, from the sources: `vite build --config vite.package.config.ts`.
 * `docs/decisions/published-bundle.md` says what is inside and why.
 */

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import manifest from './package.json' with { type: 'json' };

const root = fileURLToPath(new URL('.', import.meta.url));

const entries = {
  index: 'src/index.ts',
  inspection: 'src/inspection.ts',
  login: 'src/login.ts',
  machines: 'src/machines.ts',
  'settings/index': 'src/settings/index.ts',
  'testing/index': 'src/testing/index.ts',
  'adapters/ai-sdk': 'src/adapters/ai-sdk.ts',
  'adapters/langchain': 'src/adapters/langchain.ts',
  'adapters/openai': 'src/adapters/openai.ts',
  stately: 'visualizations/server/stately.ts',
  'cli/main': 'src/cli/main.ts',
};

/** Too slow to load from their own files, or needed by the command line alone; their dependencies come with them. */
const inside = new Set(['zod', 'rxjs', '@modelcontextprotocol/server', 'commander', 'env-paths']);

/** Loaded from where they are installed, beside the package. */
const outside = [
  ...Object.keys(manifest.dependencies).filter((name) => !inside.has(name)),
  ...Object.keys(manifest.peerDependencies),
].map((name) => new RegExp(`^${name}(?:/|$)`, 'u'));

let reached:
  | { readonly library: ReadonlySet<string>; readonly program: ReadonlySet<string> }
  | undefined;

interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

/** Everything that loads together with an entry. */
function loadedWith(graph: Graph, entry: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [root + entry];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(graph.getModuleInfo(id)?.importedIds ?? []));
  }
  return seen;
}

/**
 * Few files load faster than many: one for what any import of the library needs, one for what the first file of
 * the command line needs, and one for what both need.
 */
function chunkOf(id: string, graph: Graph): string | null {
  reached ??= {
    library: loadedWith(graph, entries.index),
    program: loadedWith(graph, entries['cli/main']),
  };
  // Waits for the command, which must not wait for a file that waits for it.
  if (id === root + entries['cli/main']) return null;
  const isOfProgram = reached.program.has(id);
  if (reached.library.has(id)) return isOfProgram ? 'base' : 'core';
  return isOfProgram ? 'front' : null;
}

export default defineConfig({
  publicDir: false,
  logLevel: 'warn',
  resolve: { alias: { rxjs: `${root}node_modules/rxjs/dist/esm/index.js` } },
  ssr: { target: 'node', noExternal: true },
  build: {
    ssr: true,
    outDir: 'dist',
    emptyOutDir: false,
    target: 'node20.19',
    minify: false,
    sourcemap: true,
    license: { fileName: 'THIRD-PARTY-LICENSES.md' },
    rolldownOptions: {
      input: entries,
      external: outside,
      output: {
        entryFileNames: 'src/[name].js',
        // As deep as the sources, so that paths relative to a module are the same.
        chunkFileNames: 'src/chunks/[name]-[hash].js',
        comments: false,
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ debugName: 'by first use', name: chunkOf }],
        },
      },
    },
  },
});
