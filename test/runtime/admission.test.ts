import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../src/domain/host/event.ts';
import type { StepKind } from '../../src/domain/plan.ts';
import { projectFile } from '../../src/testing/scripted-troupe.ts';
import { call, type Stage, servers, stageOf, thrownBy, watch } from './stage.ts';

const db = servers({ db: 'srv' });

async function tell(stage: Stage, event: HostEvent): Promise<void> {
  stage.troupe.send(event);
  await stage.settle();
}

async function writeProject(
  stage: Stage,
  content: Readonly<Record<string, unknown>>,
): Promise<void> {
  stage.files.write(projectFile, content);
  await stage.advance(300);
}

const fingerprintNow = (stage: Stage): string => stage.troupe.approvals()[0]?.fingerprint ?? '';

describe('a server from a project folder', () => {
  it('emits approval.needed after every pass until it is approved', async () => {
    const stage = await stageOf({ projectSettings: db });
    const asked: unknown[] = [];
    stage.troupe.on('approval.needed', (event) => asked.push(event));
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    expect(stage.sessions.scripts).toHaveLength(0);
    await stage.apply(servers({ other: 'another' }));
    await stage.apply(servers({}));
    const first = { server: 'db', fingerprint: fingerprintNow(stage) };
    expect(asked).toEqual([first, first]);
    await writeProject(stage, servers({ db: 'newer' }));
    const second = { server: 'db', fingerprint: fingerprintNow(stage) };
    expect(second).not.toEqual(first);
    expect(asked.slice(2)).not.toContainEqual(first);
    expect(asked.at(-1)).toEqual(second);
    const count = asked.length;
    stage.troupe.send({ type: 'approval.reject', server: 'db' });
    await stage.apply(servers({ other: 'another' }));
    expect(asked).toHaveLength(count);
  });

  it('does not start before approval, whatever demands it', async () => {
    const stage = await stageOf({
      projectSettings: servers({ db: { command: 'srv', startup: 'lazy' } }),
    });
    for (const type of ['server.start', 'server.restart', 'server.reconnect'] as const) {
      await tell(stage, { type, server: 'db' });
    }
    await tell(stage, { type: 'settings.reload' });
    await tell(stage, { type: 'system.woke' });
    const refused = [
      call(stage, 'db'),
      watch(stage.troupe.callTool('mcp__db__query')),
      watch(stage.troupe.restartAndWait('db')),
    ];
    await writeProject(stage, servers({ db: 'newer' }));
    await tell(stage, { type: 'approval.reject', server: 'db' });
    await tell(stage, { type: 'server.start', server: 'db' });
    refused.push(call(stage, 'db'));
    await stage.settle();
    expect(refused.map(({ error }) => error?.code)).toEqual([
      'PENDING_APPROVAL',
      'PENDING_APPROVAL',
      'PENDING_APPROVAL',
      'REJECTED',
    ]);
    expect(stage.sessions.scripts).toEqual([]);
  });

  it("shows what would run, with the folder's own values and unresolved references", async () => {
    const stage = await stageOf({
      projectSettings: servers({
        db: { command: 'srv', args: ['--fast'], env: { MODE: 'fast' } },
        web: { url: 'https://example.test/mcp', headers: { Authorization: 'Bearer ${HUNTER}' } },
      }),
      settings: servers({ own: 'srv' }),
    });
    const requests = stage.troupe.approvals();
    expect(requests).toMatchObject([
      {
        server: 'db',
        decision: 'pending',
        command: 'srv',
        args: ['--fast'],
        envNames: ['MODE'],
        values: [{ field: 'env.MODE', text: 'fast' }],
      },
      {
        server: 'web',
        url: 'https://example.test/mcp',
        headerNames: ['Authorization'],
        account: null,
        values: [
          {
            field: 'headers.Authorization',
            text: 'Bearer ${HUNTER}',
            from: [{ kind: 'environment', reference: '${HUNTER}' }],
          },
        ],
      },
    ]);
  });

  it("hides possible secrets from the user's own settings", async () => {
    const stage = await stageOf({
      settings: servers({
        db: {
          command: 'srv',
          env: { TOKEN: 'hunter2', URL: 'x://${U}:hunter2@y', KEY: '${KEY}', HOME: './h' },
        },
      }),
      policy: { approval: { gatedScopes: ['config'] } },
    });
    const requests = stage.troupe.approvals();
    expect(requests[0]?.values).toEqual([
      { field: 'env.TOKEN' },
      { field: 'env.URL', from: [{ kind: 'environment', reference: '${U}' }] },
      { field: 'env.KEY', text: '${KEY}', from: [{ kind: 'environment', reference: '${KEY}' }] },
      { field: 'env.HOME', text: './h' },
    ]);
    expect(JSON.stringify(requests)).not.toContain('hunter2');
  });

  it('starts once approved and stays approved through unrelated edits', async () => {
    const stage = await stageOf({ projectSettings: db });
    await tell(stage, { type: 'approval.grant', server: 'db', fingerprint: fingerprintNow(stage) });
    expect(stage.stateOf('db')).toBe('ready');
    await stage.apply(servers({ other: 'another' }));
    await writeProject(stage, servers({}));
    await writeProject(stage, db);
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.approvals()).toMatchObject([{ decision: 'granted' }]);
  });

  it('requires a new approval after an edit but not after its reversal', async () => {
    const stage = await stageOf({ projectSettings: db });
    await tell(stage, { type: 'approval.grant', server: 'db' });
    await writeProject(stage, servers({ db: 'newer' }));
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    await writeProject(stage, db);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('stays rejected without another request', async () => {
    const stage = await stageOf({ projectSettings: db });
    const asked: string[] = [];
    stage.troupe.on('approval.needed', ({ server }) => asked.push(server));
    await tell(stage, { type: 'approval.reject', server: 'db' });
    expect(stage.stateOf('db')).toBe('blocked.rejected');
    await stage.apply(servers({ other: 'another' }));
    expect(stage.stateOf('db')).toBe('blocked.rejected');
    expect(asked).toEqual([]);
    await tell(stage, { type: 'approval.grant', server: 'db' });
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('stops immediately when its approval is revoked', async () => {
    const stage = await stageOf({ projectSettings: db });
    await tell(stage, { type: 'approval.grant', server: 'db' });
    const inFlight = call(stage, 'db');
    await stage.settle();
    stage.obedient = new Set();
    stage.troupe.send({ type: 'approval.revoke', server: 'db' });
    expect(stage.sessions.of('db').commands.at(-1)).toBe('session.close');
    expect(stage.troupe.tools()).toEqual([]);
    await stage.settle();
    expect(inFlight.error?.outcome).toBe('unknown');
    stage.sessions.of('db').closed();
    await stage.settle();
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    const refused = call(stage, 'db');
    await stage.settle();
    expect(refused.error?.code).toBe('PENDING_APPROVAL');
  });

  it('ignores a decision about another server', async () => {
    const stage = await stageOf({ projectSettings: servers({ db: 'srv', web: 'srv' }) });
    const [first] = stage.troupe.approvals();
    const refused = thrownBy(() =>
      stage.troupe.send({
        type: 'approval.grant',
        server: 'web',
        fingerprint: first?.fingerprint ?? '',
      }),
    );
    expect(refused).toMatchObject({ code: 'PENDING_APPROVAL' });
    await stage.settle();
    expect(stage.stateOf('web')).toBe('blocked.pendingApproval');
  });

  it('starts only what was shown, not edits made before the approval', async () => {
    const stage = await stageOf({ projectSettings: db });
    const fingerprint = fingerprintNow(stage);
    const shown = stage.troupe.status('db')?.generation;
    stage.files.write(projectFile, servers({ db: 'evil' }));
    await tell(stage, { type: 'approval.grant', server: 'db', fingerprint });
    expect(stage.sessions.scripts.map(({ input }) => input.generation)).toEqual([shown]);
    await stage.advance(300);
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    expect(stage.sessions.scripts).toHaveLength(1);
    const late = thrownBy(() =>
      stage.troupe.send({ type: 'approval.grant', server: 'db', fingerprint }),
    );
    expect(late).toMatchObject({ code: 'PENDING_APPROVAL' });
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
  });

  it('keeps its last valid settings while its file is half written', async () => {
    const stage = await stageOf({ projectSettings: db });
    const fingerprint = fingerprintNow(stage);
    stage.files.write(projectFile, '{ "mcpServers": { "db": { "command": "ev');
    await stage.advance(300);
    await tell(stage, { type: 'approval.grant', server: 'db', fingerprint });
    expect(stage.stateOf('db')).toBe('ready');
    await writeProject(stage, servers({ db: 'evil' }));
    expect(stage.stateOf('db')).toBe('blocked.pendingApproval');
    expect(stage.sessions.scripts).toHaveLength(1);
  });

  it('stays blocked in an untrusted folder despite its approval', async () => {
    const stage = await stageOf({
      projectSettings: db,
      settings: servers({ own: 'mine' }),
      trusted: false,
    });
    expect(stage.stateOf('db')).toBe('blocked.untrusted');
    expect(stage.stateOf('own')).toBe('ready');
    await tell(stage, { type: 'approval.grant', server: 'db' });
    expect(stage.stateOf('db')).toBe('blocked.untrusted');
    await tell(stage, { type: 'trust.changed', trusted: true });
    expect(stage.stateOf('db')).toBe('ready');
    await tell(stage, { type: 'trust.changed', trusted: false });
    expect(stage.stateOf('db')).toBe('blocked.untrusted');
    expect(stage.sessions.of('db').state).toBe('over');
  });

  it('cannot replace a user server of the same name', async () => {
    const stage = await stageOf({ settings: db, projectSettings: servers({ db: 'evil' }) });
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.troupe.approvals()).toEqual([]);
    expect(stage.troupe.snapshot().troupe.problems).toHaveLength(1);
  });
});

describe('allow and exclude lists', () => {
  const three = servers({ a: 'srv', b: 'srv', c: 'srv' });
  const readyOnes = (stage: Stage): string =>
    stage.troupe
      .snapshot()
      .servers.filter(({ state }) => state === 'ready')
      .map(({ name }) => name)
      .join();

  it('cannot extend the list given at launch', async () => {
    const stage = await stageOf({ settings: three, allow: ['a', 'b'] });
    expect(readyOnes(stage)).toBe('a,b');
    await tell(stage, { type: 'allow.changed', allowed: ['b', 'c'] });
    expect(readyOnes(stage)).toBe('b');
    expect(stage.stateOf('c')).toBe('blocked.notAllowed');
    await tell(stage, { type: 'allow.changed', allowed: null });
    expect(readyOnes(stage)).toBe('a,b');
    await stage.apply({ ...three, mcp: { allowed: ['a', 'b', 'c'] } });
    expect(readyOnes(stage)).toBe('a,b');
  });

  it('allow no server when empty and every server when absent', async () => {
    const stage = await stageOf({ settings: { ...three, mcp: { allowed: [] } } });
    expect(readyOnes(stage)).toBe('');
    await stage.apply(three);
    expect(readyOnes(stage)).toBe('a,b,c');
    await tell(stage, { type: 'allow.changed', allowed: [] });
    expect(readyOnes(stage)).toBe('');
  });

  it('apply before servers added by the same edit connect', async () => {
    const stage = await stageOf({ settings: servers({ a: 'srv' }) });
    await stage.apply({ ...three, mcp: { excluded: ['b'], allowed: ['a', 'b'] } });
    expect(stage.stateOf('b')).toBe('blocked.excluded');
    expect(stage.stateOf('c')).toBe('blocked.notAllowed');
    await stage.apply({
      ...servers({ a: 'srv', b: 'newer', c: 'newer' }),
      mcp: { allowed: ['a'] },
    });
    expect(stage.sessions.scripts.map(({ input }) => input.server)).toEqual(['a']);
  });

  it('suggest only the step for the current rule', async () => {
    const lists = { allowed: [] };
    const stage = await stageOf({ settings: servers({ db: 'srv' }, lists) });
    const told: (string | undefined)[] = [];
    stage.troupe.on('status.changed', ({ status }) => told.push(status.action));
    await stage.apply(servers({ db: 'srv' }, { excluded: [{ command: 'srv' }] }));
    expect(told).toEqual([expect.stringContaining('remove the matching rule from')]);
  });

  it('keep the sessions of unaffected servers', async () => {
    const stage = await stageOf({ settings: three });
    const before = ['a', 'c'].map((name) => stage.sessions.of(name));
    await stage.apply({ ...three, mcp: { excluded: ['b'] } });
    expect(stage.stateOf('b')).toBe('blocked.excluded');
    await stage.apply(three);
    expect(readyOnes(stage)).toBe('a,b,c');
    for (const script of before) {
      expect(script.state).toBe('open');
      expect(script.commands).toEqual(['session.open', 'session.list']);
    }
  });
});

describe('plan()', () => {
  const steps = (plan: readonly { readonly server: string; readonly step: StepKind }[]): string =>
    plan
      .filter(({ step }) => step !== 'keep')
      .map(({ server, step }) => `${server} ${step}`)
      .join();

  it.each([
    ['an added server', servers({ db: 'srv', web: 'srv', new: 'srv' })],
    ['a removed server', servers({ db: 'srv' })],
    ['a changed server', servers({ db: 'newer', web: 'srv' })],
    ['changed limits', servers({ db: { command: 'srv', timeoutMs: 5 }, web: 'srv' })],
    ['an excluded server', servers({ db: 'srv', web: 'srv' }, { excluded: ['web'] })],
    ['an unusable entry', servers({ db: 'srv', web: { url: 'nonsense' } })],
    ['no change', servers({ web: 'srv', db: 'srv' })],
    ['a file that cannot be read', '{ "mcpServers": {'],
  ])('predicts the steps of the next pass: %s', async (_, next) => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    const passes: string[] = [];
    stage.troupe.on('reconciled', ({ plan }) => passes.push(steps(plan)));
    stage.files.isWatched = false;
    stage.files.write('/project/troupe.json', next);
    const foretold = steps(await stage.troupe.plan());
    expect(passes).toEqual([]);
    expect(stage.sessions.scripts).toHaveLength(2);
    stage.troupe.send({ type: 'settings.reload' });
    await stage.settle();
    expect(passes[0] ?? '').toBe(foretold);
    // What was applied is not planned again.
    expect(steps(await stage.troupe.plan())).toBe('');
  });
});

describe("the user's commands", () => {
  it('keep a server stopped across passes but not in a new generation', async () => {
    const stage = await stageOf({ settings: db });
    await tell(stage, { type: 'server.stop', server: 'db' });
    expect(stage.stateOf('db')).toBe('stopped');
    await tell(stage, { type: 'system.woke' });
    await stage.apply(servers({ db: { command: 'srv', timeoutMs: 5_000 }, other: 'srv' }));
    await stage.apply(servers({ db: 'srv' }, { excluded: ['db'] }));
    await stage.apply(db);
    expect(stage.stateOf('db')).toBe('stopped');
    await stage.apply(servers({}));
    await stage.apply(db);
    expect(stage.stateOf('db')).toBe('stopped');
    await stage.apply(servers({ db: 'newer' }));
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('undo a stop permanently with a start', async () => {
    const stage = await stageOf({ settings: db });
    await tell(stage, { type: 'server.stop', server: 'db' });
    await tell(stage, { type: 'server.start', server: 'db' });
    expect(stage.stateOf('db')).toBe('ready');
    await stage.apply(servers({}));
    await stage.apply(db);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('do not bypass admission with a start', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }, { excluded: ['db'] }) });
    for (const type of ['server.start', 'server.restart', 'server.reconnect'] as const) {
      await tell(stage, { type, server: 'db' });
    }
    expect(stage.stateOf('db')).toBe('blocked.excluded');
    expect(stage.sessions.scripts).toHaveLength(0);
    await stage.apply(servers({ db: 'srv' }));
    expect(stage.sessions.scripts).toHaveLength(1);
    // Once it is admitted, each of them opens a session.
    await tell(stage, { type: 'server.stop', server: 'db' });
    for (const type of ['server.start', 'server.restart', 'server.reconnect'] as const) {
      await tell(stage, { type, server: 'db' });
    }
    expect(stage.sessions.scripts).toHaveLength(4);
    expect(stage.stateOf('db')).toBe('ready');
  });

  it('do not start a stopped server with a reconnect', async () => {
    const stage = await stageOf({ settings: db });
    await tell(stage, { type: 'server.stop', server: 'db' });
    await tell(stage, { type: 'server.reconnect', server: 'db' });
    expect(stage.stateOf('db')).toBe('stopped');
  });
});

describe('an enforced budget', () => {
  it('gives the slot of a server that is stopped again while it stops to the next', async () => {
    const policy = { admission: { maxServers: 1, budget: 'enforce' } };
    const stage = await stageOf({ settings: servers({ a: 'a', b: 'b' }, { policy }) });
    let stops = 0;
    stage.troupe.on('status.changed', ({ status: { name, state } }) => {
      if (name !== 'a' || state !== 'stopped') return;
      stops += 1;
      stage.troupe.send({ type: 'server.stop', server: 'a' });
    });
    await tell(stage, { type: 'server.stop', server: 'a' });
    expect([stops, stage.stateOf('a'), stage.stateOf('b')]).toEqual([1, 'stopped', 'ready']);
    expect(stage.troupe.snapshot().troupe.budget).toMatchObject({ taken: 1, refused: [] });
  });

  it('is not exceeded by a server that ends while another gets its settings', async () => {
    const mcp = { policy: { admission: { maxServers: 1, budget: 'enforce' } } };
    const stage = await stageOf({ settings: servers({ x: 'x', a: 'a', b: 'b' }, mcp) });
    expect(stage.stateOf('a')).toBe('blocked.overBudget');
    const open = new Set(['x']);
    let most = 0;
    const obey = stage.sessions.onCommand;
    stage.sessions.onCommand = (script, command) => {
      if (command.type === 'session.open') open.add(script.input.server);
      if (command.type === 'session.close') open.delete(script.input.server);
      most = Math.max(most, open.size);
      obey?.(script, command);
    };
    await stage.apply(servers({ a: { command: 'a', description: 'told' }, b: 'b2' }, mcp));
    expect(most).toBe(1);
    expect([stage.stateOf('a'), stage.stateOf('b')]).toEqual(['ready', 'blocked.overBudget']);
  });
});
