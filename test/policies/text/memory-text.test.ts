import { describe, expect, it } from 'vitest';

import { memoryUseText } from '../../../src/policies/text/memory-text.ts';

describe('an amount of memory', () => {
  it.each([
    [8_400_000, '8.4 MB'],
    [9_960_000, '10 MB'],
    [999_499_999, '999 MB'],
    [999_500_000, '1.0 GB'],
    [12_345_678_901, '12 GB'],
  ])('of %d bytes is %s', (bytes, text) => {
    expect(memoryUseText({ bytes, processCount: 1 })).toBe(text);
  });

  it('names the number of processes if there are several', () => {
    expect(memoryUseText({ bytes: 71_000_000, processCount: 3 })).toBe('71 MB in 3 processes');
  });
});
