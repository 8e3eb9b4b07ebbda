import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../../src/domain/host/explanation.ts';
import {
  bringUp,
  call,
  callFailure,
  crash,
  failure,
  nextAttempt,
  remote,
  type Stage,
  servers,
  stage,
} from '../stage.ts';

function explained({ troupe }: Stage, server = 'db'): Explanation {
  const explanation = troupe.explain(server);
  if (explanation === undefined) throw new Error(`${server} has no explanation.`);
  return explanation;
}

const one = (entry: Readonly<Record<string, unknown>> = {}) =>
  servers({ db: { command: 'db', ...entry } });

describe('an explanation', () => {
  it('is undefined for an unknown server', async () => {
    const there = await stage({ settings: one() });
    expect(there.troupe.explain('dbb')).toBeUndefined();
    expect(there.troupe.explain('__proto__')).toBeUndefined();
  });

  it('shows the queue position and the permit holders', async () => {
    const there = await stage({
      settings: servers({ a: 'a', b: 'b', c: 'c', d: 'd' }, { slots: { local: 2 } }),
      obedient: [],
    });
    expect(explained(there, 'd').queue).toEqual({
      pool: 'local',
      position: 2,
      waiting: 2,
      permits: 2,
      heldBy: ['a', 'b'],
    });
    // A call waits for it now, so it goes before the servers that no call waits for.
    there.troupe.send({ type: 'server.start', server: 'd' });
    call(there, 'd');
    await there.settle();
    expect(explained(there, 'd').queue?.position).toBe(1);
    expect(explained(there, 'a').queue).toBeUndefined();
  });

  it('shows the remaining retries of a queued restart', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `s${index}`);
    const there = await stage({
      settings: servers(Object.fromEntries(names.map((name) => [name, remote])), {
        slots: { remote: 30 },
      }),
    });
    for (const name of names) there.troupe.send({ type: 'server.reconnect', server: name });
    await there.settle();
    const queued = names.filter((name) => there.stateOf(name) === 'queued');
    expect(queued).toEqual(['s20', 's21']);
    expect(explained(there, 's21').queue).toEqual({
      pool: 'remote',
      position: 2,
      waiting: 2,
      permits: 30,
      heldBy: [],
      retriesLeft: 0,
    });
    await there.advance(1_000);
    expect(there.stateOf('s21')).toBe('ready');
  });

  it('counts failed calls across sessions', async () => {
    const there = await stage({ settings: one() });
    for (let count = 1; count <= 4; count += 1) {
      const asked = call(there, 'db');
      await there.settle();
      const session = there.sessions.of('db');
      session.calls.at(-1)?.fail(callFailure('crashed', true));
      session.fail(crash());
      await asked.promise;
      // Slow enough for no storm.
      await there.advance(30_000);
      expect(explained(there).circuit).toMatchObject({ state: 'closed', failedCalls: count });
    }
    expect(there.sessions.scripts).toHaveLength(5);
  });

  it('shows the failure count, then the cool-down of an open circuit', async () => {
    const there = await stage({ settings: one() });
    const failing = async () => {
      const asked = call(there, 'db');
      await there.settle();
      there.sessions.of('db').calls.at(-1)?.fail(callFailure('timeout', true));
      await asked.promise;
      await there.settle();
    };
    for (let count = 1; count <= 3; count += 1) await failing();
    expect(explained(there).circuit).toEqual({ state: 'closed', failedCalls: 3, threshold: 5 });
    await failing();
    await failing();
    await there.advance(10_000);
    const { circuit, timers } = explained(there);
    expect(circuit).toMatchObject({ state: 'open', cooldownLeftMs: 20_000 });
    expect(timers.map(({ name }) => name)).toContain('circuitCooldown');
  });

  it('counts attempts, plus crashes and losses within their windows', async () => {
    const there = await stage({ settings: one() });
    there.sessions.of('db').fail(crash());
    await nextAttempt(there, 'db');
    const at = there.clock.wallNow();
    there.sessions.of('db').fail(failure('transport'));
    await there.settle();
    const { budgets } = explained(there);
    expect(budgets?.attempts).toEqual({ used: 2, max: 5 });
    expect(budgets?.crashes?.times).toHaveLength(1);
    expect(budgets?.losses?.times.at(-1)).toBe(new Date(at).toISOString());
    await nextAttempt(there, 'db');
    await there.advance(30_000);
    expect(explained(there).budgets?.losses).toEqual({ times: [], limit: 5, windowMs: 30_000 });
  });

  it('shows the crashes that led to a crash loop for as long as the server rests', async () => {
    const there = await stage({ settings: one() });
    for (let count = 1; count <= 5; count += 1) {
      there.sessions.of('db').fail(crash());
      if (count < 5) await nextAttempt(there, 'db');
      else await there.settle();
    }
    expect(there.stateOf('db')).toBe('suspended.crashLoop');
    await there.advance(120_000);
    const { budgets, attempts } = explained(there);
    expect(budgets?.crashes).toEqual({
      times: attempts.map(({ endedAt }) => endedAt),
      limit: 5,
      windowMs: 60_000,
    });
    expect(budgets?.crashes?.times).toHaveLength(5);
  });

  it.each([
    [{ enabled: false }, {}, { verdict: 'disabled', rule: 'enabled', line: 3 }],
    [{}, { excluded: ['db'] }, { verdict: 'excluded', rule: 'mcp.excluded', line: 8 }],
    [{}, { allowed: ['api'] }, { verdict: 'notAllowed', rule: 'mcp.allowed', line: 8 }],
    [{}, {}, { verdict: 'admitted', rule: 'ungated', line: 3 }],
    [{ command: 7 }, {}, { verdict: 'invalidConfig', rule: 'invalid', line: 4 }],
  ] as const)(
    'names the file, line and rule that decided admission of %j with %j',
    async (entry, mcp, expected) => {
      const { line, ...rest } = expected;
      const settings = { mcpServers: { db: { command: 'db', ...entry } }, mcp };
      const there = await stage({ settings: JSON.stringify(settings, null, 2) });
      const source = { file: '/project/troupe.json', line };
      expect(explained(there).admission).toMatchObject({ ...rest, source });
    },
  );

  it('names the launch list that excludes a server', async () => {
    const there = await stage({ settings: one(), allow: ['api'] });
    expect(explained(there).admission).toEqual({ verdict: 'notAllowed', rule: 'launchBound' });
  });

  it("shows each attempt's phases, outcome and subsequent wait", async () => {
    const there = await stage({ settings: one(), obedient: [] });
    await there.advance(100);
    there.sessions.of('db').open();
    await there.advance(50);
    there.sessions.of('db').fail(crash());
    await there.settle();
    const { nextAttemptAt = '' } = there.troupe.status('db') ?? {};
    const waitMs = Date.parse(nextAttemptAt) - there.clock.wallNow();
    await nextAttempt(there, 'db');
    bringUp(there.sessions.of('db'));
    await there.advance(2_000);
    const [first, second] = explained(there).attempts;
    expect(first).toMatchObject({
      session: 1,
      attempt: 1,
      queuedMs: 0,
      connectingMs: 100,
      loadingToolsMs: 50,
      failure: { kind: 'crashed', exitCode: 1, message: 'It died.' },
      rested: { state: 'backingOff', reason: 'retrying' },
      waitMs,
    });
    expect(first).not.toHaveProperty('readyMs');
    expect(second).toMatchObject({ session: 2, attempt: 2, readyMs: 2_000 });
    expect(second).not.toHaveProperty('endedAt');
    expect(second).not.toHaveProperty('failure');
  });

  it('keeps the last failure and its stderr after recovery', async () => {
    const there = await stage({ settings: one() });
    const at = new Date(there.clock.wallNow()).toISOString();
    there.sessions.of('db').fail({ ...crash(), stderrTail: ['boom'] });
    await nextAttempt(there, 'db');
    await there.advance(61_000);
    expect(there.troupe.status('db')?.lastError).toBeUndefined();
    expect(explained(there).lastFailure).toMatchObject({
      at,
      kind: 'crashed',
      exitCode: 1,
      stderrTail: ['boom'],
    });
  });

  it('updates the time of a repeated, identical failure', async () => {
    const there = await stage({ settings: one() });
    there.sessions.of('db').fail(crash());
    await nextAttempt(there, 'db');
    await there.advance(5_000);
    const at = new Date(there.clock.wallNow()).toISOString();
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(explained(there).lastFailure?.at).toBe(at);
    await there.advance(1);
    expect(explained(there).lastFailure?.at).toBe(at);
  });

  it('suggests how to fix a command that cannot run', async () => {
    const there = await stage({
      settings: servers({ db: { command: 'db', policy: { startup: { maxAttempts: 1 } } } }),
      obedient: [],
    });
    there.sessions.of('db').fail(failure('unavailable'));
    await there.settle();
    expect(explained(there).nextStep).toMatch(
      /^provide what is missing or fix .+, then troupe restart db$/,
    );
  });

  it('suggests to check the URL that gave the same foreign answer three times', async () => {
    const there = await stage({ settings: servers({ db: remote }), obedient: [] });
    const lost = { message: 'It answered 404.', httpStatus: 404, suspect: 'url' } as const;
    const fails = async (): Promise<void> => {
      there.sessions.of('db').fail(failure('protocol', lost));
      await there.settle();
    };
    for (const state of ['backingOff.retrying', 'backingOff.retrying']) {
      await fails();
      expect(there.stateOf('db')).toBe(state);
      expect(explained(there).nextStep).toBe(undefined);
      await nextAttempt(there, 'db');
    }
    await fails();
    expect(there.stateOf('db')).toBe('backingOff.lost');
    expect(explained(there).nextStep).toBe('check url in /project/troupe.json:3');
    // It has been ready, so its address is right.
    await nextAttempt(there, 'db');
    bringUp(there.sessions.of('db'));
    await there.settle();
    await fails();
    expect(explained(there).nextStep).toBe(undefined);
  });

  it('names the older era where the two sides did not agree on one', async () => {
    const there = await stage({ settings: servers({ db: remote }), obedient: [] });
    there.sessions.of('db').fail(failure('protocol', { suspect: 'era' }));
    await there.settle();
    const step = 'set "era": "legacy" in /project/troupe.json:3';
    expect(explained(there)).toMatchObject({ nextStep: step, status: { action: step } });
    there.troupe.send({ type: 'server.reconnect', server: 'db' });
    await there.settle();
    there.sessions.of('db').fail(failure('versionUnsupported', { suspect: 'era' }));
    await there.settle();
    expect(there.stateOf('db')).toBe('failed.versionUnsupported');
    expect(explained(there).nextStep).toBe(step);
  });

  it('suggests to fix the entry of a program that exits at every start', async () => {
    const there = await stage({ settings: one(), obedient: [] });
    const step = 'provide what is missing or fix /project/troupe.json:3, then troupe restart db';
    for (const state of ['backingOff.retrying', 'backingOff.retrying', 'failed.sameFailure']) {
      there.sessions.of('db').fail({ ...crash(), explanation: 'TOKEN is not set' });
      await there.settle();
      expect(there.stateOf('db')).toBe(state);
      expect(explained(there)).toMatchObject({ nextStep: step, status: { action: step } });
      const asked = call(there, 'db');
      await there.settle();
      if (state.startsWith('failed'))
        expect(asked.error).toMatchObject({
          message: expect.stringMatching(new RegExp(`Next: ${step}$`)),
        });
      else await nextAttempt(there, 'db');
    }
  });

  it.each([
    [{ exitCode: 0 }, /^the program ends instead of serving: check "command" and "args" in /u],
    [
      { exitCode: 0, explanation: 'Usage: serve [command]' },
      /^the program ends instead of serving/u,
    ],
    [{ exitCode: 0, explanation: 'TOKEN is not set' }, /^provide what is missing/u],
    [
      { explanation: "SyntaxError: The requested module 'x' does not provide an export named 'y'" },
      /^the program does not run with this version of its runtime: choose another/u,
    ],
    [{ explanation: 'ReferenceError: File is not defined' }, /^the program does not run with/u],
  ])(
    'suggests what helps a program that cannot be provided with anything (%j)',
    async (more, step) => {
      const there = await stage({ settings: one(), obedient: [] });
      there.sessions.of('db').fail({ ...crash(), ...more });
      await there.settle();
      expect(explained(there).nextStep).toMatch(step);
      expect(explained(there).nextStep).toMatch(
        / \/project\/troupe\.json:3, then troupe restart db$/u,
      );
    },
  );

  it('suggests a restart of a server that was ready before it crashed for good', async () => {
    const there = await stage({ settings: one({ policy: { restart: { on: 'never' } } }) });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(explained(there).nextStep).toBe('troupe restart db');
  });

  it('suggests how to provide what is missing', async () => {
    const there = await stage({ settings: one(), obedient: [] });
    const lacking = (what: 'variable' | 'command', name: string) =>
      failure('unavailable', { missing: { what, name } });
    there.sessions.of('db').fail(lacking('variable', 'TOKEN'));
    await there.settle();
    expect(there.stateOf('db')).toBe('failed.notStartable');
    expect(explained(there)).toMatchObject({
      nextStep: 'set TOKEN and start troupe again',
      status: { action: 'set TOKEN and start troupe again' },
    });
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.settle();
    there.sessions.of('db').fail(lacking('command', 'db'));
    await there.settle();
    expect(explained(there).nextStep).toMatch(
      /^install db or fix "command" in .+, then troupe restart db$/,
    );
    there.troupe.send({ type: 'server.start', server: 'db' });
    await there.settle();
    there.sessions.of('db').fail(lacking('command', '/bin/db.sh'));
    await there.settle();
    expect(explained(there).nextStep).toMatch(/^create \/bin\/db\.sh or fix "command" in /);
  });

  it('keeps the last twenty attempts across an edit and a removal', async () => {
    const there = await stage({ settings: one() });
    const [first] = explained(there).attempts;
    await there.apply(one({ args: ['new'] }));
    expect(explained(there).attempts).toHaveLength(2);
    await there.apply(servers({ other: 'other' }));
    expect(there.troupe.explain('db')).toBeUndefined();
    await there.apply(one());
    expect(explained(there).attempts.map(({ generation }) => generation)).toEqual([
      first?.generation,
      expect.not.stringMatching(first?.generation ?? ''),
      first?.generation,
    ]);
    for (let count = 0; count < 30; count += 1) {
      there.troupe.send({ type: 'server.restart', server: 'db' });
      await there.settle();
    }
    expect(explained(there).attempts).toHaveLength(20);
  });

  it('shows a timer that a settings change restarted', async () => {
    const there = await stage({ settings: one({ idleStopMs: 300_000 }) });
    await there.advance(10_000);
    await there.apply(one({ idleStopMs: 60_000 }));
    const idle = explained(there).timers.find(({ name }) => name === 'idleDeadline');
    expect(idle).toMatchObject({ totalMs: 60_000 });
    const left = Date.parse(idle?.dueAt ?? '') - there.clock.wallNow();
    await there.advance(left - 1);
    expect(there.stateOf('db')).toBe('ready');
    await there.advance(1);
    expect(there.stateOf('db')).toBe('dormant');
  });

  it("lists the session's timers", async () => {
    const there = await stage({ settings: one(), obedient: [] });
    bringUp(there.sessions.of('db'));
    there.sessions.of('db').failList(failure('protocol'));
    await there.advance(10_000);
    const relist = explained(there).timers.find(({ name }) => name === 'relistPause');
    expect(Date.parse(relist?.dueAt ?? '') - there.clock.wallNow()).toBe(20_000);
  });

  it('shows the cause of each degraded reason', async () => {
    const there = await stage({
      settings: one({ policy: { health: { mode: 'ping', everyMs: 30_000 } } }),
    });
    const waysToDegraded = (): readonly unknown[] =>
      explained(there)
        .movedBy.filter(
          ({ event, to }) => to.state === 'degraded' && event !== 'session.listFailed',
        )
        .map((mover) => [mover.event, mover.to.reason, mover.failure]);
    expect(waysToDegraded()).toEqual([
      ['session.impaired', 'partialCatalog', undefined],
      ['session.impaired', 'flooding', undefined],
    ]);
    await there.advance(30_000);
    expect(waysToDegraded()).toContainEqual(['session.probed', 'healthCheck', 'transport']);
    expect(waysToDegraded()).toHaveLength(3);
    there.sessions.of('db').probed('none');
    await there.settle();
    expect(there.stateOf('db')).toBe('degraded.healthCheck');
  });

  it('omits a timer that fired without a state change', async () => {
    const there = await stage({ settings: one() });
    const sustained = (): readonly unknown[] =>
      explained(there).timers.filter(({ name }) => name === 'sustainedReady');
    const [timer] = explained(there).timers.filter(({ name }) => name === 'sustainedReady');
    expect(timer).toBeDefined();
    await there.advance((timer?.totalMs ?? 0) - 1);
    expect(sustained()).toHaveLength(1);
    await there.advance(1);
    expect(there.stateOf('db')).toBe('ready');
    expect(sustained()).toEqual([]);
  });

  it('remains available after the troupe stops', async () => {
    const there = await stage({ settings: one() });
    await there.troupe.stop();
    expect(explained(there)).toMatchObject({
      status: { state: 'stopped' },
      movedBy: [],
      timers: [],
    });
  });
});
