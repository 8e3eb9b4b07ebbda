import { describe, expect, it } from 'vitest';
import {
  bringUp,
  crash,
  failure,
  nextAttempt,
  remote,
  type Stage,
  servers,
  stageOf,
  tool,
  watch,
} from './stage.ts';

const db = servers({ db: 'srv' });

describe('waitFor', () => {
  it('resolves immediately in the desired state and accepts degraded as ready', async () => {
    const stage = await stageOf({ settings: db });
    stage.sessions.of('db').impair('flooding');
    const made = watch(stage.troupe.waitFor('db', 'ready'));
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'degraded' });
  });

  it('resolves when the server reaches the state', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = watch(stage.troupe.waitFor('db', 'ready'));
    await stage.advance(1_000);
    expect(made.state).toBe('pending');
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it('waits for a server that does not exist yet', async () => {
    const stage = await stageOf({});
    const made = watch(stage.troupe.waitFor('db', 'ready'));
    await stage.apply(db);
    expect(made.state).toBe('done');
  });

  it.each([
    ['TIMEOUT_WAITING at its deadline', { timeoutMs: 500 }, 'TIMEOUT_WAITING'],
    ['CANCELLED when already aborted', { signal: AbortSignal.abort() }, 'CANCELLED'],
  ])('fails with %s', async (_, options, code) => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = watch(stage.troupe.waitFor('db', 'ready', options));
    await stage.advance(500);
    expect(made.error).toMatchObject({ code, server: 'db' });
  });

  it('fails with CANCELLED when it is aborted and leaves nothing behind', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    await stage.advance(2_000);
    const before = stage.clock.pendingCount;
    const controller = new AbortController();
    const made = watch(
      stage.troupe.waitFor('db', 'ready', { signal: controller.signal, timeoutMs: 60_000 }),
    );
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(made.error?.code).toBe('CANCELLED');
    expect(stage.clock.pendingCount).toBe(before);
  });

  it('fails at its deadline for an unknown name and suggests the closest one', async () => {
    const stage = await stageOf({ settings: servers({ files: 'srv' }) });
    const near = watch(stage.troupe.waitFor('fils', 'ready', { timeoutMs: 1_000 }));
    const far = watch(stage.troupe.waitFor('calendar', 'ready', { timeoutMs: 1_000 }));
    await stage.advance(999);
    expect([near.state, far.state]).toEqual(['pending', 'pending']);
    await stage.advance(1);
    expect(near.error).toMatchObject({ code: 'TIMEOUT_WAITING' });
    expect(near.error?.message).toContain('no server of this name). Did you mean files?');
    expect(far.error?.message).toContain('List what is there: troupe status');
  });

  it('fails with SHUTTING_DOWN when the troupe stops', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made = watch(stage.troupe.waitFor('db', 'ready'));
    void stage.troupe.stop();
    await stage.advance(5_000);
    expect(made.error?.code).toBe('SHUTTING_DOWN');
  });
});

describe('refresh', () => {
  it('lists a silent server again in its session and reports its new tools', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const changed: string[] = [];
    stage.troupe.on('tools.changed', ({ servers: names }) => changed.push(...names));
    const made = watch(stage.troupe.refresh('db'));
    await stage.settle();
    expect(made.state).toBe('pending');
    stage.sessions.of('db').list([tool('query'), tool('added')]);
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready', tools: 2, restarts: 0 });
    expect(changed).toEqual(['db']);
  });

  it('resolves when the list is the same as before', async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.refresh('db'));
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it.each([
    [
      'the list fails',
      'TIMEOUT_WAITING',
      (stage: Stage) => stage.sessions.of('db').failList(failure('protocol')),
    ],
    ['the session is lost', 'UNAVAILABLE', (stage: Stage) => stage.sessions.of('db').fail(crash())],
    ['nothing comes in time', 'TIMEOUT_WAITING', () => undefined],
    ['the troupe stops', 'UNAVAILABLE', (stage: Stage) => void stage.troupe.stop()],
  ])('rejects when %s', async (_why, code, happens) => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = watch(stage.troupe.refresh('db'));
    await stage.settle();
    happens(stage);
    await stage.advance(35_000);
    expect(made.error).toMatchObject({ code, server: 'db' });
  });

  it('rejects at once when the list fails like the one before', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    for (let time = 0; time < 2; time += 1) {
      const made = watch(stage.troupe.refresh('db'));
      await stage.settle();
      stage.sessions.of('db').failList(failure('protocol', { message: 'no tools today' }));
      await stage.settle();
      expect(made.error?.message).toContain('no tools today');
    }
  });

  it('resolves with the status that the list leads to', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const failed = watch(stage.troupe.refresh('db'));
    await stage.settle();
    stage.sessions.of('db').failList(failure('protocol'));
    await stage.settle();
    expect(failed.state).toBe('refused');
    const made = watch(stage.troupe.refresh('db'));
    await stage.settle();
    stage.sessions.of('db').list([tool('query')]);
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it('waits for the list after the one that was running at the request', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    void stage.troupe.refresh('db');
    await stage.settle();
    const made = watch(stage.troupe.refresh('db'));
    await stage.settle();
    stage.sessions.of('db').list([tool('old')]);
    await stage.settle();
    expect(made.state).toBe('pending');
    await stage.advance(1_000);
    stage.sessions.of('db').list([tool('old'), tool('added')]);
    await stage.settle();
    expect(made.value).toMatchObject({ tools: 2 });
  });

  it('is refused for a server that is not ready', async () => {
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const dormant = watch(stage.troupe.refresh('db'));
    await stage.settle();
    expect(dormant.error?.message).toContain('troupe start db');
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    const stopped = watch(stage.troupe.refresh('db'));
    await stage.settle();
    expect(stopped.error).toMatchObject({ code: 'STOPPED' });
  });
});

describe('restartAndWait', () => {
  it("resolves with a ready server's next session, not the current one", async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.advance(100);
    expect(made.state).toBe('pending');
    stage.sessions.of('db').closed();
    await stage.settle();
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 1 });
  });

  it('resolves with a ready session after a failure', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail(failure('versionUnsupported'));
    await stage.settle();
    expect(stage.stateOf('db')).toBe('failed.versionUnsupported');
    stage.obedient = null;
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 1 });
  });

  it('does not wait for a backoff to end', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    stage.sessions.of('db').fail({ ...crash(), retryAfterMs: 300_000 });
    await stage.settle();
    stage.obedient = null;
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('keeps waiting through failed attempts', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(made.state).toBe('pending');
    await nextAttempt(stage, 'db');
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(made.value).toMatchObject({ restarts: 2 });
  });

  it("clears the user's stop", async () => {
    const stage = await stageOf({ settings: db });
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('resolves with the new generation when the settings change meanwhile', async () => {
    const stage = await stageOf({ settings: db });
    for (let count = 0; count < 3; count += 1) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.settle();
    }
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    const old = stage.sessions.of('db');
    await stage.apply(servers({ db: 'newer' }));
    stage.obedient = null;
    old.closed();
    await stage.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it.each([
    ['an excluded server', servers({ db: 'srv' }, { excluded: ['db'] }), 'EXCLUDED'],
    ['a disabled server', servers({ db: { command: 'srv', enabled: false } }), 'DISABLED'],
    ['an unusable entry', servers({ db: {} }), 'INVALID_CONFIG'],
  ])('rejects immediately for %s', async (_, settings, code) => {
    const stage = await stageOf({ settings });
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    expect(made.error?.code).toBe(code);
  });

  it.each([
    ['that gives up', failure('capabilityMissing'), 'CAPABILITY_MISSING'],
    ['that needs a login', failure('authRequired'), 'AUTH_REQUIRED'],
  ])('rejects for a server %s', async (_, lost, code) => {
    const stage = await stageOf({ settings: servers({ db: remote }) });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(made.state).toBe('pending');
    stage.sessions.of('db').fail(lost);
    await stage.settle();
    expect(made.error?.code).toBe(code);
  });

  it('rejects when the user stops the server', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(made.error?.code).toBe('STOPPED');
  });

  it('rejects when the user stops the server while the old session closes', async () => {
    const stage = await stageOf({ settings: db });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    stage.troupe.send({ type: 'server.stop', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(made.error?.code).toBe('STOPPED');
  });

  it.each([
    ['while the old session closes', false],
    ['while the new session opens', true],
  ])('rejects at once when the server is removed %s', async (_when, isClosed) => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    stage.obedient = new Set();
    const made = watch(stage.troupe.restartAndWait('db'));
    await stage.settle();
    if (isClosed) stage.sessions.of('db').closed();
    await stage.settle();
    await stage.apply(servers({ web: 'srv' }));
    expect(made.error?.code).toBe('SERVER_REMOVED');
  });

  it('rejects for an unknown server', async () => {
    const stage = await stageOf({ settings: db });
    const made = watch(stage.troupe.restartAndWait('web'));
    await stage.settle();
    expect(made.error?.code).toBe('SERVER_UNKNOWN');
  });
});
