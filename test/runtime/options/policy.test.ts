import { describe, expect, it } from 'vitest';
import { RequiredServersError } from '../../../src/domain/host/required-servers-error.ts';
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
  setUp,
  stageOf,
  watch,
} from '../stage.ts';

describe('required()', () => {
  const required = { command: 'srv', required: true };

  it('resolves when every required server is ready, whatever the others do', async () => {
    const stage = await stageOf({
      settings: servers({ db: required, web: { ...remote, required: true }, slow: 'srv' }),
      obedient: ['db'],
    });
    const all = watch(stage.troupe.required());
    await stage.advance(1_000);
    expect(all.state).toBe('pending');
    bringUp(stage.sessions.of('web'));
    await stage.settle();
    expect(all.state).toBe('done');
  });

  it('resolves immediately without required servers', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
    const all = watch(stage.troupe.required());
    await stage.settle();
    expect(all.state).toBe('done');
  });

  it("rejects with the missing servers after each one's startup timeout", async () => {
    const stage = await stageOf({
      settings: servers({
        db: { ...required, startupTimeoutMs: 5_000 },
        web: { ...remote, required: true, startupTimeoutMs: 2_000 },
        ok: required,
      }),
      obedient: ['ok'],
    });
    stage.sessions.of('web').fail(failure('capabilityMissing'));
    const all = watch(stage.troupe.required());
    await stage.advance(4_999);
    expect(all.state).toBe('pending');
    await stage.advance(1);
    expect(all.error).toBeInstanceOf(RequiredServersError);
    expect(all.error).toMatchObject({
      code: 'TIMEOUT_WAITING',
      message:
        'Required servers are not ready: db (connecting), web (failed, capabilityMissing). Look at one: troupe status db',
      servers: [
        { name: 'db', state: 'connecting' },
        { name: 'web', state: 'failed', reason: 'capabilityMissing' },
      ],
    });
  });

  it('counts the timeout from the first pass, even for later callers', async () => {
    const stage = setUp({
      settings: servers({ db: { ...required, startupTimeoutMs: 2_000 } }),
      obedient: [],
    });
    const early = watch(stage.troupe.required());
    await stage.settle();
    await stage.advance(1_999);
    const late = watch(stage.troupe.required());
    expect([early.state, late.state]).toEqual(['pending', 'pending']);
    await stage.advance(1);
    expect([early.state, late.state]).toEqual(['refused', 'refused']);
  });

  it('does not wait for a server that failed or went dormant after a failed start', async () => {
    const policy = 'dockerStrict';
    const stage = await stageOf({
      settings: servers({ gone: { command: 'srv', policy }, old: { command: 'srv', policy } }),
      obedient: [],
    });
    const all = watch(stage.troupe.required());
    stage.sessions.of('gone').fail(failure('unavailable'));
    stage.sessions.of('old').fail(failure('versionUnsupported'));
    await stage.settle();
    expect(all.error).toMatchObject({
      servers: [
        { name: 'gone', state: 'dormant' },
        { name: 'old', state: 'failed', reason: 'versionUnsupported' },
      ],
    });
  });

  it('ignores a disabled server', async () => {
    const stage = await stageOf({ settings: servers({ db: { ...required, enabled: false } }) });
    const all = watch(stage.troupe.required());
    await stage.settle();
    expect(all.state).toBe('done');
  });

  it('rejects when the troupe stops', async () => {
    const stage = await stageOf({ settings: servers({ db: required }), obedient: [] });
    const all = watch(stage.troupe.required());
    stage.obedient = null;
    await Promise.all([stage.troupe.stop(), stage.advance(10)]);
    await stage.settle();
    expect(all.error?.code).toBe('SHUTTING_DOWN');
  });
});

describe('a policy', () => {
  const attempts = (maxAttempts: number, initialMs: number) => ({
    policy: {
      restart: { maxAttempts, delays: { initialMs, factor: 1, maxMs: initialMs }, jitter: 'none' },
      startup: { maxAttempts },
    },
  });
  const db = (more: object) => servers({ db: { command: 'srv', ...more } });

  it('changes in place without ending a connection', async () => {
    const stage = await stageOf({ settings: db({ policy: 'default' }) });
    await stage.apply(db({ policy: 'claudeCode' }));
    await stage.apply(db({ policy: { preset: 'dockerResilient', close: { totalMs: 500 } } }));
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.sessions.scripts).toHaveLength(1);
  });

  it('applies to the next wait, not the current one', async () => {
    const stage = await stageOf({ settings: db(attempts(9, 60_000)), obedient: [] });
    stage.sessions.of('db').fail(crash());
    await stage.apply(db(attempts(9, 1_000)));
    await stage.advance(60_000 - 301);
    expect(stage.sessions.scripts).toHaveLength(1);
    await stage.advance(1);
    expect(stage.sessions.scripts).toHaveLength(2);
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    expect(stage.sessions.scripts).toHaveLength(3);
  });

  it('applies a new attempt limit to a failed server', async () => {
    const stage = await stageOf({ settings: db(attempts(1, 1_000)), obedient: [] });
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.stateOf('db')).toBe('failed.attemptsExhausted');
    await stage.apply(db(attempts(2, 1_000)));
    expect(stage.stateOf('db')).toBe('backingOff.retrying');
  });

  it('can be set by the host for settings without one', async () => {
    const settings = servers({ db: 'srv', web: { command: 'srv', policy: 'default' } });
    const stage = await stageOf({ settings, policy: 'dockerBestEffort', obedient: [] });
    expect([stage.stateOf('db'), stage.stateOf('web')]).toEqual(['dormant', 'connecting']);
  });

  it('is rejected by name when it is set by the host and invalid', () => {
    const start = (policy: unknown) => () => setUp({ policy: policy as 'default' });
    expect(start('strict')).toThrow('The option "policy" of createTroupe is wrong');
    expect(start({ restart: { on: 'now' } })).toThrow(
      'The option "policy.restart.on" of createTroupe is wrong: "restart.on" must be "auto"',
    );
  });

  it('does not make ready() wait for a server that starts in the background', async () => {
    const background = { command: 'srv', policy: { startup: { mode: 'background' } } };
    const stage = await stageOf({
      settings: servers({ db: 'srv', slow: background }),
      obedient: ['db'],
    });
    const ready = watch(stage.troupe.ready());
    await stage.settle();
    expect(ready.value).toMatchObject({ live: ['db'], pending: ['slow'], elapsedMs: 0 });
  });
});

describe('a call to a server that goes dormant after giving up', () => {
  const sleepy = servers({ db: { command: 'srv', policy: 'dockerResilient' } });
  const starts = (stage: Stage): number => stage.sessions.scripts.length;

  it('starts it once and fails with the cause', async () => {
    // Such a server is asked about at each call.
    const permission = () => 'allow' as const;
    const stage = await stageOf({ settings: sleepy, obedient: [], permission });
    const first = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(failure('unavailable'));
    await stage.settle();
    expect(first.error).toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'not_executed',
      retryable: true,
      message: expect.stringContaining('could not be started: It failed. Call again'),
    });
    expect(starts(stage)).toBe(1);
    const second = call(stage, 'db');
    await stage.settle();
    expect(starts(stage)).toBe(2);
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    expect(second.state).toBe('pending');
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('waits for a retry when the server was too busy to start', async () => {
    const stage = await stageOf({
      settings: servers({ db: { ...remote, policy: 'dockerResilient' } }),
      obedient: [],
    });
    const waiting = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').fail(failure('unavailable', { httpStatus: 503 }));
    await nextAttempt(stage, 'db');
    expect(starts(stage)).toBe(2);
    expect(waiting.state).toBe('pending');
  });
});

describe("a policy's breaker", () => {
  it('counts only broken connections when configured to', async () => {
    const policy = { breaker: { threshold: 1, counts: 'connectionErrors' } };
    const stage = await stageOf({ settings: servers({ db: { ...remote, policy } }) });
    const fails = async (reason: Parameters<typeof callFailure>[0]) => {
      const called = call(stage, 'db');
      await stage.settle();
      stage.sessions.of('db').calls.at(-1)?.fail(callFailure(reason, true));
      await stage.settle();
      expect(called.state).toBe('refused');
      return stage.troupe.status('db')?.circuit;
    };
    expect(await fails('timeout')).toBe('closed');
    expect(await fails('badResponse')).toBe('closed');
    // An answer such as 503: the connection works.
    expect(await fails('unavailable')).toBe('closed');
    expect(await fails('streamLost')).toBe('open');
  });
});
