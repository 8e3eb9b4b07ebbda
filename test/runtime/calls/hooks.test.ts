import { describe, expect, it } from 'vitest';
import type {
  AfterAnswer,
  AnsweredCall,
  BeforeAnswer,
  CallHooks,
  HookedCall,
} from '../../../src/domain/host/hooks.ts';
import type { CallReport } from '../../../src/index.ts';
import {
  call,
  callFailure,
  crash,
  pong,
  type Stage,
  servers,
  setUp,
  stageOf,
  thrownBy,
  tool,
  watch,
} from '../stage.ts';

const settings = servers({ db: 'srv' });
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

/** A hook that waits for the test. */
function waiting() {
  let answer: (value: unknown) => void = () => undefined;
  let signal: AbortSignal | undefined;
  const hook = {
    name: 'slow',
    run: (_call: HookedCall, options: { readonly signal: AbortSignal }) => {
      signal = options.signal;
      return new Promise<undefined>((resolve) => {
        answer = resolve as (value: unknown) => void;
      });
    },
  };
  return { hook, answer: (value: unknown) => answer(value), signal: () => signal };
}

const sentTo = (stage: Stage) => stage.sessions.of('db').calls.map(({ args }) => args);

async function made(stage: Stage, args: Readonly<Record<string, unknown>> = {}, options = {}) {
  const watched = watch(stage.troupe.callServerTool('db', 'query', args, options));
  await stage.settle();
  return watched;
}

async function answered(stage: Stage, result: object = pong) {
  const watched = await made(stage);
  stage.sessions
    .of('db')
    .calls.at(-1)
    ?.answer(result as typeof pong);
  await stage.settle();
  return watched;
}

const before = (run: (call: HookedCall) => unknown, more = {}): CallHooks => ({
  before: [{ name: 'check', run: run as () => BeforeAnswer, ...more }],
});
const after = (run: (call: AnsweredCall) => unknown, more = {}): CallHooks => ({
  after: [{ name: 'scan', run: run as () => AfterAnswer, ...more }],
});

const refusal = { code: 'PERMISSION_DENIED', outcome: 'not_executed', retryable: false };
const withheld = { ...refusal, outcome: 'executed' };

describe('hooks before a call', () => {
  it('run in their order, each with the arguments that the one before it left', async () => {
    const seen: unknown[] = [];
    const adding = (name: string) => ({
      name,
      run: async ({ arguments: args }: HookedCall) => {
        seen.push([name, args]);
        return { arguments: { ...args, [name]: true } };
      },
    });
    const idle = { name: 'idle', run: () => undefined };
    const stage = await stageOf({
      settings,
      hooks: { before: [adding('a'), idle, adding('b')] },
    });
    await made(stage, { id: 1 });
    expect(seen).toEqual([
      ['a', { id: 1 }],
      ['b', { id: 1, a: true }],
    ]);
    expect(sentTo(stage)).toEqual([{ id: 1, a: true, b: true }]);
  });

  it('see the tool, its caller and whether its server is trusted', async () => {
    const seen: HookedCall[] = [];
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', trust: true } }),
      hooks: before((seenCall) => void seen.push(seenCall)),
    });
    const client = { onQuestion: () => undefined, user: 'ada' };
    await made(stage, { id: 1 }, { clientName: 'editor', client });
    expect(seen).toMatchObject([
      {
        server: 'db',
        tool: 'query',
        name: 'mcp__db__query',
        arguments: { id: 1 },
        isTrusted: true,
        client: 'editor',
        user: 'ada',
      },
    ]);
  });

  it('run before the permission is decided, which then counts for what is sent', async () => {
    const asked: unknown[] = [];
    const stage = await stageOf({
      settings,
      hooks: before(() => ({ arguments: { sql: 'DROP' } })),
      permission: ({ arguments: args }) => {
        asked.push(args);
        return args['sql'] === 'DROP' ? 'deny' : 'allow';
      },
    });
    const denied = await made(stage, { sql: 'SELECT' });
    expect(asked).toEqual([{ sql: 'DROP' }]);
    expect(denied.error).toMatchObject(refusal);
    expect(sentTo(stage)).toEqual([]);
  });

  it('cannot change the arguments after they answered', async () => {
    const args = { sql: 'SELECT' };
    const stage = await stageOf({
      settings,
      hooks: before(() => ({ arguments: args })),
      permission: () => {
        args.sql = 'DROP';
        return 'allow';
      },
    });
    await made(stage);
    expect(sentTo(stage)).toEqual([{ sql: 'SELECT' }]);
  });

  it('refuse a call with a reason that its caller and the log of its server show', async () => {
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', limits: { perMinute: 1 } } }),
      hooks: before(({ arguments: { sql } }) =>
        sql === 'DROP' ? { refuse: 'nothing may be dropped.' } : undefined,
      ),
    });
    const { error } = await made(stage, { sql: 'DROP' });
    expect(error).toMatchObject({ ...refusal, server: 'db', tool: 'query' });
    expect(error?.message).toBe(
      'Tool query of db was not called: hook "check" refused it: nothing may be dropped. Change the call, or the hook (the host).',
    );
    expect(stage.troupe.logs('db')?.at(-1)?.line).toContain('hook "check" refused it');
    // It gave its place back.
    expect((await answered(stage)).state).toBe('done');
    expect(sentTo(stage)).toHaveLength(1);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no database')), 'failed: no database'],
    [
      'throws at once',
      () => {
        throw new Error('boom');
      },
      'failed: boom',
    ],
    ['answers with text', () => 'yes', 'it answered something other'],
    ['answers with null', () => null, 'it answered something other'],
    ['misspells a key', () => ({ argument: {} }), 'it answered something other'],
    ['refuses without a reason', () => ({ refuse: true }), 'it answered something other'],
    ['returns a result', () => ({ result: pong }), 'it answered something other'],
    ['returns a list of arguments', () => ({ arguments: [1] }), 'it answered something other'],
    ['returns what is not JSON', () => ({ arguments: { id: 1n } }), 'failed:'],
  ])('refuse the call if one %s', async (_words, run, why) => {
    const later: unknown[] = [];
    const stage = await stageOf({
      settings,
      hooks: {
        before: [
          { name: 'check', run: run as () => BeforeAnswer },
          { name: 'later', run: (seenCall) => void later.push(seenCall) as undefined },
        ],
      },
    });
    const { error } = await made(stage);
    expect(error).toMatchObject(refusal);
    expect(error?.message).toContain(`hook "check" `);
    expect(error?.message).toContain(why);
    expect(later).toEqual([]);
    expect(sentTo(stage)).toEqual([]);
  });

  it.each([
    ['ten seconds', {}, {}, 10_000],
    ['its own deadline', { timeoutMs: 400 }, {}, 400],
    ['the deadline that the caller set', {}, { timeoutMs: 300 }, 300],
  ])('refuse the call after %s without an answer', async (_words, more, options, limitMs) => {
    const { hook, answer, signal } = waiting();
    const stage = await stageOf({ settings, hooks: { before: [{ ...hook, ...more }] } });
    const late = await made(stage, {}, options);
    await stage.advance(limitMs - 1);
    expect(late.state).toBe('pending');
    await stage.advance(1);
    expect(late.error).toMatchObject(refusal);
    expect(late.error?.message).toContain(`hook "slow" did not answer within ${limitMs} ms`);
    expect(signal()?.aborted).toBe(true);
    answer(undefined);
    await stage.settle();
    expect(sentTo(stage)).toEqual([]);
  });

  it('pause the deadline of the policy, and hold no turn', async () => {
    const { hook, answer } = waiting();
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', timeoutMs: 1_000 } }),
      hooks: { before: [{ ...hook, timeoutMs: 60_000, tools: ['*slow'] }] },
    });
    stage.tools.set('db', [tool('query'), tool('slow')]);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    const slow = Array.from({ length: 70 }, () => call(stage, 'db', { tool: 'slow' }));
    await stage.advance(5_000);
    expect((await answered(stage)).state).toBe('done');
    for (const one of slow) expect(one.state).toBe('pending');
    answer(undefined);
    await stage.settle();
    expect(sentTo(stage)).toHaveLength(2);
  });

  it('end with a call that its caller aborts', async () => {
    const { hook, signal } = waiting();
    const stage = await stageOf({ settings, hooks: { before: [hook] } });
    const abort = new AbortController();
    const aborted = await made(stage, {}, { signal: abort.signal });
    abort.abort();
    await stage.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(signal()?.aborted).toBe(true);
  });

  it('end with the troupe', async () => {
    const { hook, signal } = waiting();
    const stage = await stageOf({ settings, hooks: { before: [hook] } });
    const ended = await made(stage);
    void stage.troupe.stop();
    await stage.settle();
    expect(ended.error).toMatchObject({ code: 'SHUTTING_DOWN', outcome: 'not_executed' });
    expect(signal()?.aborted).toBe(true);
  });

  it('see only the tools that they name', async () => {
    const seen: string[] = [];
    const note = ({ tool: name }: HookedCall): undefined => void seen.push(name);
    const stage = await stageOf({
      settings,
      hooks: {
        before: [
          { name: 'by name', tools: ['mcp__db__drop_*'], run: note },
          { name: 'by server', tools: [{ server: 'db', tool: 'list' }], run: note },
          { name: 'of another', tools: [{ server: 'api' }], run: note },
        ],
      },
    });
    stage.tools.set('db', [tool('query'), tool('drop_all'), tool('list')]);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.settle();
    for (const name of ['query', 'drop_all', 'list']) call(stage, 'db', { tool: name });
    await stage.settle();
    expect(seen).toEqual(['drop_all', 'list']);
    expect(sentTo(stage)).toHaveLength(3);
  });

  it('run once for a call that is sent again', async () => {
    let runs = 0;
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', policy: { call: { replay: 'once' } } } }),
      hooks: before(() => {
        runs += 1;
        return { arguments: { runs } };
      }),
    });
    const replayed = await made(stage);
    stage.sessions.of('db').calls[0]?.fail(callFailure('streamLost', true));
    await stage.advance(1_000);
    stage.sessions.of('db').calls[1]?.answer(pong);
    await stage.settle();
    expect(replayed.state).toBe('done');
    expect(sentTo(stage)).toEqual([{ runs: 1 }, { runs: 1 }]);
  });

  it('start for a lazy server once its tools are known, and for no unknown tool', async () => {
    let runs = 0;
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', startup: 'lazy' } }),
      hooks: before(() => void (runs += 1)),
    });
    const unknown = watch(stage.troupe.callTool('mcp__db__nope'));
    await stage.settle();
    expect(unknown.error?.code).toBe('TOOL_UNKNOWN');
    expect(runs).toBe(0);
    const known = watch(stage.troupe.callTool('mcp__db__query'));
    await stage.settle();
    expect(runs).toBe(1);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(known.state).toBe('done');
  });

  it('see no requests other than tool calls', async () => {
    let runs = 0;
    const count = (): undefined => void (runs += 1);
    const stage = await stageOf({
      settings,
      hooks: { before: [{ name: 'b', run: count }], after: [{ name: 'a', run: count }] },
    });
    const read = watch(stage.troupe.readResource('db', 'file:///a'));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer({ contents: [] });
    await stage.settle();
    expect(read.state).toBe('done');
    expect(runs).toBe(0);
  });

  it('are checked when the troupe is created', () => {
    const hooks = { before: [{ name: 'check' }] } as unknown as CallHooks;
    expect(thrownByStage({ hooks })).toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const misspelt = { befor: [] } as unknown as CallHooks;
    expect(thrownByStage({ hooks: misspelt })).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });
});

describe('hooks after a call', () => {
  it('change its result in their order, before the rules of the policy apply', async () => {
    const seen: unknown[] = [];
    const policy = { result: { textMaxLength: 20, cutText: 'drop' } };
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', policy } }),
      hooks: {
        after: [
          { name: 'shorten', run: () => ({ result: text('y'.repeat(30)) }) },
          { name: 'look', run: ({ result }) => void seen.push(result) as undefined },
        ],
      },
    });
    const { value } = await answered(stage, text('x'.repeat(100)));
    const [shown, note] = (value as CallReport).result.content;
    expect(shown).toEqual(text('y'.repeat(20)).content[0]);
    expect(note?.['text']).toContain('20 of 30 characters');
    expect(seen).toEqual([text('y'.repeat(30))]);
  });

  it('see the arguments that were sent', async () => {
    const seen: unknown[] = [];
    const stage = await stageOf({
      settings,
      hooks: {
        ...before(() => ({ arguments: { id: 2 } })),
        ...after((seenCall) => void seen.push([seenCall.arguments, seenCall.result])),
      },
    });
    await answered(stage);
    expect(seen).toEqual([[{ id: 2 }, pong]]);
  });

  it.each([
    ['refuses', () => ({ refuse: 'it holds a key' }), 'hook "scan" refused it: it holds a key'],
    ['throws', () => Promise.reject(new Error('down')), 'hook "scan" failed: down'],
    ['answers nonsense', () => ({ results: {} }), 'it answered something other'],
    ['returns arguments', () => ({ arguments: {} }), 'it answered something other'],
    ['returns no result of a tool', () => ({ result: { content: 'x' } }), 'is none of a tool'],
  ])('withhold the result of a call that has run if one %s', async (_words, run, why) => {
    const stage = await stageOf({ settings, hooks: after(run) });
    const { error } = await answered(stage);
    expect(error).toMatchObject({ ...withheld, server: 'db', tool: 'query' });
    expect(error?.message).toContain('Tool query of db ran, but its result is withheld');
    expect(error?.message).toContain(why);
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.status('db')?.circuit).toBe('closed');
    expect(stage.troupe.logs('db')?.at(-1)?.line).toContain('hook "scan"');
  });

  it.each([
    ['at its deadline', {}, 10_000, withheld],
    ['at the deadline of the caller', { timeoutMs: 500 }, 500, withheld],
  ])('withhold the result %s', async (_words, options, limitMs, expected) => {
    const { hook } = waiting();
    const stage = await stageOf({ settings, hooks: { after: [hook] } });
    const late = await made(stage, {}, options);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.advance(limitMs - 1);
    expect(late.state).toBe('pending');
    await stage.advance(1);
    expect(late.error).toMatchObject(expected);
  });

  it('leave a call executed that its caller or the end of the troupe ends meanwhile', async () => {
    const { hook } = waiting();
    const stage = await stageOf({ settings, hooks: { after: [hook] } });
    const abort = new AbortController();
    const aborted = await made(stage, {}, { signal: abort.signal });
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    abort.abort();
    await stage.settle();
    expect(aborted.error).toMatchObject({ code: 'CANCELLED', outcome: 'executed' });
    const ended = await made(stage);
    stage.sessions.of('db').calls[1]?.answer(pong);
    await stage.settle();
    void stage.troupe.stop();
    await stage.settle();
    expect(ended.error).toMatchObject({ code: 'SHUTTING_DOWN', outcome: 'executed' });
  });

  it('keep an orderly stop waiting', async () => {
    const { hook, answer } = waiting();
    const stage = await stageOf({ settings, hooks: { after: [hook] } });
    const last = await made(stage);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    const stopped = watch(stage.troupe.stop({ graceMs: 5_000 }));
    await stage.advance(1_000);
    expect(stopped.state).toBe('pending');
    answer(undefined);
    await stage.settle();
    expect(last.state).toBe('done');
  });

  it('see errors of the tool, but no call that failed, and no question of a modern server', async () => {
    const seen: unknown[] = [];
    const stage = await stageOf({ settings, hooks: after(({ result }) => void seen.push(result)) });
    const ofTool = { ...pong, isError: true };
    await answered(stage, ofTool);
    const question = { ...pong, resultType: 'input_required' };
    expect(((await answered(stage, question)).value as CallReport).result).toEqual(question);
    const failed = await made(stage);
    stage.sessions.of('db').calls.at(-1)?.fail(callFailure('serverError', true));
    await stage.settle();
    expect(failed.error?.code).toBe('SERVER_ERROR');
    expect(seen).toEqual([ofTool]);
  });

  it('run for a call in the background', async () => {
    const policy = { call: { backgroundAfterMs: 2_000, timeoutMs: 60_000 } };
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', policy } }),
      hooks: after(() => ({ result: text('clean') })),
    });
    await made(stage);
    await stage.advance(2_000);
    const collected = watch(stage.troupe.collect('call-1'));
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(collected.value?.result).toEqual(text('clean'));
  });

  it('do not run if the server is lost', async () => {
    let runs = 0;
    const stage = await stageOf({ settings, hooks: after(() => void (runs += 1)) });
    const lost = await made(stage);
    const script = stage.sessions.of('db');
    script.fail(crash());
    script.calls[0]?.fail(callFailure('crashed', true));
    await stage.settle();
    expect(lost.error).toMatchObject({ code: 'CRASHED', outcome: 'unknown' });
    expect(runs).toBe(0);
  });
});

function thrownByStage(options: Parameters<typeof stageOf>[0]) {
  return thrownBy(() => void setUp(options));
}
