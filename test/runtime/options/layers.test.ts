import { describe, expect, it } from 'vitest';
import type { CallerCode } from '../../../src/domain/caller-code.ts';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import type { HostRule } from '../../../src/domain/host/rule.ts';
import type { AdmissionRule } from '../../../src/inspection.ts';
import type { ScriptedTroupeOptions } from '../../../src/testing/scripted-troupe.ts';
import { crash, remote, type Stage, servers, stageOf, watch } from '../stage.ts';

const db = servers({ db: 'srv' });

async function tell(stage: Stage, event: HostEvent): Promise<void> {
  stage.troupe.send(event);
  await stage.settle();
}

async function refusedCall(stage: Stage, tool: string) {
  const asked = watch(stage.troupe.callTool(tool, {}));
  await stage.settle();
  await asked.promise;
  expect(asked.error).toBeDefined();
  return asked.error;
}

describe('each admission reason', () => {
  type Row = readonly [
    state: string,
    code: CallerCode,
    rule: AdmissionRule,
    step: string,
    given: ScriptedTroupeOptions & { readonly event?: HostEvent },
  ];
  const managed = servers({ ours: 'ours' });
  const leaveOut: HostRule = () => ({ leaveOut: 'it has its own' });
  const rows: readonly Row[] = [
    [
      'disabled',
      'DISABLED',
      'enabled',
      'troupe enable db',
      { settings: servers({ db: { command: 'srv', enabled: false } }) },
    ],
    [
      'disabled',
      'DISABLED',
      'mcp.disabledServers',
      'troupe enable db',
      { settings: servers({ db: 'srv' }, { disabledServers: ['db'] }) },
    ],
    [
      'disabled',
      'DISABLED',
      'mcp.disabledServers',
      "remove db from mcp.disabledServers in the host's settings",
      { settings: db, hostSettings: { mcp: { disabledServers: ['db'] } } },
    ],
    [
      'blocked.untrusted',
      'UNTRUSTED',
      'trust',
      'start with --trust to trust the folder of /project/.mcp.json:3',
      { projectSettings: db, trusted: false },
    ],
    [
      'blocked.excluded',
      'EXCLUDED',
      'mcp.excluded',
      'remove db from mcp.excluded in /project/troupe.json:8',
      { settings: servers({ db: 'srv' }, { excluded: ['db'] }) },
    ],
    [
      'blocked.excluded',
      'EXCLUDED',
      'mcp.excluded',
      'run something else, or remove the matching rule from mcp.excluded (/project/troupe.json:8)',
      { settings: servers({ db: 'srv' }, { excluded: [{ command: 'srv' }] }) },
    ],
    [
      'blocked.excluded',
      'EXCLUDED',
      'mcp.excluded',
      'ask the administrator of /managed/managed.json:8 to remove db from mcp.excluded',
      { managedSettings: servers({ db: 'srv' }, { excluded: ['db'] }) },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'mcp.allowed',
      "add db to mcp.allowed of the host's settings",
      { settings: db, hostSettings: { mcp: { allowed: [] } } },
    ],
    [
      'blocked.excluded',
      'EXCLUDED',
      'mcp.projectServers',
      'remove mcp.projectServers (/project/troupe.json:4), or add the server to settings of your own',
      { settings: servers({}, { projectServers: false }), projectSettings: db },
    ],
    [
      'blocked.excluded',
      'EXCLUDED',
      'hostRule',
      'use what the host has instead; it leaves this server out: it has its own',
      { settings: db, rules: [leaveOut] },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'mcp.allowed',
      'add db to mcp.allowed in /project/troupe.json:8',
      { settings: servers({ db: 'srv' }, { allowed: [] }) },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'mcp.allowed',
      'add its command or address to mcp.allowed (/project/troupe.json:8)',
      { settings: servers({ db: 'srv' }, { allowed: ['db', { command: 'other' }] }) },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'launchBound',
      'start again with db in the list given at launch (--allow, or the option "allow" of the host)',
      { settings: db, allow: [] },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'hostAllowed',
      "add db to the host's list (allow.changed)",
      { settings: db, event: { type: 'allow.changed', allowed: [] } },
    ],
    [
      'blocked.notAllowed',
      'NOT_ALLOWED',
      'managed',
      'ask the administrator of /managed/managed.json, which allows no other servers',
      { settings: db, managedSettings: managed },
    ],
    [
      'blocked.invalidConfig',
      'INVALID_CONFIG',
      'invalid',
      'fix /project/troupe.json:4',
      { settings: servers({ db: { command: 7 } }) },
    ],
    [
      'blocked.pendingApproval',
      'PENDING_APPROVAL',
      'approval',
      'troupe approve db',
      { projectSettings: db },
    ],
    [
      'blocked.rejected',
      'REJECTED',
      'approval',
      'troupe approve db',
      { projectSettings: db, event: { type: 'approval.reject', server: 'db' } },
    ],
    [
      'blocked.overBudget',
      'OVER_BUDGET',
      'budget',
      'stop or disable another server, or raise admission.maxServers in mcp.policy of /project/troupe.json',
      {
        settings: servers(
          { db: 'srv' },
          { policy: { admission: { maxServers: 0, budget: 'enforce' } } },
        ),
      },
    ],
  ];

  it.each(rows)(
    'is reported as %s with %s, rule %s and next step "%s"',
    async (state, code, rule, step, { settings, event, ...given }) => {
      const text = settings === undefined ? {} : { settings: JSON.stringify(settings, null, 2) };
      const stage = await stageOf({ ...given, ...text });
      if (event !== undefined) await tell(stage, event);
      expect(stage.stateOf('db')).toBe(state);
      expect(stage.troupe.status('db')?.action).toBe(step);
      const explained = stage.troupe.explain('db');
      expect(explained).toMatchObject({ admission: { rule }, nextStep: step });
      const error = await refusedCall(stage, 'mcp__db__query');
      expect(error).toMatchObject({ code, server: 'db', outcome: 'not_executed' });
      expect(error?.message.endsWith(`Next: ${step}`)).toBe(true);
      const ofDb = stage.sessions.scripts.filter(({ input }) => input.server === 'db');
      expect(ofDb.every((script) => script.state === 'over')).toBe(true);
    },
  );

  it('is updated when its list changes or moves to another line', async () => {
    const text = (mcp: object) => JSON.stringify(servers({ db: 'srv' }, { ...mcp }), null, 2);
    const stage = await stageOf({ settings: text({ allowed: [] }) });
    const step = () => stage.troupe.status('db')?.action;
    expect(step()).toBe('add db to mcp.allowed in /project/troupe.json:8');
    await stage.apply(text({ slots: { local: 3 }, allowed: [] }));
    expect(step()).toBe('add db to mcp.allowed in /project/troupe.json:11');
    await tell(stage, { type: 'allow.changed', allowed: [] });
    expect(step()).toBe("add db to the host's list (allow.changed)");
    await tell(stage, { type: 'allow.changed', allowed: null });
    expect(step()).toBe('add db to mcp.allowed in /project/troupe.json:11');
  });

  it("is explained with the events that can still change the server's state", async () => {
    const full = { policy: { admission: { maxServers: 1, budget: 'enforce' } } };
    const stage = await stageOf({ settings: servers({ a: 'a', db: 'srv' }, full) });
    const events = (name: string) =>
      stage.troupe
        .explain(name)
        ?.movedBy.flatMap(({ event, sentBy }) => (sentBy === 'host' ? event : []));
    expect(events('db')).toContain('settings.changed');
    expect(events('db')).not.toContain('allow.changed');
    const barred = await stageOf({ settings: db, rules: [leaveOut] });
    const moving = barred.troupe.explain('db')?.movedBy.map(({ event }) => event);
    expect(moving).not.toContain('settings.changed');
  });
});

describe('a server under an unsupported key', () => {
  it('is reported as a problem and to callers', async () => {
    const stage = await stageOf({ settings: db, projectSettings: servers({ alias: 'srv' }) });
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([{ server: 'alias' }]);
    const error = await refusedCall(stage, 'mcp__alias__query');
    expect(error).toMatchObject({ code: 'UNAVAILABLE', server: 'alias' });
    expect(error?.message).toContain('the same as "db" (/project/troupe.json');
  });
});

describe('servers added one by one', () => {
  it('override files until they are removed', async () => {
    const stage = await stageOf({ settings: db, hostSettings: servers({ web: remote }) });
    stage.troupe.addServer('db', { command: 'mine' });
    stage.troupe.addServer('extra', { command: 'extra' });
    await stage.settle();
    expect(stage.troupe.status('db')?.source).toEqual({ key: 'mcpServers.db', scope: 'api' });
    expect(stage.stateOf('extra')).toBe('ready');
    // Neither files nor the host's settings take them away.
    await tell(stage, { type: 'settings.changed', settings: {} });
    await stage.apply(servers({ db: 'newer' }));
    expect(stage.stateOf('web')).toBe('unknown');
    expect(stage.stateOf('extra')).toBe('ready');
    stage.troupe.removeServer('db');
    stage.troupe.removeServer('extra');
    // Files are not read again at once for everything that a host says.
    await stage.advance(1_000);
    expect(stage.troupe.status('db')?.source).toMatchObject({ file: '/project/troupe.json' });
    expect(stage.stateOf('extra')).toBe('unknown');
    expect(await refusedCall(stage, 'mcp__extra__query')).toMatchObject({ code: 'SERVER_REMOVED' });
  });

  it('keep the sessions of all other servers', async () => {
    const stage = await stageOf({ settings: db });
    stage.troupe.addServer('extra', { command: 'extra' });
    await stage.settle();
    stage.troupe.removeServer('extra');
    await stage.settle();
    expect(stage.sessions.of('db').commands).toEqual(['session.open', 'session.list']);
  });

  it('are copied, admitted and blocked like any other', async () => {
    const stage = await stageOf({ settings: servers({}, { excluded: ['out'] }) });
    const entry = { command: 'mine' };
    stage.troupe.addServer('db', entry);
    stage.troupe.addServer('out', entry);
    stage.troupe.addServer('bad', { comand: 'x' });
    entry.command = 'other';
    await stage.settle();
    expect(stage.stateOf('db')).toBe('ready');
    expect(stage.stateOf('out')).toBe('blocked.excluded');
    expect(stage.stateOf('bad')).toBe('blocked.invalidConfig');
    const [before] = stage.sessions.scripts;
    await tell(stage, { type: 'settings.reload' });
    expect(stage.sessions.scripts).toEqual([before]);
  });

  const round: Record<string, unknown> = {};
  round['self'] = round;
  it.each<[name: unknown, entry: unknown]>([
    ['', {}],
    [7, {}],
    ['a b', {}],
    ['db', null],
    ['db', []],
    ['db', 'node'],
    ['db', round],
  ])('require a name and plain data: %s', async (name, entry) => {
    const stage = await stageOf();
    const add = () => stage.troupe.addServer(name as string, entry as Record<string, unknown>);
    expect(add).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENTS' }));
  });

  it('can be removed only if they were added', async () => {
    const stage = await stageOf({ settings: db });
    expect(() => stage.troupe.removeServer('db')).toThrow(
      expect.objectContaining({ code: 'SERVER_UNKNOWN' }),
    );
  });
});

describe('a bare troupe', () => {
  it('ignores the folder and plugins, including their lists', async () => {
    const stage = await stageOf({
      bare: true,
      settings: db,
      projectSettings: servers({ theirs: 'x' }, { excluded: ['db'] }),
      plugins: [{ plugin: 'tools', settings: servers({ lint: 'lint' }) }],
    });
    const plugins = [{ plugin: 'more', settings: servers({ web: 'web' }) }];
    await tell(stage, { type: 'plugins.changed', plugins });
    expect(stage.troupe.snapshot().servers.map(({ name }) => name)).toEqual(['db']);
    expect(stage.stateOf('db')).toBe('ready');
  });
});

describe('managed settings', () => {
  it('block all servers while they cannot be read', async () => {
    const stage = await stageOf({ settings: db, managedSettings: '{ "mcpServers": ' });
    expect(stage.stateOf('db')).toBe('blocked.notAllowed');
    expect(stage.troupe.snapshot().troupe.problems).toMatchObject([
      { file: '/managed/managed.json' },
    ]);
    stage.files.write('/managed/managed.json', servers({ ours: 'ours' }));
    await stage.advance(300);
    expect(stage.stateOf('ours')).toBe('ready');
    expect(stage.stateOf('db')).toBe('blocked.notAllowed');
  });
});

describe('the server budget', () => {
  const within = (maxServers: number, budget: string, names = 'abcd') =>
    servers(Object.fromEntries(names.split('').map((name) => [name, name])), {
      policy: { admission: { maxServers, budget } },
    });
  const policyOf = (maxServers: number) => ({
    policy: { admission: { maxServers, budget: 'enforce' } },
  });
  const budgetOf = (stage: Stage) => stage.troupe.snapshot().troupe.budget;
  const warning = (stage: Stage) =>
    stage.troupe.snapshot().troupe.problems.map(({ message }) => message);

  it('blocks the last servers in settings order and reports it once', async () => {
    const stage = await stageOf({ settings: within(2, 'enforce') });
    expect(budgetOf(stage)).toEqual({ max: 2, mode: 'enforce', taken: 2, refused: ['c', 'd'] });
    expect(stage.story.filter((line) => line.includes('overBudget'))).toHaveLength(2);
    expect(warning(stage)).toEqual([
      'the budget of 2 servers is exhausted, so these are blocked: c, d; disable servers that you do not need, or raise the limit',
    ]);
  });

  it('gives a freed slot to the first waiting server without closing a session', async () => {
    const stage = await stageOf({ settings: within(2, 'enforce', 'bcd') });
    const kept = stage.sessions.of('b');
    await stage.apply(within(2, 'enforce', 'abcd'));
    expect(stage.stateOf('a')).toBe('blocked.overBudget');
    expect(stage.stateOf('c')).toBe('ready');
    await stage.apply(within(2, 'enforce', 'abd'));
    expect(stage.stateOf('a')).toBe('ready');
    expect(stage.stateOf('d')).toBe('blocked.overBudget');
    expect(kept.state).toBe('open');
  });

  it('regains a slot from a server at rest but not from one that retries', async () => {
    const stage = await stageOf({ settings: within(2, 'enforce', 'abc') });
    stage.sessions.of('a').fail(crash());
    await stage.settle();
    expect(stage.stateOf('a')).toBe('backingOff.retrying');
    expect(stage.stateOf('c')).toBe('blocked.overBudget');
    await stage.advance(60_000);
    expect(stage.stateOf('a')).toBe('ready');
    stage.troupe.send({ type: 'server.stop', server: 'a' });
    await stage.settle();
    expect(stage.stateOf('a')).toBe('stopped');
    expect(stage.stateOf('c')).toBe('ready');
    expect(budgetOf(stage)).toMatchObject({ taken: 2, refused: [] });
    expect(await stage.troupe.plan()).toMatchObject([
      { step: 'keep' },
      { step: 'keep' },
      { step: 'keep' },
    ]);
  });

  it('refuses a restarted server while others hold all slots', async () => {
    const stage = await stageOf({ settings: within(2, 'enforce', 'abc') });
    stage.troupe.send({ type: 'server.stop', server: 'a' });
    await stage.settle();
    const before = stage.sessions.scripts.length;
    stage.troupe.send({ type: 'server.start', server: 'a' });
    await stage.settle();
    expect(stage.stateOf('a')).toBe('blocked.overBudget');
    expect(stage.sessions.scripts).toHaveLength(before);
    stage.troupe.send({ type: 'server.stop', server: 'b' });
    await stage.settle();
    expect(stage.stateOf('a')).toBe('ready');
    expect(stage.stateOf('c')).toBe('ready');
  });

  it("keeps a leaving server's slot until its process has ended", async () => {
    const stage = await stageOf({ settings: within(1, 'enforce', 'ab') });
    stage.obedient = new Set(['b']);
    await stage.apply(servers({ a: 'a', b: 'b' }, { excluded: ['a'], ...policyOf(1) }));
    expect(stage.stateOf('a')).toBe('stopping');
    expect(stage.stateOf('b')).toBe('blocked.overBudget');
    stage.sessions.of('a').closed();
    await stage.settle();
    expect(stage.stateOf('a')).toBe('blocked.excluded');
    expect(stage.stateOf('b')).toBe('ready');
  });

  it('counts open sessions by transport', async () => {
    const web = { web: { url: 'https://example.test/mcp' } };
    const stage = await stageOf({
      settings: servers({ a: 'a', b: 'b', ...web }),
      obedient: ['web'],
    });
    stage.sessions.of('a').open({ pid: 7 });
    stage.troupe.send({ type: 'server.stop', server: 'b' });
    await stage.settle();
    expect(stage.troupe.snapshot().troupe.sessions).toEqual({
      total: 2,
      byTransport: { stdio: 1, http: 1, sse: 0, ws: 0, memory: 0 },
      subprocessCount: 1,
    });
  });

  it('only warns by default, until much of it is free again', async () => {
    const some = (names: string) =>
      servers(Object.fromEntries(names.split('').map((name) => [name, name])), {
        policy: { admission: { maxServers: 4 } },
      });
    const stage = await stageOf({ settings: some('ab') });
    expect(warning(stage)).toEqual([]);
    await stage.apply(some('abcde'));
    expect(stage.troupe.snapshot().servers.every(({ state }) => state === 'ready')).toBe(true);
    expect(warning(stage)[0]).toContain('more servers run than the budget of 4 allows');
    await stage.apply(some('abc'));
    expect(warning(stage)[0]).toContain('nearly exhausted');
    await stage.apply(some('ab'));
    expect(warning(stage)[0]).toContain('nearly exhausted');
    await stage.apply(some('a'));
    expect(warning(stage)).toEqual([]);
    await stage.apply(servers({ a: 'a' }));
    expect(budgetOf(stage)).toBeUndefined();
  });
});

describe('named integrations', () => {
  it('can be excluded or narrowed by host rules, which can read a key from the URL', async () => {
    const keys: string[] = [];
    const exa: HostRule = ({ spec, tools }) => {
      if (spec.type !== 'http' || new URL(spec.url).host !== 'mcp.exa.ai') return undefined;
      const key = new URL(spec.url).searchParams.get('exaApiKey');
      if (key !== null) keys.push(key);
      const isMore = tools.include.some((name) => name !== 'web_search_exa' && name !== '*');
      return isMore
        ? { change: { tools: { exclude: ['web_search_exa'] } } }
        : { leaveOut: 'it searches the web itself' };
    };
    const browser: HostRule = ({ spec }) =>
      spec.type === 'stdio' && spec.args.some((word) => /^@playwright\/mcp(?:@|$)/.test(word))
        ? { leaveOut: 'it has a browser' }
        : undefined;
    const url = 'https://mcp.exa.ai/mcp?exaApiKey=k';
    const settings = servers({
      search: { url },
      crawl: { url, tools: { include: ['web_search_exa', 'crawling'] } },
      browser: { command: 'npx', args: ['-y', '@playwright/mcp@latest'] },
    });
    const stage = await stageOf({ settings, rules: [exa, browser] });
    expect(keys).toEqual(['k', 'k']);
    expect(stage.stateOf('search')).toBe('blocked.excluded');
    expect(stage.stateOf('browser')).toBe('blocked.excluded');
    expect(stage.stateOf('crawl')).toBe('ready');
  });

  it("can be a project's only servers", async () => {
    const noProject: HostRule = ({ source }) =>
      source.scope === 'project' ? { leaveOut: 'project settings are off' } : undefined;
    const stage = await stageOf({ projectSettings: db, rules: [noProject] });
    expect(stage.stateOf('db')).toBe('blocked.excluded');
    expect(stage.troupe.approvals()).toMatchObject([{ server: 'db' }]);
  });
});
