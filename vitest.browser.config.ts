import { defineConfig } from 'vitest/config';
import { closingLineReporter } from './test/support/closing-line-reporter.ts';

/** The tests that need a browser: `npm run test:browser`, after a build of the page. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    globalSetup: 'test/support/compiled-folder.ts',
    sequence: { shuffle: true },
    pool: 'forks',
    // One browser at a time: its time counts in some of them.
    maxWorkers: 1,
    // As in the other configuration: ends only what hangs, however busy the machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    allowOnly: false,
    passWithNoTests: false,
    reporters: ['default', closingLineReporter()],
  },
});
