import { describe, expect, it } from 'vitest';
import { call, crash, pong, type Stage, servers, stage, type Watched } from '../stage.ts';

const settings = servers({ db: 'srv', other: 'srv' });

/** Numbered calls, so that their order is visible. */
function numbered(there: Stage, count: number, signal?: AbortSignal): Watched<unknown>[] {
  return Array.from({ length: count }, (_, number) => {
    const options = signal === undefined ? {} : { signal };
    const promise = there.troupe.callServerTool('db', 'query', { number }, options);
    return watchNumbered(promise);
  });
}

function watchNumbered(promise: Promise<unknown>): Watched<unknown> {
  const watched = { state: 'pending', value: undefined, error: undefined } as {
    state: Watched<unknown>['state'];
    value: unknown;
    error: Watched<unknown>['error'];
  };
  const ended = promise.then(
    () => {
      watched.state = 'done';
    },
    (error: unknown) => {
      watched.state = 'refused';
      watched.error = error as Watched<unknown>['error'];
    },
  );
  return Object.assign(watched, { promise: ended });
}

const numbersAtWork = (there: Stage): unknown[] =>
  there.sessions.of('db').calls.map(({ args }) => args['number']);

describe('calls to one server', () => {
  it('fail with OVERLOADED beyond 64 running and 64 queued', async () => {
    const there = await stage({ settings });
    const made = numbered(there, 128);
    await there.settle();
    expect(there.sessions.of('db').calls).toHaveLength(64);
    expect(made.every(({ state }) => state === 'pending')).toBe(true);

    const [refused] = numbered(there, 1);
    const elsewhere = call(there, 'other');
    await there.settle();
    expect(refused?.error?.toJSON()).toMatchObject({
      code: 'OVERLOADED',
      outcome: 'not_executed',
      retryable: true,
    });
    there.sessions.of('other').calls[0]?.answer(pong);
    await there.settle();
    expect(elsewhere.state).toBe('done');
  });

  it('count toward the limit while they wait for the server', async () => {
    const there = await stage({ settings, obedient: [] });
    const made = numbered(there, 129);
    await there.settle();
    expect(made.filter(({ state }) => state === 'pending')).toHaveLength(128);
    expect(made[128]?.error?.code).toBe('OVERLOADED');
  });

  it('are sent in order of arrival', async () => {
    const there = await stage({ settings });
    const made = numbered(there, 128);
    await there.settle();
    const { calls } = there.sessions.of('db');
    for (let done = 0; done < 128; done += 1) {
      calls[done]?.answer(pong);
      await there.settle();
    }
    expect(numbersAtWork(there)).toEqual(Array.from({ length: 128 }, (_, number) => number));
    expect(made.every(({ state }) => state === 'done')).toBe(true);
  });

  it('admit a new call as soon as one settles', async () => {
    const there = await stage({ settings });
    numbered(there, 128);
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    const [next] = numbered(there, 1);
    await there.settle();
    expect(next?.state).toBe('pending');
  });

  it('keep their turns when a queued call is aborted', async () => {
    const there = await stage({ settings });
    numbered(there, 64);
    const controller = new AbortController();
    const [aborted] = numbered(there, 1, controller.signal);
    const [next] = numbered(there, 1);
    await there.settle();
    controller.abort();
    await there.settle();
    expect(aborted?.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    there.sessions.of('db').calls[0]?.answer(pong);
    await there.settle();
    there.sessions.of('db').calls[64]?.answer(pong);
    await there.settle();
    expect(next?.state).toBe('done');
  });

  it('keep their turns when a call is aborted as its turn comes', async () => {
    const there = await stage({ settings });
    numbered(there, 64);
    const controller = new AbortController();
    const [aborted] = numbered(there, 1, controller.signal);
    const [next] = numbered(there, 1);
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    // The turn is handed over in a promise that has not run yet.
    await Promise.resolve();
    await Promise.resolve();
    controller.abort();
    await there.settle();
    expect(aborted?.state).toBe('refused');
    await there.settle();
    there.sessions.of('db').calls.at(-1)?.answer(pong);
    await there.settle();
    expect(next?.state).toBe('done');
  });

  it('fail with OVERLOADED when their deadline passes in the queue', async () => {
    const there = await stage({ settings });
    numbered(there, 64);
    const made = call(there, 'db', { timeoutMs: 2_000 });
    await there.advance(2_000);
    expect(made.error).toMatchObject({ code: 'OVERLOADED', outcome: 'not_executed' });
    expect(there.sessions.of('db').calls).toHaveLength(64);
  });

  it('go from the queue to the next session when the current one is lost', async () => {
    const there = await stage({ settings });
    const made = numbered(there, 68);
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(made.map(({ state }) => state).filter((state) => state === 'refused')).toHaveLength(64);
    await there.advance(1_000);
    expect(new Set(numbersAtWork(there))).toEqual(new Set([64, 65, 66, 67]));
  });

  it('leave no timer, listener or queue slot behind', async () => {
    const there = await stage({ settings });
    await there.advance(1_000);
    const before = there.clock.pendingCount;
    const controllers = Array.from({ length: 40 }, () => new AbortController());
    const made = controllers.flatMap(({ signal }) => numbered(there, 1, signal));
    await there.settle();
    for (const controller of controllers) controller.abort();
    await there.settle();
    expect(made.every(({ state }) => state === 'refused')).toBe(true);
    // The server's chart learns a second later that no call is left.
    await there.advance(1_000);
    expect(there.clock.pendingCount).toBe(before);
    const again = numbered(there, 128);
    await there.settle();
    expect(again.every(({ state }) => state === 'pending')).toBe(true);
    expect(there.sessions.of('db').calls.filter(({ isSettled }) => !isSettled)).toHaveLength(64);
  });
});

describe('an aborted call', () => {
  it('stops waiting for the server', async () => {
    const there = await stage({ settings, obedient: [] });
    const controller = new AbortController();
    const aborted = call(there, 'db', { signal: controller.signal });
    const other = call(there, 'db');
    await there.settle();
    controller.abort();
    await there.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(other.state).toBe('pending');
    expect(there.stateOf('db')).toBe('connecting');
  });

  it('has an unknown outcome if it was running', async () => {
    const there = await stage({ settings });
    const controller = new AbortController();
    const aborted = call(there, 'db', { signal: controller.signal });
    const other = call(there, 'db');
    await there.settle();
    controller.abort();
    await there.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    there.sessions.of('db').calls[1]?.answer(pong);
    await there.settle();
    expect(other.state).toBe('done');
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.status('db')?.circuit).toBe('closed');
  });

  it('is not sent and starts no server if it has not begun', async () => {
    const there = await stage({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const aborted = call(there, 'db', { signal: AbortSignal.abort() });
    await there.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(there.stateOf('db')).toBe('dormant');
  });
});
