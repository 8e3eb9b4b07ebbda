import { describe, expect, it } from 'vitest';
import { call, crash, pong, type Stage, servers, stageOf, type Watched } from '../stage.ts';

const settings = servers({ db: 'srv', other: 'srv' });

/** Numbered calls, so that their order is visible. */
function numbered(stage: Stage, count: number, signal?: AbortSignal): Watched<unknown>[] {
  return Array.from({ length: count }, (_, number) => {
    const options = signal === undefined ? {} : { signal };
    const promise = stage.troupe.callServerTool('db', 'query', { number }, options);
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

const numbersAtWork = (stage: Stage): unknown[] =>
  stage.sessions.of('db').calls.map(({ args }) => args['number']);

describe('calls to one server', () => {
  it('fail with OVERLOADED beyond 64 running and 64 queued', async () => {
    const stage = await stageOf({ settings });
    const made = numbered(stage, 128);
    await stage.settle();
    expect(stage.sessions.of('db').calls).toHaveLength(64);
    expect(made.every(({ state }) => state === 'pending')).toBe(true);

    const [refused] = numbered(stage, 1);
    const elsewhere = call(stage, 'other');
    await stage.settle();
    expect(refused?.error?.toJSON()).toMatchObject({
      code: 'OVERLOADED',
      outcome: 'not_executed',
      retryable: true,
    });
    stage.sessions.of('other').calls[0]?.answer(pong);
    await stage.settle();
    expect(elsewhere.state).toBe('done');
  });

  it('count toward the limit while they wait for the server', async () => {
    const stage = await stageOf({ settings, obedient: [] });
    const made = numbered(stage, 129);
    await stage.settle();
    expect(made.filter(({ state }) => state === 'pending')).toHaveLength(128);
    expect(made[128]?.error?.code).toBe('OVERLOADED');
  });

  it('are sent in order of arrival', async () => {
    const stage = await stageOf({ settings });
    const made = numbered(stage, 128);
    await stage.settle();
    const { calls } = stage.sessions.of('db');
    for (let done = 0; done < 128; done += 1) {
      calls[done]?.answer(pong);
      await stage.settle();
    }
    expect(numbersAtWork(stage)).toEqual(Array.from({ length: 128 }, (_, number) => number));
    expect(made.every(({ state }) => state === 'done')).toBe(true);
  });

  it('admit a new call as soon as one settles', async () => {
    const stage = await stageOf({ settings });
    numbered(stage, 128);
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    const [next] = numbered(stage, 1);
    await stage.settle();
    expect(next?.state).toBe('pending');
  });

  it('keep their turns when a queued call is aborted', async () => {
    const stage = await stageOf({ settings });
    numbered(stage, 64);
    const controller = new AbortController();
    const [aborted] = numbered(stage, 1, controller.signal);
    const [next] = numbered(stage, 1);
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(aborted?.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    stage.sessions.of('db').calls[64]?.answer(pong);
    await stage.settle();
    expect(next?.state).toBe('done');
  });

  it('keep their turns when a call is aborted as its turn comes', async () => {
    const stage = await stageOf({ settings });
    numbered(stage, 64);
    const controller = new AbortController();
    const [aborted] = numbered(stage, 1, controller.signal);
    const [next] = numbered(stage, 1);
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    // The turn is handed over in a promise that has not run yet.
    await Promise.resolve();
    await Promise.resolve();
    controller.abort();
    await stage.settle();
    expect(aborted?.state).toBe('refused');
    await stage.settle();
    stage.sessions.of('db').calls.at(-1)?.answer(pong);
    await stage.settle();
    expect(next?.state).toBe('done');
  });

  it('fail with OVERLOADED when their deadline passes in the queue', async () => {
    const stage = await stageOf({ settings });
    numbered(stage, 64);
    const made = call(stage, 'db', { timeoutMs: 2_000 });
    await stage.advance(2_000);
    expect(made.error).toMatchObject({ code: 'OVERLOADED', outcome: 'not_executed' });
    expect(stage.sessions.of('db').calls).toHaveLength(64);
  });

  it('go from the queue to the next session when the current one is lost', async () => {
    const stage = await stageOf({ settings });
    const made = numbered(stage, 68);
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(made.map(({ state }) => state).filter((state) => state === 'refused')).toHaveLength(64);
    await stage.advance(1_000);
    expect(new Set(numbersAtWork(stage))).toEqual(new Set([64, 65, 66, 67]));
  });

  it('leave no timer, listener or queue slot behind', async () => {
    const stage = await stageOf({ settings });
    await stage.advance(1_000);
    const before = stage.clock.pendingCount;
    const controllers = Array.from({ length: 40 }, () => new AbortController());
    const made = controllers.flatMap(({ signal }) => numbered(stage, 1, signal));
    await stage.settle();
    for (const controller of controllers) controller.abort();
    await stage.settle();
    expect(made.every(({ state }) => state === 'refused')).toBe(true);
    // The server's chart learns a second later that no call is left.
    await stage.advance(1_000);
    expect(stage.clock.pendingCount).toBe(before);
    const again = numbered(stage, 128);
    await stage.settle();
    expect(again.every(({ state }) => state === 'pending')).toBe(true);
    expect(stage.sessions.of('db').calls.filter(({ isSettled }) => !isSettled)).toHaveLength(64);
  });
});

describe('an aborted call', () => {
  it('stops waiting for the server', async () => {
    const stage = await stageOf({ settings, obedient: [] });
    const controller = new AbortController();
    const aborted = call(stage, 'db', { signal: controller.signal });
    const other = call(stage, 'db');
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(other.state).toBe('pending');
    expect(stage.stateOf('db')).toBe('connecting');
  });

  it('has an unknown outcome if it was running', async () => {
    const stage = await stageOf({ settings });
    const controller = new AbortController();
    const aborted = call(stage, 'db', { signal: controller.signal });
    const other = call(stage, 'db');
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    stage.sessions.of('db').calls[1]?.answer(pong);
    await stage.settle();
    expect(other.state).toBe('done');
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
  });

  it('is not sent and starts no server if it has not begun', async () => {
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const aborted = call(stage, 'db', { signal: AbortSignal.abort() });
    await stage.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(stage.stateOf('db')).toBe('dormant');
  });
});
