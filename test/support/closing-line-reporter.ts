/**
 * Prints the slowest tests of a run, and its counts as the last line, below the coverage table:
 * `12 passed, 0 failed`, followed by `, 3 skipped` if tests were skipped.
 *
 * A failed run never ends with `0 failed`: a file that does not load, a failing
 * hook, an error outside any test, a run without tests and a missed coverage
 * threshold each count as a failure.
 */

import type { Reporter, TestModule } from 'vitest/node';

/** The test counts of a run. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Formats a tally as the closing line. */
export function closingLine({ passed, failed, skipped }: Tally): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}

/**
 * Corrects a tally by how the process ends, so that both tell the same story.
 *
 * A run that fails although no test did has one failure, and so has a run in
 * which no test ran.
 */
export function agreeWithExit(tally: Tally, exitCode: number): Tally {
  const nothingRan = tally.passed + tally.failed === 0;
  return tally.failed === 0 && (exitCode !== 0 || nothingRan) ? { ...tally, failed: 1 } : tally;
}

/** A test with the time that it took. */
export interface TimedTest {
  readonly file: string;
  readonly name: string;
  readonly durationMs: number;
}

// As many as one reads; they take most of the time.
const mostSlowTests = 20;

/** Lists the slowest tests, the slowest first. */
export function slowestTests(tests: readonly TimedTest[]): string {
  return tests
    .toSorted((one, other) => other.durationMs - one.durationMs)
    .slice(0, mostSlowTests)
    .map(({ file, name, durationMs }) => {
      const seconds = (durationMs / 1_000).toFixed(1).padStart(7);
      return `${seconds} s  ${file}: ${name}`;
    })
    .join('\n');
}

function timesOf(modules: readonly TestModule[]): readonly TimedTest[] {
  return modules.flatMap((module) =>
    [...module.children.allTests()].map((test) => ({
      file: module.relativeModuleId,
      name: test.fullName,
      durationMs: test.diagnostic()?.duration ?? 0,
    })),
  );
}

/** Counts the tests of all files, and every error that belongs to no single test. */
function tallyOf(modules: readonly TestModule[], strayErrorCount: number): Tally {
  const count = { passed: 0, failed: strayErrorCount, skipped: 0 };
  for (const module of modules) {
    count.failed += module.errors().length;
    for (const suite of module.children.allSuites()) {
      count.failed += suite.errors().length;
    }
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test still pending when the run ended was cut off, which is no success.
      count[state === 'pending' ? 'failed' : state] += 1;
    }
  }
  return count;
}

/** Creates the reporter; it prints when the process exits, so nothing can print after it. */
export function closingLineReporter(): Reporter {
  let tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  return {
    onInit() {
      process.once('exit', (exitCode) => {
        const agreed = agreeWithExit(tally, exitCode);
        if (agreed.failed > 0 && exitCode === 0) {
          process.exitCode = 1;
        }
        if (agreed.failed > tally.failed) {
          process.stdout.write('\nNo test failed, but the run did; the reason is above.\n');
        }
        process.stdout.write(`\n${closingLine(agreed)}\n`);
      });
    },
    onTestRunEnd(modules, strayErrors) {
      tally = tallyOf(modules, strayErrors.length);
      // Someone who runs a file or two sees their times anyway.
      if (modules.length > mostSlowTests)
        process.stdout.write(`\nSlowest tests:\n${slowestTests(timesOf(modules))}\n`);
    },
  };
}
