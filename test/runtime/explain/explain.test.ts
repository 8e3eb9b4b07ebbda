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
  stageOf,
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
    const stage = await stageOf({ settings: one() });
    expect(stage.troupe.explain('dbb')).toBeUndefined();
    expect(stage.troupe.explain('__proto__')).toBeUndefined();
  });

  it('shows the queue position and the permit holders', async () => {
    const stage = await stageOf({
      settings: servers({ a: 'a', b: 'b', c: 'c', d: 'd' }, { slots: { local: 2 } }),
      obedient: [],
    });
    expect(explained(stage, 'd').queue).toEqual({
      pool: 'local',
      position: 2,
      waiting: 2,
      permits: 2,
      heldBy: ['a', 'b'],
    });
    // A call waits for it now, so it goes before the servers that no call waits for.
    stage.troupe.send({ type: 'server.start', server: 'd' });
    call(stage, 'd');
    await stage.settle();
    expect(explained(stage, 'd').queue?.position).toBe(1);
    expect(explained(stage, 'a').queue).toBeUndefined();
  });

  it('shows the remaining retries of a queued restart', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `s${index}`);
    const stage = await stageOf({
      settings: servers(Object.fromEntries(names.map((name) => [name, remote])), {
        slots: { remote: 30 },
      }),
    });
    for (const name of names) stage.troupe.send({ type: 'server.reconnect', server: name });
    await stage.settle();
    const queued = names.filter((name) => stage.stateOf(name) === 'queued');
    expect(queued).toEqual(['s20', 's21']);
    expect(explained(stage, 's21').queue).toEqual({
      pool: 'remote',
      position: 2,
      waiting: 2,
      permits: 30,
      heldBy: [],
      retriesLeft: 0,
    });
    await stage.advance(1_000);
    expect(stage.stateOf('s21')).toBe('ready');
  });

  it('counts failed calls across sessions', async () => {
    const stage = await stageOf({ settings: one() });
    for (let count = 1; count <= 4; count += 1) {
      const asked = call(stage, 'db');
      await stage.settle();
      const session = stage.sessions.of('db');
      session.calls.at(-1)?.fail(callFailure('crashed', true));
      session.fail(crash());
      await asked.promise;
      // Slow enough for no storm.
      await stage.advance(30_000);
      expect(explained(stage).circuit).toMatchObject({ state: 'closed', failedCalls: count });
    }
    expect(stage.sessions.scripts).toHaveLength(5);
  });

  it('shows the failure count, then the cool-down of an open circuit', async () => {
    const stage = await stageOf({ settings: one() });
    const failing = async () => {
      const asked = call(stage, 'db');
      await stage.settle();
      stage.sessions.of('db').calls.at(-1)?.fail(callFailure('timeout', true));
      await asked.promise;
      await stage.settle();
    };
    for (let count = 1; count <= 3; count += 1) await failing();
    expect(explained(stage).circuit).toEqual({ state: 'closed', failedCalls: 3, threshold: 5 });
    await failing();
    await failing();
    await stage.advance(10_000);
    const { circuit, timers } = explained(stage);
    expect(circuit).toMatchObject({ state: 'open', cooldownLeftMs: 20_000 });
    expect(timers.map(({ name }) => name)).toContain('circuitCooldown');
  });

  it('counts attempts, plus crashes and losses within their windows', async () => {
    const stage = await stageOf({ settings: one() });
    stage.sessions.of('db').fail(crash());
    await nextAttempt(stage, 'db');
    const at = stage.clock.wallNow();
    stage.sessions.of('db').fail(failure('transport'));
    await stage.settle();
    const { budgets } = explained(stage);
    expect(budgets?.attempts).toEqual({ used: 2, max: 5 });
    expect(budgets?.crashes?.times).toHaveLength(1);
    expect(budgets?.losses?.times.at(-1)).toBe(new Date(at).toISOString());
    await nextAttempt(stage, 'db');
    await stage.advance(30_000);
    expect(explained(stage).budgets?.losses).toEqual({ times: [], limit: 5, windowMs: 30_000 });
  });

  it('shows the crashes that led to a crash loop for as long as the server rests', async () => {
    const stage = await stageOf({ settings: one() });
    for (let count = 1; count <= 5; count += 1) {
      stage.sessions.of('db').fail(crash());
      if (count < 5) await nextAttempt(stage, 'db');
      else await stage.settle();
    }
    expect(stage.stateOf('db')).toBe('suspended.crashLoop');
    await stage.advance(120_000);
    const { budgets, attempts } = explained(stage);
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
      const stage = await stageOf({ settings: JSON.stringify(settings, null, 2) });
      const source = { file: '/project/troupe.json', line };
      expect(explained(stage).admission).toMatchObject({ ...rest, source });
    },
  );

  it('names the launch list that excludes a server', async () => {
    const stage = await stageOf({ settings: one(), allow: ['api'] });
    expect(explained(stage).admission).toEqual({ verdict: 'notAllowed', rule: 'launchBound' });
  });

  it("shows each attempt's phases, outcome and subsequent wait", async () => {
    const stage = await stageOf({ settings: one(), obedient: [] });
    await stage.advance(100);
    stage.sessions.of('db').open();
    await stage.advance(50);
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    const { nextAttemptAt = '' } = stage.troupe.status('db') ?? {};
    const waitMs = Date.parse(nextAttemptAt) - stage.clock.wallNow();
    await nextAttempt(stage, 'db');
    bringUp(stage.sessions.of('db'));
    await stage.advance(2_000);
    const [first, second] = explained(stage).attempts;
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
    const stage = await stageOf({ settings: one() });
    const at = new Date(stage.clock.wallNow()).toISOString();
    stage.sessions.of('db').fail({ ...crash(), stderrTail: ['boom'] });
    await nextAttempt(stage, 'db');
    await stage.advance(61_000);
    expect(stage.troupe.status('db')?.lastError).toBeUndefined();
    expect(explained(stage).lastFailure).toMatchObject({
      at,
      kind: 'crashed',
      exitCode: 1,
      stderrTail: ['boom'],
    });
  });

  it('updates the time of a repeated, identical failure', async () => {
    const stage = await stageOf({ settings: one() });
    stage.sessions.of('db').fail(crash());
    await nextAttempt(stage, 'db');
    await stage.advance(5_000);
    const at = new Date(stage.clock.wallNow()).toISOString();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(explained(stage).lastFailure?.at).toBe(at);
    await stage.advance(1);
    expect(explained(stage).lastFailure?.at).toBe(at);
  });

  it('suggests how to fix a command that cannot run', async () => {
    const stage = await stageOf({
      settings: servers({ db: { command: 'db', policy: { startup: { maxAttempts: 1 } } } }),
      obedient: [],
    });
    stage.sessions.of('db').fail(failure('unavailable'));
    await stage.settle();
    expect(explained(stage).nextStep).toMatch(
      /^provide what is missing or fix .+, then troupe restart db$/,
    );
  });

  it('suggests to check the URL that gave the same foreign answer three times', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }), obedient: [] });
    const lost = { message: 'It answered 404.', httpStatus: 404, suspect: 'url' } as const;
    const fails = async (): Promise<void> => {
      stage.sessions.of('db').fail(failure('protocol', lost));
      await stage.settle();
    };
    for (const state of ['backingOff.retrying', 'backingOff.retrying']) {
      await fails();
      expect(stage.stateOf('db')).toBe(state);
      expect(explained(stage).nextStep).toBe(undefined);
      await nextAttempt(stage, 'db');
    }
    await fails();
    expect(stage.stateOf('db')).toBe('backingOff.lost');
    expect(explained(stage).nextStep).toBe('check url in /project/troupe.json:3');
    // It has been ready, so its address is right.
    await nextAttempt(stage, 'db');
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    await fails();
    expect(explained(stage).nextStep).toBe(undefined);
  });

  it('names the older era where the two sides did not agree on one', async () => {
    const stage = await stageOf({ settings: servers({ db: remote }), obedient: [] });
    stage.sessions.of('db').fail(failure('protocol', { suspect: 'era' }));
    await stage.settle();
    const step = 'set "era": "legacy" in /project/troupe.json:3';
    expect(explained(stage)).toMatchObject({ nextStep: step, status: { action: step } });
    stage.troupe.send({ type: 'server.reconnect', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').fail(failure('versionUnsupported', { suspect: 'era' }));
    await stage.settle();
    expect(stage.stateOf('db')).toBe('failed.versionUnsupported');
    expect(explained(stage).nextStep).toBe(step);
  });

  it('suggests to fix the entry of a program that exits at every start', async () => {
    const stage = await stageOf({ settings: one(), obedient: [] });
    const step = 'provide what is missing or fix /project/troupe.json:3, then troupe restart db';
    for (const state of ['backingOff.retrying', 'backingOff.retrying', 'failed.sameFailure']) {
      stage.sessions.of('db').fail({ ...crash(), explanation: 'TOKEN is not set' });
      await stage.settle();
      expect(stage.stateOf('db')).toBe(state);
      expect(explained(stage)).toMatchObject({ nextStep: step, status: { action: step } });
      const asked = call(stage, 'db');
      await stage.settle();
      if (state.startsWith('failed'))
        expect(asked.error).toMatchObject({
          message: expect.stringMatching(new RegExp(`Next: ${step}$`)),
        });
      else await nextAttempt(stage, 'db');
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
      const stage = await stageOf({ settings: one(), obedient: [] });
      stage.sessions.of('db').fail({ ...crash(), ...more });
      await stage.settle();
      expect(explained(stage).nextStep).toMatch(step);
      expect(explained(stage).nextStep).toMatch(
        / \/project\/troupe\.json:3, then troupe restart db$/u,
      );
    },
  );

  it('suggests a restart of a server that was ready before it crashed for good', async () => {
    const stage = await stageOf({ settings: one({ policy: { restart: { on: 'never' } } }) });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(explained(stage).nextStep).toBe('troupe restart db');
  });

  it('suggests how to provide what is missing', async () => {
    const stage = await stageOf({ settings: one(), obedient: [] });
    const lacking = (what: 'variable' | 'command', name: string) =>
      failure('unavailable', { missing: { what, name } });
    stage.sessions.of('db').fail(lacking('variable', 'TOKEN'));
    await stage.settle();
    expect(stage.stateOf('db')).toBe('failed.notStartable');
    expect(explained(stage)).toMatchObject({
      nextStep: 'set TOKEN and start troupe again',
      status: { action: 'set TOKEN and start troupe again' },
    });
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').fail(lacking('command', 'db'));
    await stage.settle();
    expect(explained(stage).nextStep).toMatch(
      /^install db or fix "command" in .+, then troupe restart db$/,
    );
    stage.troupe.send({ type: 'server.start', server: 'db' });
    await stage.settle();
    stage.sessions.of('db').fail(lacking('command', '/bin/db.sh'));
    await stage.settle();
    expect(explained(stage).nextStep).toMatch(/^create \/bin\/db\.sh or fix "command" in /);
  });

  it('keeps the last twenty attempts across an edit and a removal', async () => {
    const stage = await stageOf({ settings: one() });
    const [first] = explained(stage).attempts;
    await stage.apply(one({ args: ['new'] }));
    expect(explained(stage).attempts).toHaveLength(2);
    await stage.apply(servers({ other: 'other' }));
    expect(stage.troupe.explain('db')).toBeUndefined();
    await stage.apply(one());
    expect(explained(stage).attempts.map(({ generation }) => generation)).toEqual([
      first?.generation,
      expect.not.stringMatching(first?.generation ?? ''),
      first?.generation,
    ]);
    for (let count = 0; count < 30; count += 1) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.settle();
    }
    expect(explained(stage).attempts).toHaveLength(20);
  });

  it('shows a timer that a settings change restarted', async () => {
    const stage = await stageOf({ settings: one({ idleStopMs: 300_000 }) });
    await stage.advance(10_000);
    await stage.apply(one({ idleStopMs: 60_000 }));
    const idle = explained(stage).timers.find(({ name }) => name === 'idleDeadline');
    expect(idle).toMatchObject({ totalMs: 60_000 });
    const left = Date.parse(idle?.dueAt ?? '') - stage.clock.wallNow();
    await stage.advance(left - 1);
    expect(stage.stateOf('db')).toBe('ready');
    await stage.advance(1);
    expect(stage.stateOf('db')).toBe('dormant');
  });

  it("lists the session's timers", async () => {
    const stage = await stageOf({ settings: one(), obedient: [] });
    bringUp(stage.sessions.of('db'));
    stage.sessions.of('db').failList(failure('protocol'));
    await stage.advance(10_000);
    const relist = explained(stage).timers.find(({ name }) => name === 'relistPause');
    expect(Date.parse(relist?.dueAt ?? '') - stage.clock.wallNow()).toBe(20_000);
  });

  it('shows the cause of each degraded reason', async () => {
    const stage = await stageOf({
      settings: one({ policy: { health: { mode: 'ping', everyMs: 30_000 } } }),
    });
    const waysToDegraded = (): readonly unknown[] =>
      explained(stage)
        .movedBy.filter(
          ({ event, to }) => to.state === 'degraded' && event !== 'session.listFailed',
        )
        .map((mover) => [mover.event, mover.to.reason, mover.failure]);
    expect(waysToDegraded()).toEqual([
      ['session.impaired', 'partialCatalog', undefined],
      ['session.impaired', 'flooding', undefined],
    ]);
    await stage.advance(30_000);
    expect(waysToDegraded()).toContainEqual(['session.probed', 'healthCheck', 'transport']);
    expect(waysToDegraded()).toHaveLength(3);
    stage.sessions.of('db').probed('none');
    await stage.settle();
    expect(stage.stateOf('db')).toBe('degraded.healthCheck');
  });

  it('omits a timer that fired without a state change', async () => {
    const stage = await stageOf({ settings: one() });
    const sustained = (): readonly unknown[] =>
      explained(stage).timers.filter(({ name }) => name === 'sustainedReady');
    const [timer] = explained(stage).timers.filter(({ name }) => name === 'sustainedReady');
    expect(timer).toBeDefined();
    await stage.advance((timer?.totalMs ?? 0) - 1);
    expect(sustained()).toHaveLength(1);
    await stage.advance(1);
    expect(stage.stateOf('db')).toBe('ready');
    expect(sustained()).toEqual([]);
  });

  it('remains available after the troupe stops', async () => {
    const stage = await stageOf({ settings: one() });
    await stage.troupe.stop();
    expect(explained(stage)).toMatchObject({
      status: { state: 'stopped' },
      movedBy: [],
      timers: [],
    });
  });
});
