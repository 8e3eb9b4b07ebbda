import { describe, expect, it } from 'vitest';
import { agreeWithExit, closingLine } from './closing-line-reporter.ts';

describe('the closing line', () => {
  it('names passed and failed tests', () => {
    expect(closingLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed');
  });

  it('adds the skipped tests only when there are some', () => {
    expect(closingLine({ passed: 2, failed: 1, skipped: 3 })).toBe('2 passed, 1 failed, 3 skipped');
  });
});

describe('a tally', () => {
  const green = { passed: 2, failed: 0, skipped: 0 };

  it('stays as it is when the run succeeds', () => {
    expect(agreeWithExit(green, 0)).toEqual(green);
  });

  it('gains a failure when the run fails although no test did', () => {
    expect(agreeWithExit(green, 1)).toEqual({ ...green, failed: 1 });
  });

  it('keeps its failures when the run fails because of them', () => {
    expect(agreeWithExit({ ...green, failed: 3 }, 1)).toEqual({ ...green, failed: 3 });
  });

  it('has a failure when no test ran', () => {
    expect(agreeWithExit({ passed: 0, failed: 0, skipped: 4 }, 0).failed).toBe(1);
  });
});
