import { describe, expect, it } from 'vitest';
import type { CallFailure } from '../../../src/domain/session.ts';
import type { ScriptedCall } from '../../../src/testing/session-script.ts';
import { call, callFailure, crash, pong, remote, servers, stageOf } from '../stage.ts';

const db = servers({ db: 'srv' });

type Reason = CallFailure['reason'];
interface Told {
  /** When some of the request may have reached the server. */
  readonly written: string;
  /** When certainly none of it did, and it was not sent a second time. */
  readonly unwritten: string;
  /** Whether it is sent once more when nothing was written. */
  readonly replays: boolean;
}

// Every reason there is; a new one does not compile without a row.
const table: Record<Reason, Told> = {
  crashed: { written: 'CRASHED unknown', unwritten: 'UNAVAILABLE not_executed', replays: true },
  streamLost: {
    written: 'STREAM_LOST unknown',
    unwritten: 'STREAM_LOST not_executed',
    replays: false,
  },
  timeout: { written: 'TIMEOUT unknown', unwritten: 'TIMEOUT not_executed', replays: false },
  cancelled: { written: 'CANCELLED unknown', unwritten: 'CANCELLED not_executed', replays: false },
  serverError: {
    written: 'SERVER_ERROR executed',
    unwritten: 'SERVER_ERROR not_executed',
    replays: false,
  },
  badResponse: {
    // `executed` if the server answered: see below.
    written: 'BAD_RESPONSE unknown',
    unwritten: 'BAD_RESPONSE not_executed',
    replays: false,
  },
  resultTooLarge: {
    written: 'RESULT_TOO_LARGE executed',
    unwritten: 'RESULT_TOO_LARGE not_executed',
    replays: false,
  },
  invalidArguments: {
    written: 'INVALID_ARGUMENTS unknown',
    unwritten: 'INVALID_ARGUMENTS not_executed',
    replays: false,
  },
  unsupported: {
    written: 'CAPABILITY_MISSING unknown',
    unwritten: 'CAPABILITY_MISSING not_executed',
    replays: false,
  },
  // A server that asks first may have begun.
  inputRequired: {
    written: 'INPUT_REQUIRED unknown',
    unwritten: 'INPUT_REQUIRED not_executed',
    replays: false,
  },
  notSent: { written: 'UNAVAILABLE unknown', unwritten: 'UNAVAILABLE not_executed', replays: true },
  sessionMissing: {
    written: 'UNAVAILABLE unknown',
    unwritten: 'UNAVAILABLE not_executed',
    replays: true,
  },
  authRequired: {
    written: 'AUTH_REQUIRED unknown',
    unwritten: 'AUTH_REQUIRED not_executed',
    replays: false,
  },
  rateLimited: {
    written: 'RATE_LIMITED unknown',
    unwritten: 'RATE_LIMITED not_executed',
    replays: false,
  },
  unavailable: {
    written: 'UNAVAILABLE unknown',
    unwritten: 'UNAVAILABLE not_executed',
    replays: true,
  },
  addressBlocked: {
    written: 'ADDRESS_BLOCKED unknown',
    unwritten: 'ADDRESS_BLOCKED not_executed',
    replays: false,
  },
  redirectBlocked: {
    written: 'REDIRECT_BLOCKED unknown',
    unwritten: 'REDIRECT_BLOCKED not_executed',
    replays: false,
  },
};
const reasons = Object.keys(table) as Reason[];

describe('a failed call', () => {
  it.each(reasons)("reports its reason's outcome once it is sent: %s", async (reason) => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail(callFailure(reason, true));
    await stage.settle();
    expect(`${made.error?.code} ${made.error?.outcome}`).toBe(table[reason].written);
    expect(made.error).toMatchObject({ server: 'db', tool: 'query' });
    // Never sent a second time: it may have run.
    expect(stage.sessions.of('db').calls).toHaveLength(1);
    if (made.error?.outcome === 'unknown') expect(made.error.retryable).toBe(false);
  });

  it.each([
    [{ unanswered: 'it was declined' }, /It asked a question that was not answered/u],
    [{ perhapsUnanswered: 'too many' }, /Check the arguments .* If it asked a question: one was/u],
    [{}, /Check the arguments and call again\.$/u],
  ])('is said to have asked only if that is certain (%j)', async (asked, words) => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.fail({ ...callFailure('serverError', true), ...asked });
    await stage.settle();
    expect(made.error?.message).toMatch(words);
  });

  it.each(reasons.filter((reason) => !table[reason].replays))(
    'is not sent again when it was not written: %s',
    async (reason) => {
      const stage = await stageOf({ settings: db });
      const made = call(stage, 'db');
      await stage.settle();
      stage.sessions.of('db').calls[0]?.fail(callFailure(reason, false));
      await stage.advance(60_000);
      expect(`${made.error?.code} ${made.error?.outcome}`).toBe(table[reason].unwritten);
      expect(stage.sessions.scripts.flatMap(({ calls }) => calls)).toHaveLength(1);
    },
  );

  it.each(reasons.filter((reason) => table[reason].replays))(
    'is retried once after a reconnect when it provably never ran: %s',
    async (reason) => {
      const stage = await stageOf({ settings: db });
      const made = call(stage, 'db');
      await stage.settle();
      const first = stage.sessions.of('db');
      first.calls[0]?.fail(callFailure(reason, false));
      await stage.settle();
      // Not on the session that lost it, though that one still seems ready.
      expect(first.calls).toHaveLength(1);
      first.fail(crash());
      await stage.advance(1_000);
      const second = stage.sessions.of('db');
      expect(second).not.toBe(first);
      second.calls[0]?.answer(pong);
      await stage.settle();
      expect(made).toMatchObject({ state: 'done', value: { meta: { attempts: 2 } } });
    },
  );

  it.each(reasons.filter((reason) => table[reason].replays))(
    'is not sent a third time: %s',
    async (reason) => {
      const stage = await stageOf({ settings: db });
      const made = call(stage, 'db');
      await stage.settle();
      for (const count of [1, 2]) {
        expect(stage.sessions.scripts).toHaveLength(count);
        stage.sessions.of('db').calls[0]?.fail(callFailure(reason, false));
        await stage.settle();
        if (count === 1) stage.sessions.of('db').fail(crash());
        await stage.advance(1_000);
      }
      expect(`${made.error?.code} ${made.error?.outcome}`).toBe(table[reason].unwritten);
      expect(stage.sessions.scripts.flatMap(({ calls }) => calls)).toHaveLength(2);
    },
  );

  it('is retried on the new generation when it never ran', async () => {
    const stage = await stageOf({ settings: db });
    // Five sessions of the old generation, so that the new one's number is smaller.
    for (let count = 0; count < 4; count += 1) {
      stage.troupe.send({ type: 'server.restart', server: 'db' });
      await stage.settle();
    }
    // One birth in between: the successor then gets the very same actor id.
    await stage.apply(servers({ db: 'srv', other: 'srv' }));
    const lost = stage.sessions.of('db');
    const made = call(stage, 'db');
    await stage.settle();
    lost.calls[0]?.fail(callFailure('notSent', false));
    await stage.apply(servers({ db: 'newer', other: 'srv' }));
    expect(stage.sessions.of('db').input.actorId).toBe(lost.input.actorId);
    expect(stage.sessions.of('db').input.session).toBe(1);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it.each([
    // A server may relay these from elsewhere, in the middle of its work.
    [-32700, 'unknown'],
    [-32600, 'unknown'],
    [-32601, 'unknown'],
    // A tool may find its arguments wrong when half its work is done.
    [-32602, 'executed'],
    [-32603, 'executed'],
    [-32000, 'executed'],
    [undefined, 'executed'],
  ] as const)('maps server error %s to outcome %s', async (rpcCode, outcome) => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db');
    await stage.settle();
    const more = rpcCode === undefined ? {} : { rpcCode };
    stage.sessions.of('db').calls[0]?.fail(callFailure('serverError', true, more));
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'SERVER_ERROR', outcome });
  });

  it('has an outcome even after an internal error', async () => {
    const stage = await stageOf({ settings: db });
    const made = [call(stage, 'db'), call(stage, 'db')];
    await stage.settle();
    const [first, second] = stage.sessions.of('db').calls;
    const bug = (): never => {
      throw new RangeError('Out of bounds.');
    };
    first?.fail(Object.defineProperty(callFailure('crashed', true), 'message', { get: bug }));
    second?.answer(Object.defineProperty({ ...pong }, 'content', { get: bug }));
    await stage.settle();
    const message = expect.stringContaining('Out of bounds. Report it.') as string;
    const told = { code: 'INTERNAL', server: 'db', message };
    expect(made.map(({ error }) => error)).toMatchObject([
      { ...told, outcome: 'unknown' },
      { ...told, outcome: 'executed' },
    ]);
  });

  it("reports the server's Retry-After", async () => {
    const stage = await stageOf({ settings: servers({ db: remote }) });
    const made = call(stage, 'db');
    await stage.settle();
    const failed = callFailure('rateLimited', true, { retryAfterMs: 7_000 });
    stage.sessions.of('db').calls[0]?.fail(failed);
    await stage.settle();
    expect(made.error).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: 7_000,
    });
  });

  it('settles once and is not resent when its server is replaced', async () => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db');
    await stage.settle();
    const old = stage.sessions.of('db');
    await stage.apply(servers({ db: 'newer' }));
    expect(stage.sessions.of('db')).not.toBe(old);
    expect(stage.stateOf('db')).toBe('ready');
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'unknown' });
    expect(stage.sessions.of('db').calls).toHaveLength(0);
    old.calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('refused');
  });

  it('ends at its deadline when the server never answers', async () => {
    const stage = await stageOf({ settings: db });
    const made = call(stage, 'db', { timeoutMs: 5_000 });
    await stage.advance(4_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject({ code: 'TIMEOUT', outcome: 'unknown' });
  });
});

describe('the circuit', () => {
  // Every reason there is: what speaks against the server counts, and nothing else.
  const byReason: Record<Reason, boolean> = {
    crashed: true,
    streamLost: true,
    unavailable: true,
    timeout: true,
    badResponse: true,
    redirectBlocked: true,
    // It is an answer.
    resultTooLarge: false,
    serverError: false,
    cancelled: false,
    authRequired: false,
    rateLimited: false,
    sessionMissing: false,
    // No server was asked.
    addressBlocked: false,
    invalidArguments: false,
    unsupported: false,
    inputRequired: false,
    notSent: false,
  };
  type Row = readonly [what: string, counts: boolean, end: (asked: ScriptedCall) => void];
  const failing = (failure: CallFailure) => (asked: ScriptedCall) => asked.fail(failure);
  const rows: readonly Row[] = [
    ...reasons.map((reason): Row => [reason, byReason[reason], failing(callFailure(reason, true))]),
    ...([-32603, -32601, -32602, -32000] as const).map(
      (rpcCode): Row => [
        `the error ${rpcCode}`,
        rpcCode === -32603,
        failing(callFailure('serverError', true, { rpcCode })),
      ],
    ),
    [
      'a tool-reported error',
      false,
      (asked) => asked.answer({ content: [{ type: 'text', text: 'no' }], isError: true }),
    ],
  ];

  it.each(rows)('counts %s as a server failure: %s', async (_what, counts, end) => {
    const stage = await stageOf({ settings: db });
    const script = stage.sessions.of('db');
    for (let count = 0; count < 5; count += 1) {
      call(stage, 'db');
      await stage.settle();
      const asked = script.calls.at(-1);
      expect(asked?.isSettled).toBe(false);
      if (asked !== undefined) end(asked);
      await stage.settle();
    }
    expect(stage.troupe.status('db')?.circuit).toBe(counts ? 'open' : 'closed');
  });

  it('resets its count after one success', async () => {
    const stage = await stageOf({ settings: db });
    const script = stage.sessions.of('db');
    for (let count = 0; count < 12; count += 1) {
      call(stage, 'db');
      await stage.settle();
      if (count % 5 === 4) script.calls.at(-1)?.answer(pong);
      else script.calls.at(-1)?.fail(callFailure('timeout', true));
      await stage.settle();
    }
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
  });

  it('counts a crash once, however many calls it ended', async () => {
    const stage = await stageOf({ settings: db });
    const made = Array.from({ length: 16 }, () => call(stage, 'db'));
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(made.map(({ error }) => error?.code)).toEqual(
      Array.from({ length: 16 }, () => 'CRASHED'),
    );
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
    await stage.advance(1_000);
    const next = call(stage, 'db');
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(next.state).toBe('done');
  });

  it('stays closed when the user restarts a server with running calls', async () => {
    const stage = await stageOf({ settings: db });
    for (let count = 0; count < 16; count += 1) call(stage, 'db');
    await stage.settle();
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
  });
});
