import { describe, expect, it } from 'vitest';
import { DesiredBook } from '../../../src/runtime/desired/book.ts';
import { settingsOf } from '../../machines/story.ts';
import { desiredServer } from '../../policies/desired-server.ts';

describe('the book of what is desired', () => {
  const spec = (url: string) => ({ type: 'http', url, headers: {}, era: 'auto' }) as const;
  const empty = settingsOf([]);
  const [db, other] = [desiredServer(), desiredServer({ name: 'other' })];

  it('keeps the specs of the last two loads', () => {
    const book = new DesiredBook();
    book.put(
      empty,
      new Map([
        ['1', spec('a')],
        ['2', spec('b')],
      ]),
    );
    book.put(empty, new Map([['2', spec('c')]]));
    expect(book.specOf('1')).toEqual(spec('a'));
    expect(book.specOf('2')).toEqual(spec('c'));
    book.put(empty, new Map());
    expect(book.specOf('1')).toBeUndefined();
    expect(book.specOf('2')).toEqual(spec('c'));
  });

  it('keeps the entry of a removed server until its chart is gone', () => {
    const book = new DesiredBook();
    book.put(settingsOf([db, other]), new Map());
    for (let load = 0; load < 3; load += 1) book.put(settingsOf([other]), new Map());
    book.retain((name) => name === 'db' || name === 'other');
    expect(book.of('db')).toBe(db);
    book.retain((name) => name === 'other');
    expect(book.of('db')).toBeUndefined();
    expect(book.of('other')).toBe(other);
  });

  it('prefers the present entry of a server that was removed and added again', () => {
    const book = new DesiredBook();
    const again = desiredServer({ trust: true });
    for (const servers of [[db], [], [again]]) book.put(settingsOf(servers), new Map());
    expect(book.of('db')).toBe(again);
  });
});
