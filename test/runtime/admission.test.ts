import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../src/domain/host/event.ts';
import type { StepKind } from '../../src/domain/plan.ts';
import { projectFile } from '../../src/testing/scripted-troupe.ts';
import { call, type Stage, servers, stage, thrownBy, watch } from './stage.ts';

const db = servers({ db: 'srv' });

async function tell(there: Stage, event: HostEvent): Promise<void> {
  there.troupe.send(event);
  await there.settle();
}

async function writeProject(
  there: Stage,
  content: Readonly<Record<string, unknown>>,
): Promise<void> {
  there.files.write(projectFile, content);
  await there.advance(300);
}

const fingerprintNow = (there: Stage): string => there.troupe.approvals()[0]?.fingerprint ?? '';

describe('a server from a project folder', () => {
  it('emits approval.needed after every pass until it is approved', async () => {
    const there = await stage({ projectSettings: db });
    const asked: unknown[] = [];
    there.troupe.on('approval.needed', (event) => asked.push(event));
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    expect(there.sessions.scripts).toHaveLength(0);
    there.troupe.send({ type: 'system.woke' });
    await there.apply(servers({ other: 'another' }));
    const first = { server: 'db', fingerprint: fingerprintNow(there) };
    expect(asked).toEqual([first, first]);
    await writeProject(there, servers({ db: 'newer' }));
    const second = { server: 'db', fingerprint: fingerprintNow(there) };
    expect(second).not.toEqual(first);
    expect(asked.slice(2)).not.toContainEqual(first);
    expect(asked.at(-1)).toEqual(second);
    const count = asked.length;
    there.troupe.send({ type: 'approval.reject', server: 'db' });
    there.troupe.send({ type: 'system.woke' });
    expect(asked).toHaveLength(count);
  });

  it('does not start before approval, whatever demands it', async () => {
    const there = await stage({
      projectSettings: servers({ db: { command: 'srv', startup: 'lazy' } }),
    });
    for (const type of ['server.start', 'server.restart', 'server.reconnect'] as const) {
      await tell(there, { type, server: 'db' });
    }
    await tell(there, { type: 'settings.reload' });
    await tell(there, { type: 'system.woke' });
    const refused = [
      call(there, 'db'),
      watch(there.troupe.callTool('mcp__db__query')),
      watch(there.troupe.restartAndWait('db')),
    ];
    await writeProject(there, servers({ db: 'newer' }));
    await tell(there, { type: 'approval.reject', server: 'db' });
    await tell(there, { type: 'server.start', server: 'db' });
    refused.push(call(there, 'db'));
    await there.settle();
    expect(refused.map(({ error }) => error?.code)).toEqual([
      'PENDING_APPROVAL',
      'PENDING_APPROVAL',
      'PENDING_APPROVAL',
      'REJECTED',
    ]);
    expect(there.sessions.scripts).toEqual([]);
  });

  it("shows what would run, with the folder's own values and unresolved references", async () => {
    const there = await stage({
      projectSettings: servers({
        db: { command: 'srv', args: ['--fast'], env: { MODE: 'fast' } },
        web: { url: 'https://example.test/mcp', headers: { Authorization: 'Bearer ${HUNTER}' } },
      }),
      settings: servers({ own: 'srv' }),
    });
    const requests = there.troupe.approvals();
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
    const there = await stage({
      settings: servers({
        db: {
          command: 'srv',
          env: { TOKEN: 'hunter2', URL: 'x://${U}:hunter2@y', KEY: '${KEY}', HOME: './h' },
        },
      }),
      policy: { approval: { gatedScopes: ['config'] } },
    });
    const requests = there.troupe.approvals();
    expect(requests[0]?.values).toEqual([
      { field: 'env.TOKEN' },
      { field: 'env.URL', from: [{ kind: 'environment', reference: '${U}' }] },
      { field: 'env.KEY', text: '${KEY}', from: [{ kind: 'environment', reference: '${KEY}' }] },
      { field: 'env.HOME', text: './h' },
    ]);
    expect(JSON.stringify(requests)).not.toContain('hunter2');
  });

  it('starts once approved and stays approved through unrelated edits', async () => {
    const there = await stage({ projectSettings: db });
    await tell(there, { type: 'approval.grant', server: 'db', fingerprint: fingerprintNow(there) });
    expect(there.stateOf('db')).toBe('ready');
    await there.apply(servers({ other: 'another' }));
    await writeProject(there, servers({}));
    await writeProject(there, db);
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.approvals()).toMatchObject([{ decision: 'granted' }]);
  });

  it('requires a new approval after an edit but not after its reversal', async () => {
    const there = await stage({ projectSettings: db });
    await tell(there, { type: 'approval.grant', server: 'db' });
    await writeProject(there, servers({ db: 'newer' }));
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    await writeProject(there, db);
    expect(there.stateOf('db')).toBe('ready');
  });

  it('stays rejected without another request', async () => {
    const there = await stage({ projectSettings: db });
    const asked: string[] = [];
    there.troupe.on('approval.needed', ({ server }) => asked.push(server));
    await tell(there, { type: 'approval.reject', server: 'db' });
    expect(there.stateOf('db')).toBe('blocked.rejected');
    await there.apply(servers({ other: 'another' }));
    expect(there.stateOf('db')).toBe('blocked.rejected');
    expect(asked).toEqual([]);
    await tell(there, { type: 'approval.grant', server: 'db' });
    expect(there.stateOf('db')).toBe('ready');
  });

  it('stops immediately when its approval is revoked', async () => {
    const there = await stage({ projectSettings: db });
    await tell(there, { type: 'approval.grant', server: 'db' });
    const inFlight = call(there, 'db');
    await there.settle();
    there.obedient = new Set();
    there.troupe.send({ type: 'approval.revoke', server: 'db' });
    expect(there.sessions.of('db').commands.at(-1)).toBe('session.close');
    expect(there.troupe.tools()).toEqual([]);
    await there.settle();
    expect(inFlight.error?.outcome).toBe('unknown');
    there.sessions.of('db').closed();
    await there.settle();
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    const refused = call(there, 'db');
    await there.settle();
    expect(refused.error?.code).toBe('PENDING_APPROVAL');
  });

  it('ignores a decision about another server', async () => {
    const there = await stage({ projectSettings: servers({ db: 'srv', web: 'srv' }) });
    const [first] = there.troupe.approvals();
    const refused = thrownBy(() =>
      there.troupe.send({
        type: 'approval.grant',
        server: 'web',
        fingerprint: first?.fingerprint ?? '',
      }),
    );
    expect(refused).toMatchObject({ code: 'PENDING_APPROVAL' });
    await there.settle();
    expect(there.stateOf('web')).toBe('blocked.pendingApproval');
  });

  it('starts only what was shown, not edits made before the approval', async () => {
    const there = await stage({ projectSettings: db });
    const fingerprint = fingerprintNow(there);
    const shown = there.troupe.status('db')?.generation;
    there.files.write(projectFile, servers({ db: 'evil' }));
    await tell(there, { type: 'approval.grant', server: 'db', fingerprint });
    expect(there.sessions.scripts.map(({ input }) => input.generation)).toEqual([shown]);
    await there.advance(300);
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    expect(there.sessions.scripts).toHaveLength(1);
    const late = thrownBy(() =>
      there.troupe.send({ type: 'approval.grant', server: 'db', fingerprint }),
    );
    expect(late).toMatchObject({ code: 'PENDING_APPROVAL' });
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
  });

  it('keeps its last valid settings while its file is half written', async () => {
    const there = await stage({ projectSettings: db });
    const fingerprint = fingerprintNow(there);
    there.files.write(projectFile, '{ "mcpServers": { "db": { "command": "ev');
    await there.advance(300);
    await tell(there, { type: 'approval.grant', server: 'db', fingerprint });
    expect(there.stateOf('db')).toBe('ready');
    await writeProject(there, servers({ db: 'evil' }));
    expect(there.stateOf('db')).toBe('blocked.pendingApproval');
    expect(there.sessions.scripts).toHaveLength(1);
  });

  it('stays blocked in an untrusted folder despite its approval', async () => {
    const there = await stage({
      projectSettings: db,
      settings: servers({ own: 'mine' }),
      trusted: false,
    });
    expect(there.stateOf('db')).toBe('blocked.untrusted');
    expect(there.stateOf('own')).toBe('ready');
    await tell(there, { type: 'approval.grant', server: 'db' });
    expect(there.stateOf('db')).toBe('blocked.untrusted');
    await tell(there, { type: 'trust.changed', trusted: true });
    expect(there.stateOf('db')).toBe('ready');
    await tell(there, { type: 'trust.changed', trusted: false });
    expect(there.stateOf('db')).toBe('blocked.untrusted');
    expect(there.sessions.of('db').state).toBe('over');
  });

  it('cannot replace a user server of the same name', async () => {
    const there = await stage({ settings: db, projectSettings: servers({ db: 'evil' }) });
    expect(there.stateOf('db')).toBe('ready');
    expect(there.troupe.approvals()).toEqual([]);
    expect(there.troupe.snapshot().troupe.problems).toHaveLength(1);
  });
});

describe('allow and exclude lists', () => {
  const three = servers({ a: 'srv', b: 'srv', c: 'srv' });
  const readyOnes = (there: Stage): string =>
    there.troupe
      .snapshot()
      .servers.filter(({ state }) => state === 'ready')
      .map(({ name }) => name)
      .join();

  it('cannot extend the list given at launch', async () => {
    const there = await stage({ settings: three, allow: ['a', 'b'] });
    expect(readyOnes(there)).toBe('a,b');
    await tell(there, { type: 'allow.changed', allowed: ['b', 'c'] });
    expect(readyOnes(there)).toBe('b');
    expect(there.stateOf('c')).toBe('blocked.notAllowed');
    await tell(there, { type: 'allow.changed', allowed: null });
    expect(readyOnes(there)).toBe('a,b');
    await there.apply({ ...three, mcp: { allowed: ['a', 'b', 'c'] } });
    expect(readyOnes(there)).toBe('a,b');
  });

  it('allow no server when empty and every server when absent', async () => {
    const there = await stage({ settings: { ...three, mcp: { allowed: [] } } });
    expect(readyOnes(there)).toBe('');
    await there.apply(three);
    expect(readyOnes(there)).toBe('a,b,c');
    await tell(there, { type: 'allow.changed', allowed: [] });
    expect(readyOnes(there)).toBe('');
  });

  it('apply before servers added by the same edit connect', async () => {
    const there = await stage({ settings: servers({ a: 'srv' }) });
    await there.apply({ ...three, mcp: { excluded: ['b'], allowed: ['a', 'b'] } });
    expect(there.stateOf('b')).toBe('blocked.excluded');
    expect(there.stateOf('c')).toBe('blocked.notAllowed');
    await there.apply({
      ...servers({ a: 'srv', b: 'newer', c: 'newer' }),
      mcp: { allowed: ['a'] },
    });
    expect(there.sessions.scripts.map(({ input }) => input.server)).toEqual(['a']);
  });

  it('suggest only the step for the current rule', async () => {
    const lists = { allowed: [] };
    const there = await stage({ settings: servers({ db: 'srv' }, lists) });
    const told: (string | undefined)[] = [];
    there.troupe.on('status.changed', ({ status }) => told.push(status.action));
    await there.apply(servers({ db: 'srv' }, { excluded: [{ command: 'srv' }] }));
    expect(told).toEqual([expect.stringContaining('remove the matching rule from')]);
  });

  it('keep the sessions of unaffected servers', async () => {
    const there = await stage({ settings: three });
    const before = ['a', 'c'].map((name) => there.sessions.of(name));
    await there.apply({ ...three, mcp: { excluded: ['b'] } });
    expect(there.stateOf('b')).toBe('blocked.excluded');
    await there.apply(three);
    expect(readyOnes(there)).toBe('a,b,c');
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
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    const passes: string[] = [];
    there.troupe.on('reconciled', ({ plan }) => passes.push(steps(plan)));
    there.files.isWatched = false;
    there.files.write('/project/troupe.json', next);
    const foretold = steps(await there.troupe.plan());
    expect(passes).toEqual([]);
    expect(there.sessions.scripts).toHaveLength(2);
    there.troupe.send({ type: 'settings.reload' });
    await there.settle();
    expect(passes[0] ?? '').toBe(foretold);
    // What was applied is not planned again.
    expect(steps(await there.troupe.plan())).toBe('');
  });
});

describe("the user's commands", () => {
  it('keep a server stopped across passes but not in a new generation', async () => {
    const there = await stage({ settings: db });
    await tell(there, { type: 'server.stop', server: 'db' });
    expect(there.stateOf('db')).toBe('stopped');
    await tell(there, { type: 'system.woke' });
    await there.apply(servers({ db: { command: 'srv', timeoutMs: 5_000 }, other: 'srv' }));
    await there.apply(servers({ db: 'srv' }, { excluded: ['db'] }));
    await there.apply(db);
    expect(there.stateOf('db')).toBe('stopped');
    await there.apply(servers({}));
    await there.apply(db);
    expect(there.stateOf('db')).toBe('stopped');
    await there.apply(servers({ db: 'newer' }));
    expect(there.stateOf('db')).toBe('ready');
  });

  it('undo a stop permanently with a start', async () => {
    const there = await stage({ settings: db });
    await tell(there, { type: 'server.stop', server: 'db' });
    await tell(there, { type: 'server.start', server: 'db' });
    expect(there.stateOf('db')).toBe('ready');
    await there.apply(servers({}));
    await there.apply(db);
    expect(there.stateOf('db')).toBe('ready');
  });

  it('do not bypass admission with a start', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }, { excluded: ['db'] }) });
    for (const type of ['server.start', 'server.restart', 'server.reconnect'] as const) {
      await tell(there, { type, server: 'db' });
    }
    expect(there.stateOf('db')).toBe('blocked.excluded');
    expect(there.sessions.scripts).toHaveLength(0);
  });

  it('do not start a stopped server with a reconnect', async () => {
    const there = await stage({ settings: db });
    await tell(there, { type: 'server.stop', server: 'db' });
    await tell(there, { type: 'server.reconnect', server: 'db' });
    expect(there.stateOf('db')).toBe('stopped');
  });
});
