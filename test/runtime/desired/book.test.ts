import { describe, expect, it } from 'vitest';
import type { LiveServer } from '../../../src/domain/plan.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { GroupedMap } from '../../../src/policies/grouped-map.ts';
import { DesiredBook } from '../../../src/runtime/desired/book.ts';
import { settingsOf } from '../../machines/story.ts';
import { desiredServer } from '../../policies/desired-server.ts';

describe('the book of what is desired', () => {
  const spec = (url: string) => ({ type: 'http', url, headers: {}, era: 'auto' }) as const;
  const empty = settingsOf([]);
  const [db, other] = [desiredServer(), desiredServer({ name: 'other' })];

  const actor = {
    actorId: 'db.0',
    settingsDigest: '',
    verdict: 'admitted',
    leaving: false,
  } as const;
  const actors = (server: LiveServer) => ({ live: GroupedMap.of<LiveServer>().with('db', server) });
  const none = { live: GroupedMap.of<LiveServer>() };
  const isWanted = (): boolean => true;

  it('keeps a spec until no actor has its generation', () => {
    const book = new DesiredBook();
    const load = (generation: string, its: ServerSpec): void =>
      book.put(settingsOf([{ ...db, generation }]), new Map([[generation, its]]));
    load('1', spec('a'));
    const before = { ...actor, generation: '1' };
    for (const url of ['b', 'c', 'd']) {
      load('2', spec(url));
      book.retain(isWanted, actors({ ...before, beside: { ...actor, generation: '2' } }));
      expect(book.specOf('1')).toEqual(spec('a'));
      expect(book.specOf('2')).toEqual(spec(url));
    }
    load('2', spec('e'));
    book.retain(isWanted, actors({ ...actor, generation: '2', beside: before }));
    expect(book.specOf('1')).toEqual(spec('a'));
    book.retain(isWanted, actors({ ...actor, generation: '2' }));
    expect(book.specOf('1')).toBeUndefined();
    expect(book.specOf('2')).toEqual(spec('e'));
    book.put(empty, new Map());
    expect(book.specOf('2')).toEqual(spec('e'));
    book.retain(isWanted, none);
    expect(book.specOf('2')).toBeUndefined();
  });

  it('refuses to name the entry of a server that has none', () => {
    expect(() => new DesiredBook().known('db')).toThrow('There is no entry for the server "db".');
  });

  it('keeps the entry of a removed server until its chart is gone', () => {
    const book = new DesiredBook();
    book.put(settingsOf([db, other]), new Map());
    for (let load = 0; load < 3; load += 1) book.put(settingsOf([other]), new Map());
    book.retain((name) => name === 'db' || name === 'other', none);
    expect(book.of('db')).toBe(db);
    book.retain((name) => name === 'other', none);
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
