import { distinctUntilChanged, from, map, type Observable, take } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { createActor, fromObservable } from 'xstate';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { Stream, Streamable } from '../../../src/domain/host/stream.ts';
import { servers, stageOf } from '../stage.ts';

const two = servers({ db: 'srv', web: 'srv' });

/** What an observer got, as words. */
function collect<Value>(stream: Observable<Value>, wordOf: (value: Value) => string) {
  const words: string[] = [];
  const subscription = stream.subscribe({
    next: (value) => words.push(wordOf(value)),
    error: (error: unknown) => words.push(`error ${String(error)}`),
    complete: () => words.push('complete'),
  });
  return { words, subscription };
}

const stateOf = (status: ServerStatus | undefined): string => status?.state ?? 'none';
const statesOf = (statuses: readonly ServerStatus[]): string =>
  statuses.map(({ name, state }) => `${name} ${state}`).join(', ');

describe("a server's stream", () => {
  it('emits the current status, then each change, and completes with the troupe', async () => {
    const stage = await stageOf({ settings: two });
    const states = from(stage.troupe.server('db')).pipe(map(stateOf), distinctUntilChanged());
    const { words } = collect(states, String);
    expect(words).toEqual(['ready']);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    expect(words).toEqual(['ready', 'stopping', 'queued', 'connecting', 'loadingTools', 'ready']);
    await stage.troupe.stop();
    expect(words.slice(6)).toEqual(['stopping', 'stopped', 'complete']);
  });

  it('emits what status() returns, without repeats', async () => {
    const stage = await stageOf({ settings: two });
    const handle = stage.troupe.server('db');
    const seen: unknown[] = [];
    from(handle).subscribe((status) => seen.push(status));
    expect(seen).toEqual([stage.troupe.status('db')]);
    expect(handle.status()).toEqual(stage.troupe.status('db'));
    await stage.apply(servers({ db: 'srv' }));
    expect(seen).toHaveLength(1);
  });

  it('follows a server that is added and removed', async () => {
    const stage = await stageOf({ settings: servers({}) });
    const handle = stage.troupe.server('db');
    const { words } = collect(from(handle).pipe(map(stateOf), distinctUntilChanged()), String);
    expect(words).toEqual(['none']);
    await stage.apply(servers({ db: 'srv' }));
    expect(words.at(-1)).toBe('ready');
    await stage.apply(servers({}));
    expect(words.at(-1)).toBe('none');
  });

  it('is rejected for a name that is not a string', async () => {
    const stage = await stageOf({ settings: two });
    expect(() => stage.troupe.server(1 as never)).toThrow(/name of the server/u);
  });
});

describe("a troupe's stream", () => {
  it('emits all statuses after each change and completes with the troupe', async () => {
    const stage = await stageOf({ settings: two });
    const { words } = collect(from(stage.troupe), statesOf);
    expect(words).toEqual(['db ready, web ready']);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    expect(words.at(-1)).toBe('db stopped, web ready');
    await stage.apply(servers({ web: 'srv' }));
    expect(words.at(-1)).toBe('web ready');
    await stage.troupe.stop();
    expect(words.slice(-2)).toEqual(['web stopped', 'complete']);
  });

  it('emits one value for all changes within one turn', async () => {
    const stage = await stageOf({ settings: two });
    const { words } = collect(from(stage.troupe), statesOf);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    stage.troupe.send({ type: 'server.stop', server: 'web' });
    expect(words).toHaveLength(1);
    await Promise.resolve();
    expect(words).toHaveLength(2);
    await stage.settle();
    expect(words.at(-1)).toBe('db stopped, web stopped');
  });

  it('emits the last statuses and completes immediately once the troupe has stopped', async () => {
    const stage = await stageOf({ settings: two });
    await stage.troupe.stop();
    const { words } = collect(from(stage.troupe), statesOf);
    expect(words).toEqual(['db stopped, web stopped', 'complete']);
  });

  it('works as XState actor logic', async () => {
    const stage = await stageOf({ settings: two });
    const logic = fromObservable(() => from(stage.troupe));
    const actor = createActor(logic).start();
    expect(statesOf(actor.getSnapshot().context ?? [])).toBe('db ready, web ready');
    await stage.troupe.stop();
    expect(actor.getSnapshot()).toMatchObject({ status: 'done' });
    expect(statesOf(actor.getSnapshot().context ?? [])).toBe('db stopped, web stopped');
  });
});

/** The stream itself, as a library without RxJS reads it. */
function streamOf<Value>(streamable: Streamable<Value>): Stream<Value> {
  return (Reflect.get(streamable, '@@observable') as () => Stream<Value>)();
}

describe('a stream', () => {
  it('is found by Symbol.observable or @@observable', async () => {
    const observable = Symbol('observable');
    Object.defineProperty(Symbol, 'observable', { value: observable, configurable: true });
    try {
      const { troupe } = await stageOf({ settings: two });
      const db = troupe.server('db');
      expect(troupe[Symbol.observable]()).toBe(streamOf(troupe));
      expect(db[Symbol.observable]()).toBe(streamOf(db));
    } finally {
      Reflect.deleteProperty(Symbol, 'observable');
    }
  });

  it('works as XState actor logic without RxJS', async () => {
    const stage = await stageOf({ settings: two });
    const actor = createActor(fromObservable(() => streamOf(stage.troupe))).start();
    expect(statesOf(actor.getSnapshot().context ?? [])).toBe('db ready, web ready');
    await stage.troupe.stop();
    expect(actor.getSnapshot().status).toBe('done');
  });

  it('accepts a function or a partial observer', async () => {
    const stage = await stageOf({ settings: two });
    const seen: string[] = [];
    streamOf(stage.troupe.server('db')).subscribe((status) => seen.push(stateOf(status)));
    streamOf(stage.troupe.server('db')).subscribe({ complete: () => seen.push('complete') });
    expect(seen).toEqual(['ready']);
    await stage.troupe.stop();
    expect(seen).toEqual(['ready', 'stopping', 'stopped', 'complete']);
  });
});

describe('an observer', () => {
  it('gets nothing after it unsubscribes, even during its first value', async () => {
    const stage = await stageOf({ settings: two });
    const first = collect(from(stage.troupe.server('db')).pipe(take(1)), stateOf);
    const { words, subscription } = collect(from(stage.troupe), statesOf);
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    subscription.unsubscribe();
    subscription.unsubscribe();
    await stage.troupe.stop();
    expect(first.words).toEqual(['ready', 'complete']);
    expect(words).toEqual(['db ready, web ready']);
  });

  it('gets the changes that it causes during its first value', async () => {
    const stage = await stageOf({ settings: two });
    const seen: string[] = [];
    streamOf(stage.troupe.server('db')).subscribe((status) => {
      if (seen.push(stateOf(status)) === 1)
        stage.troupe.send({ type: 'server.stop', server: 'db' });
    });
    await stage.settle();
    expect(seen).toEqual(['ready', 'stopping', 'stopped']);
  });

  it('is reported each time it throws or rejects, without affecting others', async () => {
    const stage = await stageOf({ settings: two });
    const stream = streamOf(stage.troupe.server('db'));
    stream.subscribe(() => {
      throw new Error('thrown');
    });
    // A function may return what it likes.
    stream.subscribe((() => Promise.reject(new Error('rejected'))) as () => void);
    stream.subscribe({
      complete: () => {
        throw new Error('thrown at the end');
      },
    });
    const { words } = collect(from(stage.troupe.server('db')), stateOf);
    await stage.troupe.stop();
    expect(words).toEqual(['ready', 'stopping', 'stopped', 'complete']);
    const messages = stage.errors.map(({ error }) => (error as Error).message);
    expect(messages.filter((message) => message === 'thrown')).toHaveLength(3);
    expect(messages.filter((message) => message === 'rejected')).toHaveLength(3);
    expect(messages.filter((message) => message === 'thrown at the end')).toHaveLength(1);
    expect(new Set(stage.errors.map(({ message }) => message))).toEqual(
      new Set(['An observer of a status stream threw.']),
    );
  });
});
