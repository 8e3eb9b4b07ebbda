import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NamingPolicy } from '../../../src/domain/policy.ts';
import type { ExposedTool, ListedTool } from '../../../src/domain/tool.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { presets } from '../../../src/policies/presets/presets.ts';
import { exposeTools, type ServerTools } from '../../../src/policies/tools/expose-tools.ts';
import { serverPrefixes, toolNamesOf } from '../../../src/policies/tools/name.ts';
import type { NamelessTool } from '../../../src/policies/tools/unique-names.ts';

const everything = { include: ['*'], exclude: [] };

function server(name: string, ...tools: readonly (string | Partial<ListedTool>)[]): ServerTools {
  return {
    server: name,
    filter: everything,
    catalog: 'live',
    descriptionMaxLength: 2_048,
    naming: defaultPolicy.naming,
    trust: false,
    tools: tools.map((tool) => ({
      name: 'query',
      inputSchema: { type: 'object' },
      ...(typeof tool === 'string' ? { name: tool } : tool),
    })),
  };
}

function only(servers: readonly ServerTools[]): ExposedTool {
  const [first, ...others] = exposeTools(servers);
  expect(others).toEqual([]);
  if (first === undefined) throw new Error('no tool is exposed');
  return first;
}

function originOf(servers: readonly ServerTools[], name: string): string | undefined {
  const found = exposeTools(servers).find((tool) => tool.name === name);
  return found && `${found.server}/${found.tool}`;
}

describe('an exposed tool', () => {
  it('is named after its server and itself', () => {
    expect(only([server('db', 'query')])).toEqual({
      name: 'mcp__db__query',
      server: 'db',
      tool: 'query',
      inputSchema: { type: 'object' },
      catalog: 'live',
    });
  });

  it('has an underscore in place of each invalid character', () => {
    const tool = only([server('my db', 'größe/😀.v-2')]);
    expect(tool.name).toMatch(/^mcp__my_db__gr__e___v-2_[0-9a-z]{8}$/);
    expect(tool.tool).toBe('größe/😀.v-2');
  });

  it('keeps a name of 64 characters and shortens a name of 65 to 64', () => {
    const fits = 'x'.repeat(64 - 'mcp__db__'.length);
    expect(only([server('db', fits)]).name).toBe(`mcp__db__${fits}`);
    expect(only([server('db', `${fits}x`)]).name).toMatchInlineSnapshot(
      `"mcp__db__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_796xsgcu"`,
    );
    expect(only([server('db', `${fits}x`)]).name).toHaveLength(64);
  });

  it('has a distinct name when two long names share a prefix', () => {
    const long = 'x'.repeat(100);
    const names = exposeTools([server('db', `${long}1`, `${long}2`)]).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
  });

  it('keeps its title, description and annotations', () => {
    const annotations = { title: 'Ask', readOnlyHint: true, openWorldHint: false };
    const tool = only([server('db', { title: 'Query', description: 'Asks.', annotations })]);
    expect(tool).toMatchObject({ title: 'Query', description: 'Asks.', annotations });
  });

  it('keeps its output schema', () => {
    const outputSchema = { type: 'object', required: ['rows'] };
    expect(only([server('db', { outputSchema })]).outputSchema).toBe(outputSchema);
  });

  it('falls back to its annotation title', () => {
    expect(only([server('db', { annotations: { title: 'Ask' } })]).title).toBe('Ask');
    expect(only([server('db', { annotations: { readOnlyHint: true } })])).not.toHaveProperty(
      'title',
    );
  });

  it('contains no hidden or control characters', () => {
    const sly = 'a\u001b[2J\u0007b\u202ec\u{e0041}\u{e007f}d\te\nf';
    const tool = only([
      server('db', { title: sly, description: sly, annotations: { title: sly } }),
    ]);
    expect(tool.description).toBe('abcd\te\nf');
    expect(tool.title).toBe('abcd e f');
    expect(tool.annotations?.title).toBe('abcd e f');
  });

  it.each([
    [0, undefined],
    [1, '…'],
    [3, 'ab…'],
    // The emoji has two code units, and half of one is no character.
    [4, 'ab…'],
    [5, 'ab😀…'],
    [6, 'ab😀cd'],
  ])('has a description no longer than its policy allows (%i)', (descriptionMaxLength, shown) => {
    const one = { ...server('db', { description: 'ab😀cd' }), descriptionMaxLength };
    expect(only([one]).description).toBe(shown);
  });

  it('has a description of at most 2,048 code units that does not end in a lone surrogate', () => {
    const fits = `${'x'.repeat(2_046)}😀`;
    expect(only([server('db', { description: fits })]).description).toBe(fits);
    for (const description of [`${fits}x`, `x${fits}`, `${fits}😀`, '😀'.repeat(2_000)]) {
      const shown = only([server('db', { description })]).description ?? '';
      expect(shown.length).toBeLessThanOrEqual(2_048);
      expect(shown.length).toBeGreaterThan(2_044);
      expect(shown).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it("is hidden only by its own server's filter", () => {
    const filtered = {
      ...server('db', 'query', 'drop_all'),
      filter: { include: ['*'], exclude: ['drop_*'] },
    };
    expect(exposeTools([filtered, server('api', 'drop_all')]).map(({ name }) => name)).toEqual([
      'mcp__api__drop_all',
      'mcp__db__query',
    ]);
  });

  it('is the first of several that its server lists under the same name', () => {
    const twice = server('db', { description: 'first' }, { description: 'second' });
    expect(only([twice]).description).toBe('first');
  });

  it("shows its catalog's state", () => {
    expect(only([{ ...server('db', 'query'), catalog: 'stale' }]).catalog).toBe('stale');
  });
});

describe('a name that two tools claim', () => {
  const [one, other] = [server('a', 'b__c'), server('a__b', 'c')];

  it('goes to the first tool by origin, in any server start order', () => {
    expect(originOf([one, other], 'mcp__a__b__c')).toBe('a/b__c');
    expect(originOf([other, one], 'mcp__a__b__c')).toBe('a/b__c');
  });

  it('leaves the other tool reachable under a hashed name', () => {
    const [, hashed = ''] = toolNamesOf('a__b', 'c');
    expect(hashed).toMatch(/^mcp__a__b__c_[0-9a-z]{8}$/);
    expect(originOf([one, other], hashed)).toBe('a__b/c');
  });

  it.each([
    ['my.db', 'query', 'my_db', 'query'],
    ['db', 'a.b', 'db', 'a_b'],
    ['a.b', 'c', 'a', 'b__c'],
  ])(
    'is never taken by %s/%s, whose name would have to be altered',
    (server1, tool1, server2, tool2) => {
      const [newcomer, holder] = [server(server1, tool1), server(server2, tool2)];
      const [before] = exposeTools([holder]);
      const name = before?.name ?? '';
      expect(name).toBe(`mcp__${server2}__${tool2}`);
      const servers = server1 === server2 ? [server(server1, tool1, tool2)] : [newcomer, holder];
      expect(originOf(servers, name)).toBe(`${server2}/${tool2}`);
      const [hashed = ''] = toolNamesOf(server1, tool1);
      expect(originOf(servers, hashed)).toBe(`${server1}/${tool1}`);
    },
  );

  it("is never taken by another tool's hashed name", () => {
    const long = 'x'.repeat(100);
    const [hashed = ''] = toolNamesOf('db', long);
    const impostor = hashed.slice('mcp__db__'.length);
    const servers = [server('db', long, impostor)];
    expect(originOf(servers, hashed)).toBe(`db/${impostor}`);
    expect(new Set(exposeTools(servers).map(({ name }) => name)).size).toBe(2);
  });
});

/** The same server under a policy of its own. */
function under(naming: Partial<NamingPolicy>, from: ServerTools): ServerTools {
  return { ...from, naming: { ...from.naming, ...naming } };
}

function namesOf(...servers: readonly ServerTools[]): readonly string[] {
  return exposeTools(servers).map(({ name }) => name);
}

function namelessOf(...servers: readonly ServerTools[]): readonly NamelessTool[] {
  const told: NamelessTool[] = [];
  exposeTools(servers, (tool) => told.push(tool));
  return told;
}

describe('a naming policy', () => {
  it.each([
    ['ohMyPi', 'GitHub', 'GitHub_Search', 'mcp__github_search'],
    ['ohMyPi', 'my-srv', 'create-issue', 'mcp__my_srv_create_issue'],
    ['ohMyPi', 'my.srv', 'my-srv--foo  bar!', 'mcp__my_srv_foo_bar'],
    ['ohMyPi', 'a_', '读取', 'mcp__a_tool'],
    ['ohMyPi', '...', 'read_v2', 'mcp__server_read_v2'],
    ['qwenCode', 'GitHub', 'GitHub_Search', 'mcp__GitHub__GitHub_Search'],
    ['codeBuddy', 'github', 'search', 'github.search'],
    ['claudeCode', 'github', 'search', 'mcp__github__search'],
    ['dockerResilient', 'github', 'search', 'github_search'],
  ] as const)('from %s turns %s/%s into %s', (preset, from, name, expected) => {
    expect(namesOf(under(presets[preset].naming, server(from, name)))).toEqual([expected]);
  });

  it('gives a name that two tools of ohMyPi share to the exact spelling, else to the first by origin', () => {
    const { naming } = presets.ohMyPi;
    const pair = (one: string, other: string) =>
      [server(one, 'read'), server(other, 'read')].map((from) => under(naming, from));
    expect(originOf(pair('a.b', 'a_b'), 'mcp__a_b_read')).toBe('a_b/read');
    expect(originOf(pair('a.b', 'a-b'), 'mcp__a_b_read')).toBe('a-b/read');
    expect(exposeTools(pair('a.b', 'a-b'))).toHaveLength(2);
  });

  it('of ohMyPi cuts a name at 64 characters, with a hash', () => {
    const long = under(presets.ohMyPi.naming, server('db', 'x'.repeat(57)));
    expect(namesOf(long)).toEqual([expect.stringMatching(/^mcp__db_x{47}_[0-9a-z]{8}$/)]);
  });

  it('replaces invalid characters with underscores, including in a template', () => {
    const template = 'my tools: {tool}';
    expect(namesOf(under({ template }, server('db', 'query')))).toEqual(['my_tools:_query']);
  });

  it('treats the template literally for any names', () => {
    const odd = under({ template: '{server}-{tool}' }, server('db', '{server}$&'));
    expect(namesOf(odd)).toEqual([expect.stringMatching(/^db-_server____[0-9a-z]{8}$/)]);
  });

  it.each([
    ['github_search', 'search'],
    ['github-search', 'search'],
    ['github', 'github'],
    ['github_', 'github_'],
    ['githubs_search', 'githubs_search'],
    ['search_github', 'search_github'],
  ])('strips the server name from %s of github: %s', (name, expected) => {
    const stripped = under({ stripServerPrefix: true }, server('github', name));
    expect(namesOf(stripped)).toEqual([`mcp__github__${expected}`]);
  });

  it.each(['hash', 'middle', 'error'] as const)('keeps 16 characters with %s', (overflow) => {
    const naming = { template: '{tool}', maxLength: 16, overflow };
    expect(namesOf(under(naming, server('db', 'x'.repeat(16))))).toEqual(['x'.repeat(16)]);
  });

  it.each([
    ['hash', /^abcdefg_[0-9a-z]{8}$/],
    // 28 of 60 parts before the gap, as in the original.
    ['middle', /^abcdef___klmnopq$/],
  ] as const)('shortens 17 characters to 16 with %s', (overflow, expected) => {
    const naming = { template: '{tool}', maxLength: 16, overflow };
    const [name = ''] = namesOf(under(naming, server('db', 'abcdefghijklmnopq')));
    expect(name).toMatch(expected);
    expect(name).toHaveLength(16);
  });

  it('truncates to 63 characters like the original qwenCode', () => {
    const [name = ''] = namesOf(under(presets.qwenCode.naming, server('s', 'x'.repeat(60))));
    expect(name).toBe(`mcp__s__${'x'.repeat(20)}___${'x'.repeat(32)}`);
  });

  it('omits and reports a tool whose name is too long', () => {
    const naming = { maxLength: 16, overflow: 'error' } as const;
    const from = under(naming, server('db', 'query', 'short', 'longer_by_far'));
    expect(namesOf(from)).toEqual(['mcp__db__query', 'mcp__db__short']);
    expect(namelessOf(from)).toEqual([{ server: 'db', tool: 'longer_by_far', why: 'long' }]);
  });

  it('distinguishes two names that differ only in the removed middle', () => {
    const naming = { template: '{tool}', maxLength: 16, overflow: 'middle' } as const;
    const from = under(naming, server('db', 'abcdef1___klmnopq', 'abcdef2___klmnopq'));
    const names = namesOf(from);
    expect(names).toContain('abcdef___klmnopq');
    expect(new Set(names).size).toBe(2);
  });
});

describe('for tools that claim the same name', () => {
  const lower = (name: string, tool: string) => under({ case: 'lower' }, server(name, tool));

  it('the tool with the exact spelling keeps the name, regardless of origin', () => {
    const servers = [lower('DB', 'query'), lower('db', 'query')];
    expect(originOf(servers, 'mcp__db__query')).toBe('db/query');
    expect(originOf([...servers].reverse(), 'mcp__db__query')).toBe('db/query');
    expect(exposeTools(servers)).toHaveLength(2);
  });

  it('the first by origin keeps it if both names were altered', () => {
    const servers = [lower('dB', 'query'), lower('Db', 'query')];
    expect(originOf(servers, 'mcp__db__query')).toBe('Db/query');
    expect(originOf([...servers].reverse(), 'mcp__db__query')).toBe('Db/query');
  });

  const rivals = (one: NamingPolicy['collision'], other: NamingPolicy['collision']) => [
    under({ template: '{tool}', collision: one }, server('a', 'query')),
    under({ template: '{tool}', collision: other }, server('b', 'query')),
  ];

  it('both get a hash when either policy requires it', () => {
    for (const servers of [rivals('suffix', 'originOrder'), rivals('originOrder', 'suffix')]) {
      expect(namesOf(...servers)).toEqual([
        expect.stringMatching(/^query_[0-9a-z]{8}$/),
        expect.stringMatching(/^query_[0-9a-z]{8}$/),
      ]);
    }
  });

  it('both are hidden and reported when either policy requires it', () => {
    for (const servers of [rivals('error', 'suffix'), rivals('originOrder', 'error')]) {
      expect(namesOf(...servers)).toEqual([]);
      expect(namelessOf(...servers)).toEqual([
        { server: 'a', tool: 'query', why: 'collision' },
        { server: 'b', tool: 'query', why: 'collision' },
      ]);
    }
  });

  it('each keeps its own unique name under any policy', () => {
    const [one] = rivals('error', 'error');
    expect(namesOf(one as ServerTools)).toEqual(['query']);
  });
});

describe("a server's prefixes", () => {
  it('come from its template and aliases that begin with the server', () => {
    expect(serverPrefixes('github', presets.ohMyPi.naming)).toEqual([
      'mcp__github_',
      'mcp__github__',
    ]);
    expect(serverPrefixes('db', presets.codeBuddy.naming)).toEqual(['db.']);
    expect(
      serverPrefixes('db', { ...presets.default.naming, template: '{tool}@{server}' }),
    ).toEqual([]);
  });

  it.each(['hash', 'middle'] as const)('are as short as a name shortened by %s', (overflow) => {
    const naming = { ...presets.default.naming, maxLength: 16, overflow };
    const [name = ''] = namesOf(under(naming, server('a_long_server', 'query')));
    const [prefix = '?'] = serverPrefixes('a_long_server', naming);
    expect(name.startsWith(prefix)).toBe(true);
  });
});

describe('a tool that is exposed again', () => {
  const from = server('db', { description: 'Asks much.', annotations: { readOnlyHint: true } });

  it('remains the same object while nothing changes', () => {
    const before = only([from]);
    expect(only([{ ...from }])).toBe(before);
  });

  it.each([
    ['name', under({ template: '{tool}' }, from), { name: 'query' }],
    [
      'server',
      { ...from, server: 'web', naming: { ...from.naming, template: '{tool}' } },
      { server: 'web' },
    ],
    ['catalog', { ...from, catalog: 'stale' as const }, { catalog: 'stale' }],
    ['length', { ...from, descriptionMaxLength: 4 }, { description: 'Ask…' }],
    ['trust', { ...from, trust: true }, { traits: { readOnly: true } }],
  ])('becomes a new object when its %s differs', (_what, changed, expected) => {
    for (const first of [from, under({ template: '{tool}' }, from)]) {
      only([first]);
      expect(only([changed])).toMatchObject(expected);
    }
  });
});

describe("a tool's traits", () => {
  const traitsOf = (annotations: ListedTool['annotations'], trust: boolean) =>
    only([{ ...server('db', { ...(annotations !== undefined && { annotations }) }), trust }])
      .traits;

  it.each([
    [{}, true, { readOnly: false, concurrencySafe: false, destructive: true, openWorld: true }],
    [
      { readOnlyHint: true },
      true,
      { readOnly: true, concurrencySafe: true, destructive: false, openWorld: true },
    ],
    [
      { destructiveHint: false, openWorldHint: false },
      true,
      { readOnly: false, concurrencySafe: false, destructive: false, openWorld: false },
    ],
    // A tool that says both reads only: what it destroys is then nothing.
    [
      { readOnlyHint: true, destructiveHint: true },
      true,
      { readOnly: true, concurrencySafe: true, destructive: false, openWorld: true },
    ],
    [
      { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      false,
      { readOnly: false, concurrencySafe: false, destructive: true, openWorld: true },
    ],
  ])('with %j and trust %s are %j', (annotations, trust, expected) => {
    expect(traitsOf(annotations, trust)).toEqual(expected);
  });

  it('are absent without annotations', () => {
    expect(traitsOf(undefined, true)).toBeUndefined();
  });
});

const alphabet = fc.constantFrom(
  'a',
  'b',
  '_',
  '__',
  '.',
  '/',
  'é',
  '😀',
  'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
);
const anyName = fc.array(alphabet, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
const anyText = fc.option(fc.string({ unit: 'binary', maxLength: 40 }), { nil: undefined });
const anyServer = fc
  .tuple(
    anyName,
    fc.uniqueArray(fc.tuple(anyName, anyText), { selector: ([name]) => name, maxLength: 5 }),
  )
  .map(([name, tools]) =>
    server(
      name,
      ...tools.map(([tool, description]) =>
        description === undefined ? tool : { name: tool, description },
      ),
    ),
  );
const anyServers = fc.uniqueArray(anyServer, { selector: (each) => each.server, maxLength: 6 });

describe('the complete tool list', () => {
  it("contains every tool once, under a unique valid name with its server's prefix", () => {
    fc.assert(
      fc.property(anyServers, (servers) => {
        const list = exposeTools(servers);
        expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
        expect(list.map((tool) => JSON.stringify([tool.server, tool.tool])).sort()).toEqual(
          servers
            .flatMap((each) => each.tools.map((tool) => JSON.stringify([each.server, tool.name])))
            .sort(),
        );
        for (const tool of list) {
          expect(tool.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(tool.name.startsWith(serverPrefixes(tool.server)[0] ?? '?')).toBe(true);
          expect(toolNamesOf(tool.server, tool.tool)).toContain(tool.name);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is byte-identical in any server and tool order', () => {
    const shuffled = anyServers.chain((servers) =>
      fc
        .tuple(fc.shuffledSubarray(servers, { minLength: servers.length }), fc.func(fc.boolean()))
        .map(([others, turned]) => ({
          servers,
          others: others.map((each) =>
            turned(each.server) ? { ...each, tools: [...each.tools].reverse() } : each,
          ),
        })),
    );
    fc.assert(
      fc.property(shuffled, ({ servers, others }) => {
        expect(JSON.stringify(exposeTools(others))).toBe(JSON.stringify(exposeTools(servers)));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps a name when a tool with another name appears or disappears', () => {
    fc.assert(
      fc.property(anyServers, anyServers, (servers, more) => {
        const added = more.map((each) => ({ ...each, server: `new-${each.server}` }));
        const before = exposeTools(servers);
        const after = exposeTools([...servers, ...added]).filter(
          ({ server: s }) => !s.startsWith('new-'),
        );
        expect(after).toEqual(before);
      }),
    );
  });

  it('keeps a plain name alongside servers whose names must change', () => {
    fc.assert(
      fc.property(anyServers, anyServers, (servers, more) => {
        const added = more.map((each) => ({ ...each, server: `${each.server}.` }));
        const known = new Set(servers.map((each) => each.server));
        const newcomers = added.filter((each) => !known.has(each.server));
        const before = exposeTools(servers);
        const after = exposeTools([...servers, ...newcomers]);
        const plain = before.filter((tool) => tool.name === `mcp__${tool.server}__${tool.tool}`);
        expect(after).toEqual(expect.arrayContaining(plain));
      }),
    );
  });

  it('agrees with a naive implementation', () => {
    fc.assert(
      fc.property(anyServers, (servers) => {
        expect(exposeTools(servers).map(({ name, server: s, tool }) => [name, s, tool])).toEqual(
          naiveNames(servers),
        );
      }),
      { numRuns: 500 },
    );
  });
});

/** The naive twin: for every tool, look at all others to see whether one comes before it. */
function naiveNames(servers: readonly ServerTools[]): readonly (readonly string[])[] {
  const all = servers.flatMap((each) =>
    each.tools.map((tool) => ({
      server: each.server,
      tool: tool.name,
      plain: `mcp__${each.server}__${tool.name}`,
      origin: `${each.server}\0${tool.name}`,
    })),
  );
  return all
    .map((one) => {
      const isFirst = !all.some((two) => two.plain === one.plain && two.origin < one.origin);
      const [hashed = ''] = toolNamesOf(one.server, one.tool).slice(-1);
      const fits = /^[\w-]{1,64}$/.test(one.plain);
      return [fits && isFirst ? one.plain : hashed, one.server, one.tool];
    })
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
