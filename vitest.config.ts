import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { closingLineReporter } from './test/support/closing-line-reporter.ts';

/** Path of a file of this repository, for any working directory. */
const here = (path: string): string => new URL(path, import.meta.url).pathname;

/**
 * Vitest takes XState's development build, which warns and throws where the build of
 * plain Node, which all callers have, is silent. This mode takes the latter:
 * `npm run test:xstate-production`.
 */
const xstateProductionMode = 'xstate-production';
const xstateProduction = {
  find: /^xstate$/,
  // Nothing has set Vitest's conditions here, so this is what a caller's Node finds.
  replacement: fileURLToPath(import.meta.resolve('xstate')),
};

/** Which tests a mode runs and which of these it leaves out; a second run skips what cannot differ. */
const testsOf: Readonly<
  Record<string, { readonly include: string[]; readonly exclude: string[] }>
> = {
  // Charts run in these folders alone; a process of its own has XState's production build in every
  // run, and the search only takes the transitions that the traces and reply tables take.
  [xstateProductionMode]: {
    include: ['test/{machines,runtime,testing,inspector,recorder,security}/**/*.test.ts'],
    exclude: [
      'test/machines/*/explore.test.ts',
      'test/runtime/{abrupt-ends,broken-pipes,killed-host,starved-host}.test.ts',
    ],
  },
  // Processes, sockets, files and clocks, which are what differs between versions of Node.
  node24: {
    include: [
      'test/{actors,cli,gateway,inspector,package,recorder,security}/**/*.test.ts',
      'test/runtime/**/*-real.test.ts',
      'test/runtime/{abrupt-ends,broken-pipes,killed-host,real-clock,starved-host}.test.ts',
      'test/runtime/{stopping-children,transports}.test.ts',
    ],
    exclude: [],
  },
};
const everything = { include: ['test/**/*.test.ts'], exclude: [] };

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^mcp-troupe\/testing$/, replacement: here('src/testing/index.ts') },
      { find: /^mcp-troupe\/(ai-sdk|langchain|openai)$/, replacement: here('src/adapters/$1.ts') },
      { find: /^mcp-troupe$/, replacement: here('src/index.ts') },
      ...(mode === xstateProductionMode ? [xstateProduction] : []),
    ],
  },
  test: {
    include: (testsOf[mode] ?? everything).include,
    // Those that need a browser have a configuration of their own: `npm run test:browser`.
    exclude: ['test/browser/**', ...(testsOf[mode] ?? everything).exclude],
    // A test that needs another to run before it is broken; a new order every run finds it.
    sequence: { shuffle: true },
    // Processes, not threads: the tests signal children and change directories, and a process
    // that cannot be ended politely can still be killed.
    pool: 'forks',
    maxWorkers: 2,
    // Ten seconds: the slowest tests start a Node process, which takes one on a busy machine.
    testTimeout: 10_000,
    hookTimeout: 10_000,
    teardownTimeout: 5_000,
    allowOnly: false,
    passWithNoTests: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    reporters: ['default', closingLineReporter()],
    coverage: {
      provider: 'v8',
      // `npm run check` and CI count branches; a plain `npm test` stays fast.
      enabled: process.env['CI'] === 'true' && mode === 'test',
      // Only what must be covered is measured: machines and policies are pure and tested alone.
      include: ['machines/**/*.ts', 'src/policies/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'html'],
      thresholds: {
        'machines/**': { branches: 100 },
        'src/policies/**': { branches: 100 },
      },
    },
  },
}));
