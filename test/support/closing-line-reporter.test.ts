import { describe, expect, it } from 'vitest';
import { agreeWithExit, closingLine, slowestTests } from './closing-line-reporter.ts';

describe('the closing line', () => {
  it('counts passed and failed tests', () => {
    expect(closingLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed');
  });

  it('mentions skipped tests only if there are any', () => {
    expect(closingLine({ passed: 2, failed: 1, skipped: 3 })).toBe('2 passed, 1 failed, 3 skipped');
  });
});

describe('the slowest tests', () => {
  it('are twenty, the slowest first', () => {
    const tests = Array.from({ length: 30 }, (_, index) => ({
      file: 'test/a.test.ts',
      name: `takes ${index} s`,
      durationMs: index * 1_000,
    }));
    const lines = slowestTests(tests).split('\n');
    expect(lines).toHaveLength(20);
    expect(lines[0]).toBe('   29.0 s  test/a.test.ts: takes 29 s');
    expect(lines.at(-1)).toBe('   10.0 s  test/a.test.ts: takes 10 s');
  });
});

describe('agreeWithExit()', () => {
  const green = { passed: 2, failed: 0, skipped: 0 };

  it('keeps the tally of a successful run', () => {
    expect(agreeWithExit(green, 0)).toEqual(green);
  });

  it('adds a failure if the run failed without a failed test', () => {
    expect(agreeWithExit(green, 1)).toEqual({ ...green, failed: 1 });
  });

  it('adds no failure if tests failed', () => {
    expect(agreeWithExit({ ...green, failed: 3 }, 1)).toEqual({ ...green, failed: 3 });
  });

  it('adds a failure if no test ran', () => {
    expect(agreeWithExit({ passed: 0, failed: 0, skipped: 4 }, 0).failed).toBe(1);
  });
});
