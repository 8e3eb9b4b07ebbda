import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import { crash, servers, stageOf, thrownBy, watch } from '../stage.ts';

const db = servers({ db: 'srv' });
const send = (stage: Awaited<ReturnType<typeof stageOf>>, event: unknown) =>
  thrownBy(() => stage.troupe.send(event as HostEvent));

describe('a host event', () => {
  it.each([
    ['an unknown type', { type: 'server.explode', server: 'db' }],
    ['an XState event', { type: 'xstate.stop' }],
    ["a child's done event", { type: 'xstate.done.actor.db.0', actorId: 'db.0' }],
    ['an event that only charts send to each other', { type: 'slot.granted', actorId: 'db.0' }],
    [
      'an event that only the settings source sends',
      { type: 'settings.loaded', settings: {}, at: 0 },
    ],
    ['an extra field', { type: 'server.stop', server: 'db', force: true }],
    ['a missing field', { type: 'server.stop' }],
    ['an empty name', { type: 'server.stop', server: '' }],
    ['a name that is not a string', { type: 'server.stop', server: ['db'] }],
    ['a truncated fingerprint', { type: 'approval.grant', server: 'db', fingerprint: 'abc' }],
    ['no type', { server: 'db' }],
    ['a string', 'troupe.stop'],
    ['null', null],
  ])('is rejected without effect: %s', async (_, event) => {
    const stage = await stageOf({ settings: db });
    expect(send(stage, event)).toMatchObject({
      code: 'INVALID_ARGUMENTS',
      outcome: 'not_executed',
    });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.errors).toEqual([]);
  });

  it('is rejected with the closest type when its type is misspelt', async () => {
    const stage = await stageOf({ settings: db });
    expect(send(stage, { type: 'settings.relaod' }).message).toBe(
      'There is no event to send to a troupe "settings.relaod". Did you mean "settings.reload"?',
    );
    expect(send(stage, { type: 'xstate.stop' }).message).toContain('There are: settings.changed, ');
  });

  it('is rejected with the name of the invalid field', async () => {
    const stage = await stageOf({ settings: db });
    expect(send(stage, { type: 'trust.changed', trusted: 'yes' }).message).toContain('"trusted"');
  });

  it('is rejected with the closest name for an unknown server', async () => {
    const stage = await stageOf({ settings: servers({ database: 'srv' }) });
    const refused = send(stage, { type: 'server.stop', server: 'databse' });
    expect(refused).toMatchObject({ code: 'SERVER_UNKNOWN' });
    expect(refused.message).toContain('Did you mean database?');
    await stage.apply(servers({}));
    expect(send(stage, { type: 'server.stop', server: 'database' })).toMatchObject({
      code: 'SERVER_REMOVED',
    });
  });

  it("replaces the host's own settings", async () => {
    const stage = await stageOf({ settings: db, hostSettings: servers({ own: 'mine' }) });
    expect([stage.stateOf('db'), stage.stateOf('own')]).toEqual(['ready', 'ready']);
    stage.troupe.send({ type: 'settings.changed', settings: servers({ other: 'mine' }) });
    await stage.settle();
    expect(stage.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['db', 'other']);
  });
});

describe('a listener', () => {
  it('is rejected with the closest name for an unknown event', async () => {
    const { troupe } = await stageOf({ settings: db });
    const listen = (name: string) => thrownBy(() => troupe.on(name as 'reconciled', () => {}));
    expect(listen('status.chnged')).toMatchObject({
      code: 'INVALID_ARGUMENTS',
      message: 'There is no event to listen to "status.chnged". Did you mean "status.changed"?',
    });
    expect(listen('constructor').message).toContain('There are: status.changed, ');
  });

  it('is reported each time it throws and affects nothing else', async () => {
    const stage = await stageOf({ settings: db });
    const told: string[] = [];
    stage.troupe.on('status.changed', () => {
      throw new Error('oops');
    });
    stage.troupe.on('status.changed', ({ status }) => told.push(status.state));
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(told).toEqual(['backingOff']);
    expect(stage.errors).toMatchObject([{ message: 'A listener of "status.changed" threw.' }]);
  });

  it('can send events, which are handled after the current one', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const end = stage.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'connecting') stage.troupe.send({ type: 'server.stop', server: 'db' });
    });
    stage.sessions.of('db').fail(crash());
    await stage.advance(30_000);
    end();
    expect(stage.sessions.of('db').commands).toEqual([
      'session.open',
      'session.close',
      'session.kill',
    ]);
    expect(stage.stateOf('db')).toBe('stopped');
    expect(stage.errors).toEqual([]);
  });

  it('can call a tool as soon as the server is ready', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const made: ReturnType<typeof watch>[] = [];
    stage.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'ready') made.push(watch(stage.troupe.callTool('mcp__db__query')));
    });
    stage.obedient = null;
    stage.sessions.of('db').open();
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ content: [] });
    await stage.settle();
    expect(made.map(({ state }) => state)).toEqual(['done']);
  });

  it('can stop the troupe and await its end', async () => {
    const stage = await stageOf({ settings: db });
    const ends: ReturnType<typeof watch>[] = [];
    stage.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'backingOff') ends.push(watch(stage.troupe.stop()));
    });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(new Set(ends.map(({ state }) => state))).toEqual(new Set(['done']));
    expect(stage.clock.pendingCount).toBe(0);
  });

  it('sees the reported state in snapshots', async () => {
    const stage = await stageOf({ settings: db, obedient: [] });
    const differences: string[] = [];
    stage.troupe.on('status.changed', ({ status }) => {
      if (stage.troupe.status(status.name)?.state !== status.state) differences.push(status.state);
    });
    stage.obedient = null;
    stage.sessions.of('db').open();
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    expect(differences).toEqual([]);
  });

  it('gets no event after it unsubscribes, even during an event', async () => {
    const stage = await stageOf({ settings: db });
    const told: string[] = [];
    const listener = ({ status }: { status: { state: string } }): void => {
      told.push(status.state);
      end();
    };
    const end = stage.troupe.on('status.changed', listener);
    const endOther = stage.troupe.on('status.changed', listener);
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(told).toEqual(['backingOff', 'backingOff']);
    endOther();
    await stage.advance(60_000);
    expect(told).toHaveLength(2);
  });

  it('is notified of problems once, and the valid content stays in force', async () => {
    const stage = await stageOf({ settings: db });
    const heard: number[] = [];
    stage.troupe.on('settings.invalid', ({ problems }) => heard.push(problems.length));
    await stage.apply('{ "mcpServers": ');
    stage.files.touch();
    await stage.advance(1_000);
    expect(heard).toEqual([1]);
    expect(stage.troupe.snapshot().troupe.problems).toHaveLength(1);
    expect(stage.stateOf('db')).toBe('ready');
    await stage.apply(db);
    expect(stage.troupe.snapshot().troupe.problems).toEqual([]);
  });

  it('is notified once that an edit applies from the next start', async () => {
    const stage = await stageOf({ settings: db });
    const heard: string[] = [];
    stage.troupe.on('settings.invalid', ({ problems }) => {
      heard.push(problems.map(({ line, key }) => `${line} ${key}`).join());
    });
    const gate = '"mcp": { "startupGateMs": 400 }';
    await stage.apply(`{ ${gate} }`);
    await stage.apply(`{\n// moved\n${gate}, "mcpServers": { "b": { "command": "b" } } }`);
    expect(heard).toEqual(['1 mcp.startupGateMs']);
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([{ line: 3 }]);
    await stage.apply(db);
    expect(stage.troupe.snapshot().troupe.problems).toEqual([]);
    expect(heard).toHaveLength(1);
  });

  it("is notified of each pass's steps and duration", async () => {
    const stage = await stageOf({ settings: db });
    const passes: string[] = [];
    stage.troupe.on('reconciled', ({ plan, durationMs }) => {
      passes.push(`${plan.map(({ server, step }) => `${server} ${step}`).join()} ${durationMs}`);
    });
    await stage.apply(servers({ db: 'newer' }));
    expect(passes).toEqual(['db replace 0', 'db spawn 0']);
    expect(stage.troupe.snapshot().troupe.lastReconcile).toMatchObject({ steps: 1 });
    stage.troupe.send({ type: 'settings.reload' });
    stage.troupe.send({ type: 'system.woke' });
    await stage.settle();
    // A pass that does nothing is not worth telling.
    expect(passes).toHaveLength(2);
  });
});
