import { describe, expect, it } from 'vitest';
import {
  bringUp,
  crash,
  failure,
  nextAttempt,
  remote,
  type Stage,
  servers,
  stage,
  tool,
  watch,
} from './stage.ts';

const db = servers({ db: 'srv' });

describe('waitFor', () => {
  it('resolves immediately in the desired state and accepts degraded as ready', async () => {
    const there = await stage({ settings: db });
    there.sessions.of('db').impair('flooding');
    const made = watch(there.troupe.waitFor('db', 'ready'));
    await there.settle();
    expect(made.value).toMatchObject({ state: 'degraded' });
  });

  it('resolves when the server reaches the state', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.waitFor('db', 'ready'));
    await there.advance(1_000);
    expect(made.state).toBe('pending');
    bringUp(there.sessions.of('db'));
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it('waits for a server that does not exist yet', async () => {
    const there = await stage({});
    const made = watch(there.troupe.waitFor('db', 'ready'));
    await there.apply(db);
    expect(made.state).toBe('done');
  });

  it.each([
    ['TIMEOUT_WAITING at its deadline', { timeoutMs: 500 }, 'TIMEOUT_WAITING'],
    ['CANCELLED when already aborted', { signal: AbortSignal.abort() }, 'CANCELLED'],
  ])('fails with %s', async (_, options, code) => {
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.waitFor('db', 'ready', options));
    await there.advance(500);
    expect(made.error).toMatchObject({ code, server: 'db' });
  });

  it('fails with CANCELLED when it is aborted and leaves nothing behind', async () => {
    const there = await stage({ settings: db, obedient: [] });
    await there.advance(2_000);
    const before = there.clock.pendingCount;
    const controller = new AbortController();
    const made = watch(
      there.troupe.waitFor('db', 'ready', { signal: controller.signal, timeoutMs: 60_000 }),
    );
    await there.settle();
    controller.abort();
    await there.settle();
    expect(made.error?.code).toBe('CANCELLED');
    expect(there.clock.pendingCount).toBe(before);
  });

  it('fails at its deadline for an unknown name and suggests the closest one', async () => {
    const there = await stage({ settings: servers({ files: 'srv' }) });
    const near = watch(there.troupe.waitFor('fils', 'ready', { timeoutMs: 1_000 }));
    const far = watch(there.troupe.waitFor('calendar', 'ready', { timeoutMs: 1_000 }));
    await there.advance(999);
    expect([near.state, far.state]).toEqual(['pending', 'pending']);
    await there.advance(1);
    expect(near.error).toMatchObject({ code: 'TIMEOUT_WAITING' });
    expect(near.error?.message).toContain('no server of this name). Did you mean files?');
    expect(far.error?.message).toContain('List what is there: troupe status');
  });

  it('fails with SHUTTING_DOWN when the troupe stops', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made = watch(there.troupe.waitFor('db', 'ready'));
    void there.troupe.stop();
    await there.advance(5_000);
    expect(made.error?.code).toBe('SHUTTING_DOWN');
  });
});

describe('refresh', () => {
  it('lists a silent server again in its session and reports its new tools', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const changed: string[] = [];
    there.troupe.on('tools.changed', ({ servers: names }) => changed.push(...names));
    const made = watch(there.troupe.refresh('db'));
    await there.settle();
    expect(made.state).toBe('pending');
    there.sessions.of('db').list([tool('query'), tool('added')]);
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready', tools: 2, restarts: 0 });
    expect(changed).toEqual(['db']);
  });

  it('resolves when the list is the same as before', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.refresh('db'));
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it.each([
    [
      'the list fails',
      'TIMEOUT_WAITING',
      (there: Stage) => there.sessions.of('db').failList(failure('protocol')),
    ],
    ['the session is lost', 'UNAVAILABLE', (there: Stage) => there.sessions.of('db').fail(crash())],
    ['nothing comes in time', 'TIMEOUT_WAITING', () => undefined],
    ['the troupe stops', 'UNAVAILABLE', (there: Stage) => void there.troupe.stop()],
  ])('rejects when %s', async (_why, code, happens) => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = watch(there.troupe.refresh('db'));
    await there.settle();
    happens(there);
    await there.advance(35_000);
    expect(made.error).toMatchObject({ code, server: 'db' });
  });

  it('rejects at once when the list fails like the one before', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    for (let time = 0; time < 2; time += 1) {
      const made = watch(there.troupe.refresh('db'));
      await there.settle();
      there.sessions.of('db').failList(failure('protocol', { message: 'no tools today' }));
      await there.settle();
      expect(made.error?.message).toContain('no tools today');
    }
  });

  it('resolves with the status that the list leads to', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const failed = watch(there.troupe.refresh('db'));
    await there.settle();
    there.sessions.of('db').failList(failure('protocol'));
    await there.settle();
    expect(failed.state).toBe('refused');
    const made = watch(there.troupe.refresh('db'));
    await there.settle();
    there.sessions.of('db').list([tool('query')]);
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready' });
  });

  it('waits for the list after the one that was running at the request', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    void there.troupe.refresh('db');
    await there.settle();
    const made = watch(there.troupe.refresh('db'));
    await there.settle();
    there.sessions.of('db').list([tool('old')]);
    await there.settle();
    expect(made.state).toBe('pending');
    await there.advance(1_000);
    there.sessions.of('db').list([tool('old'), tool('added')]);
    await there.settle();
    expect(made.value).toMatchObject({ tools: 2 });
  });

  it('is refused for a server that is not ready', async () => {
    const there = await stage({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const dormant = watch(there.troupe.refresh('db'));
    await there.settle();
    expect(dormant.error?.message).toContain('troupe start db');
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    const stopped = watch(there.troupe.refresh('db'));
    await there.settle();
    expect(stopped.error).toMatchObject({ code: 'STOPPED' });
  });
});

describe('restartAndWait', () => {
  it("resolves with a ready server's next session, not the current one", async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.advance(100);
    expect(made.state).toBe('pending');
    there.sessions.of('db').closed();
    await there.settle();
    bringUp(there.sessions.of('db'));
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 1 });
  });

  it('resolves with a ready session after a failure', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail(failure('versionUnsupported'));
    await there.settle();
    expect(there.stateOf('db')).toBe('failed.versionUnsupported');
    there.obedient = null;
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 1 });
  });

  it('does not wait for a backoff to end', async () => {
    const there = await stage({ settings: db, obedient: [] });
    there.sessions.of('db').fail({ ...crash(), retryAfterMs: 300_000 });
    await there.settle();
    there.obedient = null;
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('keeps waiting through failed attempts', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    there.sessions.of('db').closed();
    await there.settle();
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(made.state).toBe('pending');
    await nextAttempt(there, 'db');
    bringUp(there.sessions.of('db'));
    await there.settle();
    expect(made.value).toMatchObject({ restarts: 2 });
  });

  it("clears the user's stop", async () => {
    const there = await stage({ settings: db });
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    expect(made.state).toBe('done');
  });

  it('resolves with the new generation when the settings change meanwhile', async () => {
    const there = await stage({ settings: db });
    for (let count = 0; count < 3; count += 1) {
      there.troupe.send({ type: 'server.restart', server: 'db' });
      await there.settle();
    }
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    const old = there.sessions.of('db');
    await there.apply(servers({ db: 'newer' }));
    there.obedient = null;
    old.closed();
    await there.settle();
    expect(made.value).toMatchObject({ state: 'ready', restarts: 0 });
  });

  it.each([
    ['an excluded server', servers({ db: 'srv' }, { excluded: ['db'] }), 'EXCLUDED'],
    ['a disabled server', servers({ db: { command: 'srv', enabled: false } }), 'DISABLED'],
    ['an unusable entry', servers({ db: {} }), 'INVALID_CONFIG'],
  ])('rejects immediately for %s', async (_, settings, code) => {
    const there = await stage({ settings });
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    expect(made.error?.code).toBe(code);
  });

  it.each([
    ['that gives up', failure('capabilityMissing'), 'CAPABILITY_MISSING'],
    ['that needs a login', failure('authRequired'), 'AUTH_REQUIRED'],
  ])('rejects for a server %s', async (_, lost, code) => {
    const there = await stage({ settings: servers({ db: remote }) });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    there.sessions.of('db').closed();
    await there.settle();
    expect(made.state).toBe('pending');
    there.sessions.of('db').fail(lost);
    await there.settle();
    expect(made.error?.code).toBe(code);
  });

  it('rejects when the user stops the server', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    there.sessions.of('db').closed();
    await there.settle();
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    there.sessions.of('db').closed();
    await there.settle();
    expect(made.error?.code).toBe('STOPPED');
  });

  it('rejects when the user stops the server while the old session closes', async () => {
    const there = await stage({ settings: db });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    there.troupe.send({ type: 'server.stop', server: 'db' });
    await there.settle();
    there.sessions.of('db').closed();
    await there.settle();
    expect(made.error?.code).toBe('STOPPED');
  });

  it.each([
    ['while the old session closes', false],
    ['while the new session opens', true],
  ])('rejects at once when the server is removed %s', async (_when, isClosed) => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    there.obedient = new Set();
    const made = watch(there.troupe.restartAndWait('db'));
    await there.settle();
    if (isClosed) there.sessions.of('db').closed();
    await there.settle();
    await there.apply(servers({ web: 'srv' }));
    expect(made.error?.code).toBe('SERVER_REMOVED');
  });

  it('rejects for an unknown server', async () => {
    const there = await stage({ settings: db });
    const made = watch(there.troupe.restartAndWait('web'));
    await there.settle();
    expect(made.error?.code).toBe('SERVER_UNKNOWN');
  });
});
