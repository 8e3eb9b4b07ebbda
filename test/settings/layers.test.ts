import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApprovalDecision } from '../../src/domain/host/approval.ts';
import { type Scope, type Settings, scopes } from '../../src/domain/settings.ts';
import { admitAll } from '../../src/policies/admission/admit.ts';
import { byServer } from '../../src/policies/approvals/records.ts';
import { approvalFingerprint } from '../../src/policies/fingerprint.ts';
import { ofPlugin } from '../../src/settings/layers.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { entries, layer, merged, messages, open, verdicts } from './layer.ts';

describe('settings layers', () => {
  it.each([
    ['user', 'api'],
    ['user', 'config'],
    ['config', 'api'],
    ['project', 'workspace'],
    ['workspace', 'local'],
    ['local', 'user'],
    ['plugin', 'user'],
    ['local', 'plugin'],
    ['api', 'managed'],
  ] as const)(
    'resolve a name declared by both %s and %s to the latter, in either order',
    (a, b) => {
      const name = 'plugin:tools:db';
      const of = (scope: Scope) =>
        layer(scope, entries({ [scope === 'plugin' ? 'db' : name]: scope }));
      for (const layers of [
        [of(a), of(b)],
        [of(b), of(a)],
      ]) {
        const settings = merged(layers);
        expect(settings.servers.map(({ source }) => source.scope)).toEqual([b]);
      }
    },
  );

  it('report the location of a server overridden by a stronger layer', () => {
    const settings = merged([
      layer('project', entries({ db: 'a' })),
      layer('managed', entries({ db: 'b' })),
    ]);
    expect(settings.problems).toEqual([
      {
        file: '/project.json',
        line: 1,
        key: 'mcpServers.db',
        message:
          'the project server "db" is ignored because the managed settings name it; rename one of the two',
        severity: 'warning',
      },
    ]);
  });

  const anyLayer = fc
    .record({
      scope: fc.constantFrom(...scopes),
      servers: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y', 'z')),
      mcp: fc.record(
        {
          allowed: fc.subarray(['a', 'b', 'c', 'plugin:tools:a']),
          excluded: fc.subarray(['a', 'b']),
          disabledServers: fc.subarray(['a', 'c']),
          enabledServers: fc.subarray(['b', 'c']),
        },
        { requiredKeys: [] },
      ),
    })
    .map(({ scope, servers, mcp }) => ({ scope, parsed: layer(scope, entries(servers, mcp)) }));
  const anyLayers = fc.uniqueArray(anyLayer, { selector: ({ scope }) => scope });
  const ofFolders: ReadonlySet<Scope> = new Set(['project', 'workspace', 'local']);

  it('yield the same settings in any order', () => {
    fc.assert(
      fc.property(
        anyLayers.chain((all) =>
          fc.tuple(
            fc.constant(all),
            fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
          ),
        ),
        ([one, other]) => {
          const [first, second] = [one, other].map((all) =>
            mergeSettings(all.map(({ parsed }) => parsed)),
          );
          // Problems of single files come as the files do; nothing else may differ.
          const sorted = (problems: readonly unknown[] = []) =>
            problems.map((problem) => JSON.stringify(problem)).sort();
          expect({ ...second?.settings, problems: sorted(second?.settings.problems) }).toEqual({
            ...first?.settings,
            problems: sorted(first?.settings.problems),
          });
          expect(second?.specs).toEqual(first?.specs);
        },
      ),
    );
  });

  const ruled = fc.subarray<string | object>([
    'a',
    'b',
    'c',
    { command: 'x' },
    { url: 'https://*/' },
  ]);
  const patterns = fc.subarray(['mcp__a__*', 'mcp__b__one', '*']);
  const lists = fc.record({ allow: patterns, ask: patterns, deny: patterns }, { requiredKeys: [] });
  const richEntry = fc
    .record(
      {
        enabled: fc.boolean(),
        trust: fc.boolean(),
        startup: fc.constantFrom('eager', 'lazy'),
        handover: fc.constantFrom('exclusive', 'seamless'),
        timeoutMs: fc.constantFrom(5, 6),
        required: fc.boolean(),
        policy: fc.constantFrom('claudeCode', { restart: { on: 'never' } }),
        tools: fc.record({ exclude: fc.subarray(['one', 'two']), permissions: lists }),
        values: fc.constant('literal'),
        headers: fc.constantFrom({}, { A: '!date' }, { A: '${input:i}' }, { A: '${keychain:a/b}' }),
      },
      { requiredKeys: [] },
    )
    .chain(({ headers, ...entry }) =>
      fc.oneof(
        fc.record({ command: fc.constantFrom('x', 'y') }).map((place) => ({
          ...entry,
          ...place,
          ...(headers === undefined ? {} : { env: headers }),
        })),
        fc.constant({
          ...entry,
          url: 'https://h/',
          ...(headers === undefined ? {} : { headers }),
        }),
      ),
    );
  const richSection = fc.record(
    {
      allowed: ruled,
      excluded: ruled,
      disabledServers: fc.subarray(['a', 'b', 'c']),
      enabledServers: fc.subarray(['a', 'b', 'c']),
      slots: fc.record({ local: fc.integer({ min: 1, max: 5 }) }),
      startupGateMs: fc.constantFrom(1, 2),
      commandValues: fc.boolean(),
      projectServers: fc.boolean(),
      dockerGateway: fc.boolean(),
      permissions: lists,
      policy: fc.constantFrom(
        'qwenCode',
        { approval: { gatedScopes: [] } },
        { approval: { gatedScopes: ['user'] } },
        { approval: { gatedScopes: ['config', 'plugin'] } },
        { admission: { maxServers: 2 } },
      ),
    },
    { requiredKeys: [] },
  );
  const inputs = fc.constantFrom(
    [],
    [{ id: 'i', type: 'promptString', default: 'd' }],
    [{ id: 'i', type: 'command', command: 'c' }],
  );
  const richLayer = (among: readonly Scope[]) =>
    fc
      .record({
        scope: fc.constantFrom(...among),
        mcpServers: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'a/b', 'a_b'), richEntry),
        mcp: richSection,
        inputs,
        $schema: fc.constant('https://opencode.invalid/'),
      })
      .map(({ scope, ...value }) => layer(scope, value));
  const richLayers = (among: readonly Scope[]) => fc.array(richLayer(among), { maxLength: 3 });
  const isOfFolder = ({ source }: Settings['servers'][number]) => ofFolders.has(source.scope);

  it('from a folder never start another server or change its policy', () => {
    const others = scopes.filter((scope) => !ofFolders.has(scope));
    let newcomers = 0;
    fc.assert(
      fc.property(richLayers(others), richLayers([...ofFolders]), (own, folder) => {
        const without = mergeSettings(own);
        const both = mergeSettings([...folder, ...own]);
        // Who gives up the place of a budget leaves it to another, which is no permission.
        const unlimited = ({ settings: { budget: _budget, ...settings } }: typeof both) => settings;
        const runningIn = (result: typeof both, decisions: readonly ApprovalDecision[]) =>
          admitAll(unlimited(result), { ...open, decisions: byServer(decisions) })
            .filter(({ verdict }) => verdict === 'admitted')
            .map(({ desired }) => desired);
        const yes = [...without.settings.servers, ...both.settings.servers].map((desired) => ({
          server: desired.name,
          fingerprint: approvalFingerprint(desired),
          decision: 'granted' as const,
        }));
        for (const decisions of [[], yes]) {
          const before = new Set(runningIn(without, decisions).map(({ name }) => name));
          const after = runningIn(both, decisions);
          const fresh = after.filter(({ name }) => !before.has(name));
          expect(fresh.every((one) => decisions.length > 0 && one.gated && isOfFolder(one))).toBe(
            true,
          );
          newcomers += fresh.length;
        }

        // Switches and lists may keep a server out; nothing else of it differs.
        const treated = (result: typeof both) =>
          result.settings.servers
            .filter((server) => !isOfFolder(server))
            .map(({ enabled: _enabled, disabledBy: _disabledBy, bar: _bar, ...desired }) => ({
              ...desired,
              spec: result.specs.get(desired.generation),
            }));
        // An entry under an impossible name gives up the name that it is shown under.
        const named = (result: typeof both) => treated(result).filter(({ name }) => name !== 'a_b');
        expect(named(both)).toEqual(named(without));
        for (const theirs of both.settings.servers.filter(isOfFolder))
          expect([theirs.gated, theirs.trust, theirs.tools.permissions?.allow]).toEqual([
            true,
            false,
            undefined,
          ]);

        const [{ settings: alone }, { settings: joined }] = [without, both];
        expect(joined.slots).toEqual(alone.slots);
        expect(joined.budget).toEqual(alone.budget);
        expect(joined.startupGateMs).toBe(alone.startupGateMs);
        expect(both.startupGate).toEqual(without.startupGate);
        expect(joined.permissions?.own ?? {}).toEqual(alone.permissions?.own ?? {});
        expect(joined.permissions?.narrowing.allow).toBeUndefined();
        for (const { name } of joined.servers.filter((server) => !isOfFolder(server)))
          if (joined.allowed?.includes(name) === true)
            expect(alone.allowed ?? [name]).toContain(name);
        if (alone.allowed !== undefined) expect(joined.allowed).toBeDefined();
        expect(joined.excluded).toEqual(expect.arrayContaining([...alone.excluded]));
      }),
      { numRuns: 150 },
    );
    expect(newcomers).toBeGreaterThan(0);
  });

  it('have no effect once removed', () => {
    const user = layer('user', entries({ db: 'lower', web: 'w' }));
    const api = layer(
      'api',
      entries({ db: 'upper' }, { excluded: ['web'], disabledServers: ['x'] }),
    );
    expect(merged([user, api]).servers.map(({ source }) => source.scope)).toEqual(['api', 'user']);
    expect(merged([user, layer('api', entries({}))])).toEqual({
      ...merged([user]),
      limits: undefined,
    });
    expect(verdicts(merged([user]))).toEqual({ db: 'admitted', web: 'admitted' });
  });
});

describe('managed settings', () => {
  const managed = layer('managed', entries({ ours: 'ours' }));

  it("block every other server and name the administrator's file", () => {
    const settings = merged([
      managed,
      layer('user', entries({ mine: 'mine' })),
      layer('plugin', entries({ db: 'db' })),
      layer('config', entries({ named: 'named' })),
      layer('api', { mcpServers: { calc: { type: 'memory' }, host: { command: 'host' } } }),
    ]);
    expect(verdicts(settings)).toEqual({
      ours: 'admitted',
      mine: 'notAllowed',
      'plugin:tools:db': 'notAllowed',
      named: 'notAllowed',
      host: 'notAllowed',
      calc: 'admitted',
    });
    expect(settings.servers.find(({ name }) => name === 'mine')?.bar).toEqual({
      verdict: 'notAllowed',
      rule: 'managed',
      source: { file: '/managed.json', key: 'mcpServers', scope: 'managed' },
      next: 'ask the administrator of /managed.json, which allows no other servers',
    });
  });

  it("override other layers' numbers and wider lists", () => {
    const other = entries(
      {},
      {
        slots: { local: 9 },
        enabledServers: ['ours'],
        allowed: ['ours', 'mine'],
        excluded: ['absent'],
      },
    );
    const off = layer(
      'managed',
      entries({ ours: { command: 'x', enabled: false } }, { allowed: [] }),
    );
    const settings = merged([off, layer('user', other)]);
    expect(settings).toMatchObject({ slots: { local: 'auto' }, allowed: [], excluded: ['absent'] });
    expect(verdicts(settings)).toEqual({ ours: 'disabled' });
  });
});

describe('enabled switches', () => {
  it.each<[what: string, entry: boolean, mcp: object, enabled: boolean]>([
    ['only the entry', true, {}, true],
    ['only the entry, disabled', false, {}, false],
    ['an enabling list', false, { enabledServers: ['db'] }, true],
    ['a disabling list', true, { disabledServers: ['db'] }, false],
    ['both lists', false, { enabledServers: ['db'], disabledServers: ['db'] }, false],
  ])('follow %s', (_, isOn, mcp, enabled) => {
    const settings = merged([layer('user', entries({ db: { command: 'x', enabled: isOn } }, mcp))]);
    expect(settings.servers[0]?.enabled).toBe(enabled);
  });

  it('from a folder can only disable', () => {
    const mcp = { enabledServers: ['a'], disabledServers: ['b'] };
    const settings = merged([
      layer('user', entries({ a: { command: 'a', enabled: false }, b: 'b' })),
      layer('project', { mcp }),
    ]);
    expect(verdicts(settings)).toEqual({ a: 'disabled', b: 'disabled' });
    expect(settings.servers[1]?.disabledBy).toEqual({
      file: '/project.json',
      line: 1,
      key: 'mcp.disabledServers',
      scope: 'project',
    });
    expect(messages(settings)).toEqual([
      '"enabledServers" is ignored in a project file; set it in settings of your own',
    ]);
  });

  it("from the host's settings have no line number", () => {
    const settings = merged([layer('api', entries({ db: 'x' }, { disabledServers: ['db'] }))]);
    expect(settings.servers[0]?.disabledBy).toEqual({ key: 'mcp.disabledServers', scope: 'api' });
  });

  it('make the document unusable if they disable servers but are invalid', () => {
    expect(layer('user', { mcp: { disabledServers: 'db' } }).document).toBeUndefined();
    expect(layer('user', { mcp: { enabledServers: 'db' } }).document).toBeDefined();
  });
});

describe('identical servers', () => {
  it("are merged into the higher layer's server, which reports the other", () => {
    const settings = merged([
      layer('user', entries({ alias: 'x' })),
      layer('config', entries({ db: 'x' })),
    ]);
    expect(verdicts(settings)).toEqual({ db: 'admitted' });
    expect(settings.problems).toEqual([
      {
        file: '/user.json',
        line: 1,
        key: 'mcpServers.alias',
        server: 'alias',
        message:
          'there is no server "alias", because it is the same as "db" (/config.json:1); use that server, or make the two differ',
        severity: 'warning',
      },
    ]);
  });

  it.each<[what: string, user: object, config: object]>([
    ['tools', { command: 'x', tools: { exclude: ['a'] } }, { command: 'x' }],
    ['trust', { command: 'x', trust: true }, { command: 'x' }],
    ['policy numbers', { command: 'x', timeoutMs: 5 }, { command: 'x' }],
    ['arguments', { command: 'x', args: ['1'] }, { command: 'x' }],
    ['the enabled switch', { command: 'x' }, { command: 'x', enabled: false }],
  ])('stay separate when they differ in %s', (_, user, config) => {
    const settings = merged([
      layer('user', entries({ alias: user })),
      layer('config', entries({ db: config })),
    ]);
    expect(settings.servers).toHaveLength(2);
    expect(settings.problems).toEqual([]);
  });

  it('stay separate within one file', () => {
    expect(verdicts(merged([layer('user', entries({ a: 'x', b: 'x' }))]))).toEqual({
      a: 'admitted',
      b: 'admitted',
    });
  });

  it('give way to a server that a list allows', () => {
    const [user, config] = [entries({ alias: 'x' }), { db: 'x' }];
    for (const mcp of [{ excluded: ['db'] }, { allowed: ['alias'] }, { disabledServers: ['db'] }]) {
      const settings = merged([layer('user', user), layer('config', entries(config, mcp))]);
      expect(verdicts(settings)['alias']).toBe('admitted');
      expect(settings.servers).toHaveLength(2);
    }
  });

  it('give way to a server that needs no approval', () => {
    const mcp = { policy: { approval: { gatedScopes: ['config'] } } };
    const settings = merged([
      layer('user', entries({ alias: 'x' })),
      layer('config', entries({ db: 'x' }, mcp)),
    ]);
    expect(verdicts(settings)).toEqual({ alias: 'admitted' });
    expect(settings.problems).toMatchObject([{ server: 'db' }]);
  });

  it("never replace the user's own server with a folder's", () => {
    const settings = merged([
      layer('user', entries({ mine: 'x' })),
      layer('local', entries({ theirs: 'x' })),
    ]);
    expect(verdicts(settings)).toEqual({ mine: 'admitted' });
  });

  it('may have equal or different descriptions', () => {
    const settings = merged([
      layer('user', entries({ alias: { command: 'x', description: 'one' } })),
      layer('api', entries({ db: { command: 'x', description: 'two' } })),
    ]);
    expect(verdicts(settings)).toEqual({ db: 'admitted' });
    expect(
      messages(merged([layer('user', entries({ a: 'x' })), layer('api', entries({ b: 'x' }))])),
    ).toEqual([expect.stringContaining(`the same as "b" (the host's settings)`)]);
  });
});

describe("a plugin's server", () => {
  const remote = { url: 'https://example.test/mcp' };

  it('is named after the plugin and cannot change its own policy', () => {
    const settings = merged([
      layer(
        'plugin',
        entries({ db: { command: 'x', trust: true, timeoutMs: 5 } }, { excluded: ['web'] }),
      ),
      layer('user', entries({ web: 'web' })),
    ]);
    expect(verdicts(settings)).toEqual({ web: 'admitted', 'plugin:tools:db': 'admitted' });
    expect(settings.servers[1]).toMatchObject({ trust: false, gated: false });
    expect(messages(settings)).toEqual([
      '"mcp" is ignored in the settings of a plugin; remove it',
      '"trust" is ignored in a plugin file; set it in settings of your own',
      '"timeoutMs" is ignored in a plugin file; set it in settings of your own',
    ]);
  });

  it.each<[what: string, mine: object, theirs: object]>([
    ['command', { command: 'x', args: ['1'], env: { A: '1' } }, { command: 'x', args: ['1'] }],
    ['address', { ...remote, headers: { 'x-a': '1' } }, remote],
  ])("gives way to the user's own server with the same %s", (_, mine, theirs) => {
    const settings = merged([
      layer('user', entries({ mine })),
      layer('plugin', entries({ theirs })),
    ]);
    expect(verdicts(settings)).toEqual({ mine: 'admitted' });
    expect(settings.problems).toMatchObject([{ server: 'plugin:tools:theirs' }]);
  });

  it("stays alongside disabled servers and a folder's servers", () => {
    for (const other of [
      layer('user', entries({ mine: { command: 'x', enabled: false } })),
      layer('project', entries({ mine: 'x' })),
    ]) {
      const settings = merged([other, layer('plugin', entries({ theirs: 'x' }))]);
      expect(verdicts(settings)).toMatchObject({ 'plugin:tools:theirs': 'admitted' });
    }
  });

  it('is used once, from the first plugin that declares it', () => {
    const of = (plugin: string) =>
      ofPlugin(
        plugin,
        parseSettings(JSON.stringify(entries({ db: 'x' })), {
          file: `plugin ${plugin}`,
          scope: 'plugin',
          projectRoot: '/project',
          isObject: true,
        }),
      );
    const settings = merged([of('one'), of('two')]);
    expect(verdicts(settings)).toEqual({ 'plugin:one:db': 'admitted' });
    expect(settings.problems).toMatchObject([
      {
        file: 'plugin',
        server: 'plugin:two:db',
        message: expect.stringContaining('plugin settings'),
      },
    ]);
  });

  it('is rejected if its name is too long', () => {
    const name = 'x'.repeat(95);
    const settings = merged([layer('plugin', entries({ [name]: 'x', '( )': 'y' }))]);
    expect(Object.values(verdicts(settings))).toEqual(['invalidConfig', 'invalidConfig']);
    expect(settings.servers[0]?.invalid?.message).toContain('too long');
    expect(ofPlugin('tools', { problems: [] })).toEqual({ problems: [] });
  });
});
