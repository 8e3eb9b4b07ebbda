import { describe, expect, it } from 'vitest';
import { crash, remote, servers, setUp, stageOf, watch } from './stage.ts';

describe('ready()', () => {
  it("resolves after the startup gate with each server's progress", async () => {
    const stage = await stageOf({
      settings: servers({
        live: 'srv',
        slow: 'srv',
        lazy: { command: 'srv', startup: 'lazy' },
        off: { command: 'srv', enabled: false },
        bad: {},
        dying: remote,
      }),
      obedient: ['live'],
    });
    stage.sessions.of('dying').fail(crash());
    const ready = watch(stage.troupe.ready());
    await stage.advance(249);
    expect(ready.state).toBe('pending');
    expect(stage.troupe.snapshot().troupe.state).toBe('starting');
    await stage.advance(1);
    expect(ready.value).toEqual({
      live: ['live'],
      deferred: [],
      pending: ['lazy', 'slow'],
      failed: [
        { name: 'bad', state: 'blocked', reason: 'invalidConfig' },
        { name: 'dying', state: 'backingOff', reason: 'retrying' },
      ],
      elapsedMs: 250,
    });
    expect(stage.troupe.snapshot().troupe.state).toBe('running');
    // The gate is for showing, never for connecting.
    expect(stage.stateOf('slow')).toBe('connecting');
  });

  it('resolves as soon as no server is starting', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }), obedient: ['db'] });
    const ready = watch(stage.troupe.ready());
    await stage.advance(100);
    expect(ready.state).toBe('pending');
    stage.sessions.of('web').fail(crash());
    await stage.settle();
    expect(ready.value).toMatchObject({ live: ['db'], elapsedMs: 100 });
  });

  const untilKnown = { startup: { withoutCache: 'block' } };

  it('waits past the gate for unknown tools when the policy says so', async () => {
    const stage = await stageOf({
      settings: servers({ slow: { command: 'srv', policy: untilKnown }, other: 'srv' }),
      obedient: [],
    });
    const ready = watch(stage.troupe.ready());
    await stage.advance(29_000);
    expect(stage.troupe.snapshot().troupe.state).toBe('running');
    expect(ready.state).toBe('pending');
    stage.sessions.of('slow').open();
    stage.sessions.of('slow').list([]);
    await stage.settle();
    expect(ready.value).toMatchObject({ live: ['slow'], pending: ['other'], elapsedMs: 29_000 });
  });

  it('stops waiting for unknown tools when the server fails or the troupe stops', async () => {
    const settings = servers({ db: 'srv', web: 'srv' }, { policy: untilKnown });
    const stage = await stageOf({ settings, obedient: ['web'] });
    const ready = watch(stage.troupe.ready());
    await stage.advance(1_000);
    expect(ready.state).toBe('pending');
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(ready.value).toMatchObject({ live: ['web'], failed: [{ name: 'db' }] });
    const other = await stageOf({ settings, obedient: [] });
    const never = watch(other.troupe.ready());
    await other.advance(1_000);
    other.troupe.send({ type: 'troupe.kill' });
    await other.settle();
    expect(never.state).toBe('done');
  });

  it('resolves immediately without servers', async () => {
    const stage = await stageOf({});
    const ready = watch(stage.troupe.ready());
    await stage.settle();
    expect(ready.value).toMatchObject({ live: [], elapsedMs: 0 });
  });

  it('counts the gate from creation but leaves servers half of it after the first pass', async () => {
    const stage = setUp({ settings: servers({ db: 'srv' }), obedient: [] });
    const ready = watch(stage.troupe.ready());
    // Time passes before the settings have been read at all.
    stage.clock.advanceBy(1_000);
    expect(stage.troupe.snapshot().servers).toEqual([]);
    await stage.settle();
    await stage.advance(124);
    expect(ready.state).toBe('pending');
    await stage.advance(1);
    expect(ready.value).toMatchObject({ pending: ['db'], elapsedMs: 1_125 });
  });

  it('subtracts the time spent reading settings from its gate', async () => {
    const stage = setUp({ settings: servers({ db: 'srv' }), obedient: [] });
    const ready = watch(stage.troupe.ready());
    stage.clock.advanceBy(60);
    await stage.settle();
    await stage.advance(189);
    expect(ready.state).toBe('pending');
    await stage.advance(1);
    expect(ready.value).toMatchObject({ pending: ['db'], elapsedMs: 250 });
  });

  it('uses the gate from the settings', async () => {
    const settings = servers({ db: 'srv' }, { startupGateMs: 3_000 });
    const stage = await stageOf({ settings, obedient: [] });
    const ready = watch(stage.troupe.ready());
    await stage.advance(2_999);
    expect(ready.state).toBe('pending');
    await stage.advance(1);
    expect(ready.value?.elapsedMs).toBe(3_000);
  });

  it('resolves after five seconds when the settings cannot be read', async () => {
    const stage = setUp({ settings: servers({ db: 'srv' }) });
    const ready = watch(stage.troupe.ready());
    // A dead network folder: the clock runs on while the reading does not come back.
    stage.clock.advanceBy(5_000);
    await Promise.resolve();
    await stage.settle();
    expect(ready.state).toBe('done');
  });

  it('resolves even when the troupe is stopped first', async () => {
    for (const type of ['troupe.stop', 'troupe.kill'] as const) {
      const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
      const ready = watch(stage.troupe.ready());
      stage.troupe.send({ type });
      await stage.advance(5_000);
      expect(ready.state).toBe('done');
    }
  });

  it('returns the same report to later callers', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    await stage.advance(60_000);
    expect(await stage.troupe.ready()).toBe(await stage.troupe.ready());
  });
});

describe('starting many servers', () => {
  it('opens at most three local and twenty remote servers at a time, in settings order', async () => {
    const entries = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        [`l${index}`, 'srv'],
        [`r${index}`, remote],
      ]).flat() as [string, string | typeof remote][],
    );
    const settings = servers(entries, { slots: { local: 3, remote: 20 } });
    const stage = await stageOf({ settings, obedient: [] });
    const opening = (): readonly string[] =>
      stage.sessions.scripts
        .filter(({ state }) => state === 'opening')
        .map(({ input }) => input.server);
    expect(opening().filter((name) => name.startsWith('l'))).toEqual(['l0', 'l1', 'l2']);
    expect(opening().filter((name) => name.startsWith('r'))).toHaveLength(20);
    // However slow they are.
    await stage.advance(20_000);
    expect(opening()).toHaveLength(23);
    stage.sessions.of('l1').open();
    await stage.settle();
    expect(opening().filter((name) => name.startsWith('l'))).toEqual(['l0', 'l2', 'l3']);
  });
});

describe('the first start by a package runner', () => {
  const npx = { command: '/opt/node/bin/npx', args: ['-y', 'db'] };
  const start = (entry: Readonly<Record<string, unknown>> = npx) =>
    stageOf({ settings: servers({ db: entry }), obedient: [] });

  it('has 120 s and is reported as a possible download', async () => {
    const stage = await start();
    expect(stage.troupe.status('db')).toMatchObject({ state: 'connecting', mayDownload: true });
    await stage.advance(119_999);
    expect(stage.stateOf('db')).toBe('connecting');
    await stage.advance(1);
    stage.sessions.of('db').closed();
    await stage.settle();
    const status = stage.troupe.status('db');
    expect(status).toMatchObject({ state: 'backingOff', lastError: { kind: 'initTimeout' } });
    expect(status?.lastError?.message).toContain('within 120000 ms');
    expect(status).not.toHaveProperty('mayDownload');
  });

  it('is over once the tools are listed: a restart has the usual deadline', async () => {
    const stage = await start();
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([]);
    await stage.settle();
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.stateOf('db')).toBe('connecting');
    expect(stage.troupe.status('db')).not.toHaveProperty('mayDownload');
    await stage.advance(30_000);
    expect(stage.stateOf('db')).not.toBe('connecting');
  });

  it.each([
    ["the user's deadline", { ...npx, connectTimeoutMs: 5_000 }, 5_000],
    ['the deadline of a preset', { ...npx, policy: 'claudeCode' }, 30_000],
    ['the deadline of other programs', { command: 'node', args: ['db.js'] }, 30_000],
  ])('respects %s', async (_what, entry, deadlineMs) => {
    const stage = await start(entry);
    await stage.advance(deadlineMs - 1);
    expect(stage.stateOf('db')).toBe('connecting');
    await stage.advance(1);
    expect(stage.stateOf('db')).not.toBe('connecting');
  });

  it('holds its start permit for a second, like any other', async () => {
    // One more than the permits of one core.
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const settings = servers(Object.fromEntries(names.map((name) => [name, npx])));
    const stage = await stageOf({ settings, obedient: [] });
    expect([stage.stateOf('a'), stage.stateOf('i')]).toEqual(['connecting', 'queued']);
    await stage.advance(1_000);
    expect([stage.stateOf('a'), stage.stateOf('i')]).toEqual(['connecting', 'connecting']);
  });

  it('extends the startup timeout of a required server', async () => {
    const required = { ...npx, required: true };
    const stage = await start(required);
    const waiting = watch(stage.troupe.required());
    await stage.advance(149_999);
    expect(waiting.state).toBe('pending');
    await stage.advance(1);
    expect(waiting.state).toBe('refused');
  });

  it('is named when a call times out waiting for it', async () => {
    const stage = await start();
    const call = watch(stage.troupe.callServerTool('db', 'query', {}, { timeoutMs: 60_000 }));
    await stage.advance(60_000);
    expect(call.error).toMatchObject({
      code: 'CONNECTING',
      message: expect.stringContaining('still connecting (it may be downloading)') as string,
    });
  });
});
