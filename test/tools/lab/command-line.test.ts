import { describe, expect, it } from 'vitest';
import { chosenNames, positiveNumber, UsageError } from '../../lab/command-line.ts';

const names = ['start-1', 'start-10', 'F2', 'F21/error', 'F21/twice'];

describe('chosenNames()', () => {
  it.each([
    [['start-1'], ['start-1']],
    [['F21'], ['F21/error', 'F21/twice']],
    [['F21/twice'], ['F21/twice']],
    [['F2'], ['F2']],
    [
      ['*1*', 'start-1'],
      ['start-1', 'start-10', 'F21/error', 'F21/twice'],
    ],
    [['*'], names],
  ])('%j chooses %j', (patterns, chosen) => {
    expect(chosenNames('--only', patterns, names)).toEqual(chosen);
  });

  it.each([
    ['strat-1', 'did you mean start-1?'],
    ['start.1', 'did you mean start-1?'],
    ['walk-*', `choose of ${names.join(', ')}`],
    ['', `choose of ${names.join(', ')}`],
  ])('rejects the unknown name %j next to a known one', (pattern, hint) => {
    expect(() => chosenNames('--only', ['F2', pattern], names)).toThrow(
      new UsageError(`--only ${pattern}: there is no such name; ${hint}`),
    );
  });
});

describe('positiveNumber()', () => {
  it.each(['abc', '0', '-1', '', 'Infinity'])('rejects %j', (text) => {
    expect(() => positiveNumber('--rounds', text)).toThrow(UsageError);
  });

  it('reads a number', () => {
    expect(positiveNumber('--minutes', '0.5')).toBe(0.5);
  });
});
