import { describe, expect, it, vi } from 'vitest';
import type { PermissionAnswer, PermissionRequest } from '../../../src/index.ts';
import { type ScriptedTroupeOptions, settingsFile } from '../../../src/testing/scripted-troupe.ts';
import { call, crash, pong, type Stage, servers, stageOf, tool } from '../stage.ts';

type Lists = { allow?: unknown[]; ask?: unknown[]; deny?: unknown[] };

const under = (permissions: Lists, entry: object = {}) =>
  servers({ db: { command: 'srv', ...entry } }, { permissions });
const db = servers({ db: 'srv' });
const asking = under({ ask: ['mcp__db__*'] });
const denied = { code: 'PERMISSION_DENIED', outcome: 'not_executed' };

const sent = (stage: Stage) => stage.sessions.scripts.flatMap(({ calls }) => calls);

/** How a call went: `sent`, or the code of its error. */
async function goes(options: ScriptedTroupeOptions, server = 'db') {
  const stage = await stageOf(options);
  const made = call(stage, server);
  await stage.advance(0);
  return sent(stage).length === 1 ? 'sent' : (made.error?.code ?? made.state);
}

async function refusedBy(options: ScriptedTroupeOptions) {
  const stage = await stageOf(options);
  const made = call(stage, 'db');
  await stage.settle();
  expect(sent(stage)).toEqual([]);
  return { made };
}

/** An `askPermission` that is answered by the test. */
function person() {
  const questions: { request: PermissionRequest; signal: AbortSignal }[] = [];
  const answers: ((answer: unknown) => void)[] = [];
  return {
    questions,
    ask: (request: PermissionRequest, { signal }: { signal: AbortSignal }) => {
      questions.push({ request, signal });
      return new Promise<PermissionAnswer>((resolve) => {
        answers.push(resolve as (answer: unknown) => void);
      });
    },
    async says(stage: Stage, answer: unknown): Promise<void> {
      answers.shift()?.(answer);
      await stage.settle();
    },
  };
}

describe('a call without rules', () => {
  it('is sent immediately without asking', async () => {
    const stage = await stageOf({ settings: db });
    void stage.troupe.callServerTool('db', 'query', {});
    // Not one turn later: the way costs nothing when there is nothing to ask.
    expect(sent(stage)).toHaveLength(1);
    sent(stage)[0]?.answer(pong);
    await stage.settle();
  });
});

describe('permission rules in settings', () => {
  it('let an allowed call be sent immediately', async () => {
    const stage = await stageOf({ settings: under({ allow: ['*'], deny: ['mcp__db__drop'] }) });
    void stage.troupe.callServerTool('db', 'query', {});
    expect(sent(stage)).toHaveLength(1);
    sent(stage)[0]?.answer(pong);
    await stage.settle();
  });

  it.each([
    ['an exposed name', { deny: ['mcp__db__query'] }],
    ['a pattern', { deny: ['mcp__db__*'] }],
    ['a server', { deny: [{ server: 'db' }] }],
    ['a tool of a server', { deny: [{ server: 'db', tool: 'que*' }] }],
  ])('deny by %s', async (_by, permissions) => {
    expect(await goes({ settings: under(permissions) })).toBe('PERMISSION_DENIED');
  });

  it("deny by the server's own tool names in its entry", async () => {
    const settings = under({}, { tools: { permissions: { deny: ['que*'] } } });
    expect(await goes({ settings })).toBe('PERMISSION_DENIED');
  });

  it('do not match a server whose name merely has the same prefix', async () => {
    const policy = { policy: { approval: { perCall: true } } };
    const settings = (...names: string[]) =>
      servers(Object.fromEntries(names.map((name) => [name, { command: 'srv', ...policy }])), {
        permissions: { allow: ['mcp__db__*'] },
      });
    expect(await goes({ settings: settings('db', 'db__x') }, 'db')).toBe('sent');
    expect(await goes({ settings: settings('db', 'db__x') }, 'db__x')).toBe('PERMISSION_DENIED');
    expect(await goes({ settings: settings('db__x') }, 'db__x')).toBe('PERMISSION_DENIED');
  });

  it('do not apply to other tools and servers', async () => {
    expect(await goes({ settings: under({ deny: ['mcp__db__drop', { server: 'web' }] }) })).toBe(
      'sent',
    );
  });

  it('can ask and deny but not allow when they come from a project', async () => {
    const projectSettings = { mcp: { permissions: { deny: ['mcp__db__*'] } } };
    expect(await goes({ settings: db, projectSettings })).toBe('PERMISSION_DENIED');
    const allowing = { mcp: { permissions: { allow: ['mcp__db__*'] } } };
    expect(await goes({ settings: asking, projectSettings: allowing })).toBe('PERMISSION_DENIED');
    const stage = await stageOf({ settings: db, projectSettings: allowing });
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([
      { key: 'mcp.permissions.allow', message: expect.stringContaining('ignored') },
    ]);
  });

  it('apply as soon as they change, even to queued calls', async () => {
    const stage = await stageOf({ settings: under({ allow: ['*'] }) });
    for (let n = 0; n < 64; n += 1) call(stage, 'db');
    const made = call(stage, 'db');
    await stage.apply(under({ deny: ['mcp__db__query'] }));
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect(made.error).toMatchObject(denied);
    expect(sent(stage)).toHaveLength(64);
  });

  it('are checked before a queued call is sent when they are added meanwhile', async () => {
    const stage = await stageOf({ settings: db });
    for (let n = 0; n < 64; n += 1) call(stage, 'db');
    const made = call(stage, 'db');
    await stage.apply(under({ deny: ['mcp__db__query'] }));
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect(made.error).toMatchObject(denied);
  });

  it("apply to a queued, allowed call when they require the user's answer", async () => {
    const who = person();
    const stage = await stageOf({ settings: under({ allow: ['*'] }), askPermission: who.ask });
    for (let n = 0; n < 64; n += 1) call(stage, 'db');
    const made = call(stage, 'db');
    await stage.settle();
    await stage.apply(asking);
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect([who.questions.length, sent(stage).length]).toEqual([1, 64]);
    await who.says(stage, 'allow');
    sent(stage)[64]?.answer(pong);
    await stage.settle();
    expect([made.state, who.questions.length]).toEqual(['done', 1]);
  });

  it('make the whole file invalid when one is invalid', async () => {
    const stage = await stageOf({ settings: under({ deny: [7] }) });
    expect(stage.troupe.snapshot().troupe.problems[0]).toMatchObject({
      key: 'mcp.permissions.deny.0',
    });
    expect(stage.troupe.status('db')).toBeUndefined();
  });
});

describe("the host's permission hook", () => {
  it('receives the call with its trusted facts', async () => {
    const seen: PermissionRequest[] = [];
    const stage = await stageOf({
      settings: servers({ db: { command: 'srv', trust: true } }),
      permission: (request) => {
        seen.push(request);
        return 'allow';
      },
    });
    stage.tools.set('db', [tool('query', { annotations: { readOnlyHint: true }, title: 'Ask' })]);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.advance(1_000);
    void stage.troupe.callTool('mcp__db__query', { sql: 'select 1' });
    await stage.settle();
    expect(seen).toEqual([
      {
        server: 'db',
        tool: 'query',
        name: 'mcp__db__query',
        title: 'Ask',
        arguments: { sql: 'select 1' },
        annotations: { readOnlyHint: true },
        isTrusted: true,
      },
    ]);
    expect(sent(stage)).toHaveLength(1);
    sent(stage)[0]?.answer(pong);
    await stage.settle();
  });

  it.each([
    ['denies', () => 'deny'],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['returns an invalid value', () => 'yes'],
    ['returns nothing', () => undefined],
  ])('denies the call when it %s', async (_what, permission) => {
    const stage = await stageOf({ settings: db, permission: permission as () => 'deny' });
    const made = call(stage, 'db');
    await stage.settle();
    expect(made.error).toMatchObject({ ...denied, retryable: false, tool: 'query' });
    expect(sent(stage)).toHaveLength(0);
  });

  it('denies the call after ten seconds when it never settles', async () => {
    const stage = await stageOf({ settings: db, permission: () => new Promise(() => {}) });
    const before = stage.clock.pendingCount;
    const made = call(stage, 'db');
    await stage.advance(9_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject(denied);
    expect(stage.clock.pendingCount).toBeLessThanOrEqual(before);
  });

  it('cannot weaken a rule that asks or denies', async () => {
    expect(await goes({ settings: asking, permission: () => 'allow' })).toBe('PERMISSION_DENIED');
    const { ask, questions } = person();
    const settings = under({ deny: ['*'] });
    expect(await goes({ settings, permission: () => 'ask', askPermission: ask })).toBe(
      'PERMISSION_DENIED',
    );
    expect(questions).toHaveLength(0);
  });

  it('is not called for other requests', async () => {
    const permission = vi.fn(() => 'deny' as const);
    const stage = await stageOf({ settings: db, permission });
    void stage.troupe.readResource('db', 'file:///a');
    await stage.settle();
    expect(sent(stage)).toHaveLength(1);
    expect(permission).not.toHaveBeenCalled();
    sent(stage)[0]?.answer({ contents: [] });
    await stage.settle();
  });
});

describe('the approval policy', () => {
  const perCall = { policy: { approval: { perCall: true } } };

  it('can ask about every call', async () => {
    expect(await goes({ settings: under({}, perCall) })).toBe('PERMISSION_DENIED');
  });

  it('does not ask for trusted servers or calls that a rule allows', async () => {
    expect(await goes({ settings: under({}, { ...perCall, trust: true }) })).toBe('sent');
    expect(await goes({ settings: under({ allow: ['mcp__db__query'] }, perCall) })).toBe('sent');
    expect(await goes({ settings: under({}, perCall), permission: () => 'allow' })).toBe('sent');
  });
});

describe("a trusted server's call", () => {
  const settings = under({}, { policy: { approval: { perCall: true } }, trust: true });

  it('needs permission while the folder is not trusted', async () => {
    expect(await goes({ settings, trusted: false })).toBe('PERMISSION_DENIED');
  });

  it('is sent without a question once the folder is trusted', async () => {
    const stage = await stageOf({ settings, trusted: false });
    stage.troupe.send({ type: 'trust.changed', trusted: true });
    await stage.settle();
    const made = call(stage, 'db');
    await stage.settle();
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });
});

describe('a permission request to the user', () => {
  async function asked(options: ScriptedTroupeOptions = {}) {
    const who = person();
    const stage = await stageOf({ settings: asking, askPermission: who.ask, ...options });
    const before = stage.clock.pendingCount;
    const made = call(stage, 'db');
    await stage.settle();
    return { who, stage, made, before };
  }

  it('sends the call once the user allows it', async () => {
    const { who, stage, made } = await asked();
    expect(sent(stage)).toHaveLength(0);
    await who.says(stage, 'allow');
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it.each(['deny', 'maybe', undefined])('denies the call when the answer is %s', async (answer) => {
    const { who, stage, made } = await asked();
    await who.says(stage, answer);
    expect(made.error).toMatchObject(denied);
    expect(sent(stage)).toHaveLength(0);
  });

  it('times out after two minutes and aborts its callback', async () => {
    const { who, stage, made, before } = await asked();
    await stage.advance(119_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject({ ...denied, retryable: true });
    expect(who.questions[0]?.signal.aborted).toBe(true);
    expect(stage.clock.pendingCount).toBeLessThanOrEqual(before);
  });

  it("holds no call slot and pauses the call's deadline", async () => {
    const { who, stage, made } = await asked();
    await stage.advance(100_000);
    await who.says(stage, 'allow');
    await stage.advance(59_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.error).toMatchObject({ code: 'TIMEOUT' });
  });

  it("ends at the caller's own deadline", async () => {
    const who = person();
    const stage = await stageOf({ settings: asking, askPermission: who.ask });
    const made = call(stage, 'db', { timeoutMs: 1_000 });
    await stage.settle();
    await stage.advance(1_000);
    expect(made.error).toMatchObject(denied);
  });

  it('ends with the call, as not_executed', async () => {
    const who = person();
    const stage = await stageOf({ settings: asking, askPermission: who.ask });
    const before = stage.clock.pendingCount;
    const controller = new AbortController();
    const made = call(stage, 'db', { signal: controller.signal });
    await stage.settle();
    controller.abort();
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'CANCELLED', outcome: 'not_executed' });
    expect(who.questions[0]?.signal.aborted).toBe(true);
    expect(stage.clock.pendingCount).toBeLessThanOrEqual(before);
  });

  it.each([
    [
      'is stopped',
      'STOPPED',
      (stage: Stage) => stage.troupe.send({ type: 'server.stop', server: 'db' }),
    ],
    [
      'is removed',
      'SERVER_REMOVED',
      (stage: Stage) => stage.files.write(settingsFile, servers({})),
    ],
    ['stops with the troupe', 'SHUTTING_DOWN', (stage: Stage) => void stage.troupe.stop()],
  ])('ends when the server %s', async (_how, code, happen) => {
    const { stage, made } = await asked();
    happen(stage);
    await stage.advance(1_000);
    expect(made.error).toMatchObject({ code, outcome: 'not_executed' });
  });

  it('survives a reconnect and sends the call to the new session', async () => {
    const { who, stage, made } = await asked();
    stage.sessions.of('db').fail(crash());
    await stage.advance(1_000);
    await who.says(stage, 'allow');
    expect(sent(stage)).toHaveLength(1);
    stage.sessions.of('db').calls[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('does not allow a tool that changed meanwhile', async () => {
    const { who, stage, made } = await asked();
    stage.tools.set('db', [tool('query', { description: 'Something else.' })]);
    stage.sessions.of('db').notify();
    await stage.settle();
    await stage.advance(1_000);
    await who.says(stage, 'allow');
    expect(made.error).toMatchObject({ code: 'TOOL_CHANGED', outcome: 'not_executed' });
    expect(sent(stage)).toHaveLength(0);
  });

  it("is repeated when the server's settings changed meanwhile", async () => {
    const { who, stage, made } = await asked();
    await stage.apply(servers({ db: 'another' }, { permissions: { ask: ['*'] } }));
    await stage.advance(1_000);
    await who.says(stage, 'allow');
    expect([who.questions.length, sent(stage).length, made.state]).toEqual([2, 0, 'pending']);
    await who.says(stage, 'deny');
    expect(made.error).toMatchObject(denied);
    expect(sent(stage)).toHaveLength(0);
  });

  it('can use a callback passed with the call', async () => {
    const stage = await stageOf({ settings: asking });
    const made = call(stage, 'db', { askPermission: () => 'allow' });
    await stage.settle();
    sent(stage)[0]?.answer(pong);
    await stage.settle();
    expect(made.state).toBe('done');
  });

  it('is denied with a remedy when there is no callback', async () => {
    const stage = await stageOf({ settings: asking });
    const made = call(stage, 'db');
    await stage.settle();
    expect(made.error).toMatchObject({ ...denied, retryable: true });
    expect(made.error?.message).toContain('{"server":"db","tool":"query"}');
  });

  it('names the rule that requires it and its file', async () => {
    const { made } = await refusedBy({ settings: asking });
    expect(made.error?.message).toContain(
      `the rule "mcp__db__*" in mcp.permissions.ask of ${settingsFile}:`,
    );
  });

  it.each([
    [
      'an entry',
      { settings: under({}, { tools: { permissions: { ask: ['que*'] } } }) },
      'the rule "que*" in tools.permissions.ask of mcpServers.db of /project/troupe.json',
    ],
    [
      'a project file',
      { settings: db, projectSettings: { mcp: { permissions: { deny: ['*'] } } } },
      'the rule "*" in mcp.permissions.deny of /project/.mcp.json',
    ],
    [
      'the host itself',
      { settings: db, hostSettings: { mcp: { permissions: { deny: [{ server: 'db' }] } } } },
      'the rule {"server":"db"} in mcp.permissions.deny denies it',
    ],
    [
      'no rule',
      { settings: db, permission: () => 'ask' as const },
      'the user must allow it, and no user',
    ],
    [
      'a policy',
      { settings: db, policy: { approval: { perCall: true } } },
      'the user must allow it, and no user',
    ],
  ])('reports a denial by %s', async (_what, options, words) => {
    const { made } = await refusedBy(options);
    expect(made.error).toMatchObject(denied);
    expect(made.error?.message).toContain(words);
  });

  it.each([
    ['the tool', 'allowTool', 'query', 2],
    ['the tool, but not for another tool', 'allowTool', 'drop', 3],
    ['the server', 'allowServer', 'drop', 2],
  ])('is not repeated when allowed for %s', async (_what, answer, next, questions) => {
    const who = person();
    const stage = await stageOf({ settings: asking, askPermission: who.ask });
    stage.tools.set('db', [tool('query'), tool('drop')]);
    stage.troupe.send({ type: 'server.restart', server: 'db' });
    await stage.advance(1_000);
    call(stage, 'db');
    await stage.settle();
    await who.says(stage, answer);
    await stage.settle();
    call(stage, 'db', { tool: next });
    await stage.settle();
    expect(sent(stage).length === 2 ? 2 : 3).toBe(questions);

    expect(await stage.troupe.permissions()).toHaveLength(1);
    expect(await stage.troupe.forgetPermissions({ server: 'web' })).toBe(0);
    expect(await stage.troupe.forgetPermissions({ server: 'db' })).toBe(1);
    expect(await stage.troupe.permissions()).toEqual([]);
  });

  it("is repeated when the server's settings differ", async () => {
    const { who, stage } = await asked();
    await who.says(stage, 'allowServer');
    await stage.settle();
    sent(stage)[0]?.answer(pong);
    await stage.apply(servers({ db: 'another' }, { permissions: { ask: ['*'] } }));
    await stage.advance(1_000);
    call(stage, 'db');
    await stage.settle();
    await who.says(stage, 'deny');
    expect(sent(stage)).toHaveLength(1);
  });
});
