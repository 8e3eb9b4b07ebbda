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
  stage,
  watch,
} from '../stage.ts';

describe('required()', () => {
  const required = { command: 'srv', required: true };

  it('resolves when every required server is ready, whatever the others do', async () => {
    const there = await stage({
      settings: servers({ db: required, web: { ...remote, required: true }, slow: 'srv' }),
      obedient: ['db'],
    });
    const all = watch(there.troupe.required());
    await there.advance(1_000);
    expect(all.state).toBe('pending');
    bringUp(there.sessions.of('web'));
    await there.settle();
    expect(all.state).toBe('done');
  });

  it('resolves immediately without required servers', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }), obedient: [] });
    const all = watch(there.troupe.required());
    await there.settle();
    expect(all.state).toBe('done');
  });

  it("rejects with the missing servers after each one's startup timeout", async () => {
    const there = await stage({
      settings: servers({
        db: { ...required, startupTimeoutMs: 5_000 },
        web: { ...remote, required: true, startupTimeoutMs: 2_000 },
        ok: required,
      }),
      obedient: ['ok'],
    });
    there.sessions.of('web').fail(failure('capabilityMissing'));
    const all = watch(there.troupe.required());
    await there.advance(4_999);
    expect(all.state).toBe('pending');
    await there.advance(1);
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
    const there = setUp({
      settings: servers({ db: { ...required, startupTimeoutMs: 2_000 } }),
      obedient: [],
    });
    const early = watch(there.troupe.required());
    await there.settle();
    await there.advance(1_999);
    const late = watch(there.troupe.required());
    expect([early.state, late.state]).toEqual(['pending', 'pending']);
    await there.advance(1);
    expect([early.state, late.state]).toEqual(['refused', 'refused']);
  });

  it('does not wait for a server that failed or went dormant after a failed start', async () => {
    const policy = 'dockerStrict';
    const there = await stage({
      settings: servers({ gone: { command: 'srv', policy }, old: { command: 'srv', policy } }),
      obedient: [],
    });
    const all = watch(there.troupe.required());
    there.sessions.of('gone').fail(failure('unavailable'));
    there.sessions.of('old').fail(failure('versionUnsupported'));
    await there.settle();
    expect(all.error).toMatchObject({
      servers: [
        { name: 'gone', state: 'dormant' },
        { name: 'old', state: 'failed', reason: 'versionUnsupported' },
      ],
    });
  });

  it('ignores a disabled server', async () => {
    const there = await stage({ settings: servers({ db: { ...required, enabled: false } }) });
    const all = watch(there.troupe.required());
    await there.settle();
    expect(all.state).toBe('done');
  });

  it('rejects when the troupe stops', async () => {
    const there = await stage({ settings: servers({ db: required }), obedient: [] });
    const all = watch(there.troupe.required());
    there.obedient = null;
    await Promise.all([there.troupe.stop(), there.advance(10)]);
    await there.settle();
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
    const there = await stage({ settings: db({ policy: 'default' }) });
    await there.apply(db({ policy: 'claudeCode' }));
    await there.apply(db({ policy: { preset: 'dockerResilient', close: { totalMs: 500 } } }));
    expect(there.stateOf('db')).toBe('ready');
    expect(there.sessions.scripts).toHaveLength(1);
  });

  it('applies to the next wait, not the current one', async () => {
    const there = await stage({ settings: db(attempts(9, 60_000)), obedient: [] });
    there.sessions.of('db').fail(crash());
    await there.apply(db(attempts(9, 1_000)));
    await there.advance(60_000 - 301);
    expect(there.sessions.scripts).toHaveLength(1);
    await there.advance(1);
    expect(there.sessions.scripts).toHaveLength(2);
    there.sessions.of('db').fail(crash());
    await there.advance(1_000);
    expect(there.sessions.scripts).toHaveLength(3);
  });

  it('applies a new attempt limit to a failed server', async () => {
    const there = await stage({ settings: db(attempts(1, 1_000)), obedient: [] });
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.stateOf('db')).toBe('failed.attemptsExhausted');
    await there.apply(db(attempts(2, 1_000)));
    expect(there.stateOf('db')).toBe('backingOff.retrying');
  });

  it('can be set by the host for settings without one', async () => {
    const settings = servers({ db: 'srv', web: { command: 'srv', policy: 'default' } });
    const there = await stage({ settings, policy: 'dockerBestEffort', obedient: [] });
    expect([there.stateOf('db'), there.stateOf('web')]).toEqual(['dormant', 'connecting']);
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
    const there = await stage({
      settings: servers({ db: 'srv', slow: background }),
      obedient: ['db'],
    });
    const ready = watch(there.troupe.ready());
    await there.settle();
    expect(ready.value).toMatchObject({ live: ['db'], pending: ['slow'], elapsedMs: 0 });
  });
});

describe('a call to a server that goes dormant after giving up', () => {
  const sleepy = servers({ db: { command: 'srv', policy: 'dockerResilient' } });
  const starts = (there: Stage): number => there.sessions.scripts.length;

  it('starts it once and fails with the cause', async () => {
    // Such a server is asked about at each call.
    const permission = () => 'allow' as const;
    const there = await stage({ settings: sleepy, obedient: [], permission });
    const first = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(failure('unavailable'));
    await there.settle();
    expect(first.error).toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'not_executed',
      retryable: true,
      message: expect.stringContaining('could not be started: It failed. Call again'),
    });
    expect(starts(there)).toBe(1);
    const second = call(there, 'db');
    await there.settle();
    expect(starts(there)).toBe(2);
    bringUp(there.sessions.of('db'));
    await there.settle();
    expect(second.state).toBe('pending');
    expect(there.stateOf('db')).toBe('ready');
  });

  it('waits for a retry when the server was too busy to start', async () => {
    const there = await stage({
      settings: servers({ db: { ...remote, policy: 'dockerResilient' } }),
      obedient: [],
    });
    const waiting = call(there, 'db');
    await there.settle();
    there.sessions.of('db').fail(failure('unavailable', { httpStatus: 503 }));
    await nextAttempt(there, 'db');
    expect(starts(there)).toBe(2);
    expect(waiting.state).toBe('pending');
  });
});

describe("a policy's breaker", () => {
  it('counts only broken connections when configured to', async () => {
    const policy = { breaker: { threshold: 1, counts: 'connectionErrors' } };
    const there = await stage({ settings: servers({ db: { ...remote, policy } }) });
    const fails = async (reason: Parameters<typeof callFailure>[0]) => {
      const called = call(there, 'db');
      await there.settle();
      there.sessions.of('db').calls.at(-1)?.fail(callFailure(reason, true));
      await there.settle();
      expect(called.state).toBe('refused');
      return there.troupe.status('db')?.circuit;
    };
    expect(await fails('timeout')).toBe('closed');
    expect(await fails('badResponse')).toBe('closed');
    // An answer such as 503: the connection works.
    expect(await fails('unavailable')).toBe('closed');
    expect(await fails('streamLost')).toBe('open');
  });
});
