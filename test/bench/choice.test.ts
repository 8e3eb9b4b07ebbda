import { describe, expect, it } from 'vitest';
import { isChosen, type Wishes } from '../../bench/choice.ts';

const works = [
  { name: 'call-stdio' },
  { name: 'call-http' },
  { name: 'install', isOptional: true },
] as const;

describe('the works that run', () => {
  it.each<readonly [string, Wishes, readonly string[]]>([
    ['all but the optional one', { install: false }, ['call-stdio', 'call-http']],
    ['all with the optional one', { install: true }, ['call-stdio', 'call-http', 'install']],
    ['those whose name contains a word', { only: ['http'], install: false }, ['call-http']],
    ['these and the optional one', { only: ['http'], install: true }, ['call-http', 'install']],
    ['the optional one by its name', { only: ['inst'], install: false }, ['install']],
  ])('are %s', (_what, wishes, names) => {
    expect(works.filter((work) => isChosen(work, wishes)).map(({ name }) => name)).toEqual(names);
  });
});
