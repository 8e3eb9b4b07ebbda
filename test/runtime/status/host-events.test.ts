import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import { crash, servers, stage, thrownBy, watch } from '../stage.ts';

const db = servers({ db: 'srv' });
const send = (there: Awaited<ReturnType<typeof stage>>, event: unknown) =>
  thrownBy(() => there.troupe.send(event as HostEvent));

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
    const there = await stage({ settings: db });
    expect(send(there, event)).toMatchObject({
      code: 'INVALID_ARGUMENTS',
      outcome: 'not_executed',
    });
    await there.settle();
    expect(there.stateOf('db')).toBe('ready');
    expect(there.errors).toEqual([]);
  });

  it('is rejected with the closest type when its type is misspelt', async () => {
    const there = await stage({ settings: db });
    expect(send(there, { type: 'settings.relaod' }).message).toBe(
      'There is no event to send to a troupe "settings.relaod". Did you mean "settings.reload"?',
    );
    expect(send(there, { type: 'xstate.stop' }).message).toContain('There are: settings.changed, ');
  });

  it('is rejected with the name of the invalid field', async () => {
    const there = await stage({ settings: db });
    expect(send(there, { type: 'trust.changed', trusted: 'yes' }).message).toContain('"trusted"');
  });

  it('is rejected with the closest name for an unknown server', async () => {
    const there = await stage({ settings: servers({ database: 'srv' }) });
    const refused = send(there, { type: 'server.stop', server: 'databse' });
    expect(refused).toMatchObject({ code: 'SERVER_UNKNOWN' });
    expect(refused.message).toContain('Did you mean database?');
    await there.apply(servers({}));
    expect(send(there, { type: 'server.stop', server: 'database' })).toMatchObject({
      code: 'SERVER_REMOVED',
    });
  });

  it("replaces the host's own settings", async () => {
    const there = await stage({ settings: db, hostSettings: servers({ own: 'mine' }) });
    expect([there.stateOf('db'), there.stateOf('own')]).toEqual(['ready', 'ready']);
    there.troupe.send({ type: 'settings.changed', settings: servers({ other: 'mine' }) });
    await there.settle();
    expect(there.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['db', 'other']);
  });
});

describe('a listener', () => {
  it('is rejected with the closest name for an unknown event', async () => {
    const { troupe } = await stage({ settings: db });
    const listen = (name: string) => thrownBy(() => troupe.on(name as 'reconciled', () => {}));
    expect(listen('status.chnged')).toMatchObject({
      code: 'INVALID_ARGUMENTS',
      message: 'There is no event to listen to "status.chnged". Did you mean "status.changed"?',
    });
    expect(listen('constructor').message).toContain('There are: status.changed, ');
  });

  it('is reported each time it throws and affects nothing else', async () => {
    const there = await stage({ settings: db });
    const told: string[] = [];
    there.troupe.on('status.changed', () => {
      throw new Error('oops');
    });
    there.troupe.on('status.changed', ({ status }) => told.push(status.state));
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(told).toEqual(['backingOff']);
    expect(there.errors).toMatchObject([{ message: 'A listener of "status.changed" threw.' }]);
  });

  it('can send events, which are handled after the current one', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const end = there.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'connecting') there.troupe.send({ type: 'server.stop', server: 'db' });
    });
    there.sessions.of('db').fail(crash());
    await there.advance(30_000);
    end();
    expect(there.sessions.of('db').commands).toEqual([
      'session.open',
      'session.close',
      'session.kill',
    ]);
    expect(there.stateOf('db')).toBe('stopped');
    expect(there.errors).toEqual([]);
  });

  it('can call a tool as soon as the server is ready', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const made: ReturnType<typeof watch>[] = [];
    there.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'ready') made.push(watch(there.troupe.callTool('mcp__db__query')));
    });
    there.obedient = null;
    there.sessions.of('db').open();
    await there.settle();
    there.sessions.of('db').calls[0]?.answer({ content: [] });
    await there.settle();
    expect(made.map(({ state }) => state)).toEqual(['done']);
  });

  it('can stop the troupe and await its end', async () => {
    const there = await stage({ settings: db });
    const ends: ReturnType<typeof watch>[] = [];
    there.troupe.on('status.changed', ({ status }) => {
      if (status.state === 'backingOff') ends.push(watch(there.troupe.stop()));
    });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(new Set(ends.map(({ state }) => state))).toEqual(new Set(['done']));
    expect(there.clock.pendingCount).toBe(0);
  });

  it('sees the reported state in snapshots', async () => {
    const there = await stage({ settings: db, obedient: [] });
    const differences: string[] = [];
    there.troupe.on('status.changed', ({ status }) => {
      if (there.troupe.status(status.name)?.state !== status.state) differences.push(status.state);
    });
    there.obedient = null;
    there.sessions.of('db').open();
    there.sessions.of('db').fail(crash());
    await there.advance(60_000);
    expect(differences).toEqual([]);
  });

  it('gets no event after it unsubscribes, even during an event', async () => {
    const there = await stage({ settings: db });
    const told: string[] = [];
    const listener = ({ status }: { status: { state: string } }): void => {
      told.push(status.state);
      end();
    };
    const end = there.troupe.on('status.changed', listener);
    const endOther = there.troupe.on('status.changed', listener);
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(told).toEqual(['backingOff', 'backingOff']);
    endOther();
    await there.advance(60_000);
    expect(told).toHaveLength(2);
  });

  it('is notified of problems once, and the valid content stays in force', async () => {
    const there = await stage({ settings: db });
    const heard: number[] = [];
    there.troupe.on('settings.invalid', ({ problems }) => heard.push(problems.length));
    await there.apply('{ "mcpServers": ');
    there.files.touch();
    await there.advance(1_000);
    expect(heard).toEqual([1]);
    expect(there.troupe.snapshot().troupe.problems).toHaveLength(1);
    expect(there.stateOf('db')).toBe('ready');
    await there.apply(db);
    expect(there.troupe.snapshot().troupe.problems).toEqual([]);
  });

  it('is notified once that an edit applies from the next start', async () => {
    const there = await stage({ settings: db });
    const heard: string[] = [];
    there.troupe.on('settings.invalid', ({ problems }) => {
      heard.push(problems.map(({ line, key }) => `${line} ${key}`).join());
    });
    const gate = '"mcp": { "startupGateMs": 400 }';
    await there.apply(`{ ${gate} }`);
    await there.apply(`{\n// moved\n${gate}, "mcpServers": { "b": { "command": "b" } } }`);
    expect(heard).toEqual(['1 mcp.startupGateMs']);
    expect(there.troupe.snapshot().troupe.problems).toMatchObject([{ line: 3 }]);
    await there.apply(db);
    expect(there.troupe.snapshot().troupe.problems).toEqual([]);
    expect(heard).toHaveLength(1);
  });

  it("is notified of each pass's steps and duration", async () => {
    const there = await stage({ settings: db });
    const passes: string[] = [];
    there.troupe.on('reconciled', ({ plan, durationMs }) => {
      passes.push(`${plan.map(({ server, step }) => `${server} ${step}`).join()} ${durationMs}`);
    });
    await there.apply(servers({ db: 'newer' }));
    expect(passes).toEqual(['db replace 0', 'db spawn 0']);
    expect(there.troupe.snapshot().troupe.lastReconcile).toMatchObject({ steps: 1 });
    there.troupe.send({ type: 'settings.reload' });
    there.troupe.send({ type: 'system.woke' });
    await there.settle();
    // A pass that does nothing is not worth telling.
    expect(passes).toHaveLength(2);
  });
});
