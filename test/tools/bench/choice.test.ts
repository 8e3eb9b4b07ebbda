import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  chosenContenders,
  chosenRounds,
  chosenWorks,
  type Wishes,
  WrongWish,
} from '../../bench/choice.ts';

const works = [
  { name: 'call-stdio' },
  { name: 'start-1' },
  { name: 'start-10' },
  { name: 'install', isOptional: true },
] as const;

describe('the works that run', () => {
  it.each<readonly [string, Wishes, readonly string[]]>([
    ['all but the optional one', { install: false }, ['call-stdio', 'start-1', 'start-10']],
    [
      'all with the optional one',
      { install: true },
      ['call-stdio', 'start-1', 'start-10', 'install'],
    ],
    ['the one of that name and no longer one', { only: ['start-1'], install: false }, ['start-1']],
    ['those of a pattern', { only: ['start-*'], install: false }, ['start-1', 'start-10']],
    [
      'those of a name or a pattern',
      { only: ['*10', 'call-stdio'], install: false },
      ['call-stdio', 'start-10'],
    ],
    ['these and the optional one', { only: ['start-1'], install: true }, ['start-1', 'install']],
    ['the optional one by its name', { only: ['install'], install: false }, ['install']],
  ])('are %s', (_what, wishes, names) => {
    expect(chosenWorks(works, wishes).map(({ name }) => name)).toEqual(names);
  });

  it.each([
    ['strat-1', 'did you mean start-1?'],
    ['stdio', 'did you mean *stdio*?'],
    ['nonsense', '--list shows them'],
    ['walk-*', '--list shows them'],
    ['start.1', 'did you mean start-1?'],
    ['', '--list shows them'],
  ])('are not those of %j, which is refused even beside a good one', (name, hint) => {
    expect(() => chosenWorks(works, { only: ['start-1', name], install: false })).toThrow(
      new WrongWish(`--only ${name}: there is no such work; ${hint}`),
    );
  });
});

describe('the contenders', () => {
  const names = ['client', 'sdkV1', 'troupe'];

  it('are all, or the wanted ones and the baseline', () => {
    expect(chosenContenders(names, 'client', undefined)).toEqual(names);
    expect(chosenContenders(names, 'client', ['troupe'])).toEqual(['client', 'troupe']);
  });

  it.each([
    ['troupee', 'did you mean troupe?'],
    ['somebody', 'there are client, sdkV1, troupe'],
  ])('are refused when one is named %s', (name, hint) => {
    expect(() => chosenContenders(names, 'client', [name])).toThrow(
      new WrongWish(`--contender ${name}: there is no such contender; ${hint}`),
    );
  });
});

describe('the number of rounds', () => {
  it('is whatever was wanted, if anything was', () => {
    expect(chosenRounds(undefined)).toBeUndefined();
    expect(chosenRounds('12')).toBe(12);
  });

  it.each(['abc', '0', '-1', '1.5', '', '1e3', '10000'])('is not %j', (words) => {
    expect(() => chosenRounds(words)).toThrow(WrongWish);
  });
});

describe('the command', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));

  async function bench(...args: readonly string[]) {
    const child = spawn(process.execPath, ['--import', 'tsx', 'test/bench/run.ts', ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [[code], out, err] = await Promise.all([
      once(child, 'close'),
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code: code as number | null, out, err };
  }

  it.each([
    ['--only', 'nonsense'],
    ['--rounds', 'abc'],
    ['--contender', 'troupee'],
    ['--no-such-option', ''],
    ['--node', '--cpu-prof'],
  ])('refuses %s %s with one line and exit code 2', { timeout: 60_000 }, async (option, value) => {
    const { code, out, err } = await bench(option, value);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(new RegExp(`^[^\\n]*${option}[^\\n]*\\n$`, 'u'));
  });
});
