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

/** Tests that a second run could only repeat. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  // Charts run in these folders alone; a process of its own has XState's production build in every run.
  [xstateProductionMode]: [
    'test/{actors,adapters,cli,config,docs,fuzz,gateway,package}/**',
    'test/{policies,scripts,tools,visualizations}/**',
  ],
  // These ask Node for nothing that differs between its versions.
  node24: [
    'test/{adapters,config,docs,fuzz,policies,scripts}/**',
    'test/tools/bench/**',
    'test/machines/*/explore.test.ts',
  ],
};

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
    include: ['test/**/*.test.ts'],
    // Those that need a browser have a configuration of their own: `npm run test:browser`.
    exclude: ['test/browser/**', ...(leftOut[mode] ?? [])],
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
