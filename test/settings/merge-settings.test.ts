import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/domain/settings.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

function source(scope: Scope, value: unknown) {
  return parseSettings(JSON.stringify(value), {
    file: `/${scope}.json`,
    scope,
    projectRoot: '/project',
  });
}
const names = (...list: readonly string[]) => ({
  mcpServers: Object.fromEntries(list.map((name) => [name, { command: 'node' }])),
});
const running = (command: string) => ({ mcpServers: { db: { command } } });

describe('merged settings', () => {
  it('are the defaults without any source', () => {
    expect(mergeSettings([])).toEqual({
      specs: new Map(),
      startupGate: { ms: 250 },
      settings: {
        servers: [],
        excluded: [],
        slots: { local: 'auto', remote: 'auto' },
        startupGateMs: 250,
        problems: [],
      },
    });
  });

  it('contain each name once, at its first position, from its last source', () => {
    const { settings, specs } = mergeSettings([
      source('user', { mcpServers: { db: { command: 'old' }, web: { command: 'node' } } }),
      source('config', {
        mcpServers: { extra: { command: 'x' }, twin: { command: 'x' }, db: { command: 'new' } },
      }),
    ]);
    expect(settings.servers.map(({ name, source: { file } }) => [name, file])).toEqual([
      ['db', '/config.json'],
      ['web', '/user.json'],
      ['extra', '/config.json'],
      ['twin', '/config.json'],
    ]);
    expect(specs.get(settings.servers[0]?.generation ?? '')).toMatchObject({ command: 'new' });
    // The same connection under two names is one spec; the overridden one is gone.
    expect(specs.size).toBe(3);
  });

  it("end with the host's overlay", () => {
    const { settings } = mergeSettings(
      [source('config', running('file'))],
      source('api', running('host')),
    );
    expect(settings.servers).toHaveLength(1);
    expect(settings.servers[0]?.source.scope).toBe('api');
  });

  it.each([
    ['after', ['user', 'project']],
    ['before', ['project', 'config']],
  ] as const)(
    "keep the user's own server when a folder's file %s it declares the same name",
    (_where, scopes) => {
      const { settings } = mergeSettings(scopes.map((scope) => source(scope, running(scope))));
      expect(settings.servers.map(({ gated }) => gated)).toEqual([false]);
      expect(settings.problems).toEqual([
        {
          file: '/project.json',
          line: 1,
          key: 'mcpServers.db',
          message:
            'the project server "db" is ignored because your own settings name it; rename one of the two',
          severity: 'warning',
        },
      ]);
    },
  );

  it("keep the user's own invalid server rather than a folder's server with that name", () => {
    const { settings, specs } = mergeSettings([
      source('user', { mcpServers: { db: {} } }),
      source('project', running('node')),
    ]);
    expect(settings.servers).toEqual([
      expect.objectContaining({ gated: false, invalid: expect.anything() }),
    ]);
    expect(specs.size).toBe(0);
  });

  it.each([
    ['after', [names('d_b'), names('d b')]],
    ['before', [names('d b'), names('d_b')]],
  ])(
    'keep a server when an invalid entry %s it is displayed under its name',
    (_where, [first, second]) => {
      const { settings, specs } = mergeSettings([source('user', first), source('config', second)]);
      expect(settings.servers).toHaveLength(1);
      expect(settings.servers[0]).toMatchObject({ name: 'd_b' });
      expect(settings.servers[0]).not.toHaveProperty('invalid');
      expect(specs.size).toBe(1);
      expect(settings.problems).toEqual([
        expect.objectContaining({
          key: 'mcpServers.d b',
          message: expect.stringContaining('name'),
        }),
      ]);
    },
  );

  it('display an invalid entry under a readable name if that name is free', () => {
    const { settings } = mergeSettings([source('user', names('d b')), source('api', names('d b'))]);
    expect(settings.servers).toEqual([
      expect.objectContaining({ name: 'd_b', invalid: expect.anything() }),
    ]);
    expect(settings.problems).toEqual([]);
  });

  it('let one folder file override another', () => {
    const { settings } = mergeSettings([
      source('project', running('node')),
      source('local', running('node')),
    ]);
    expect(settings.servers.map(({ source: { scope } }) => scope)).toEqual(['local']);
    expect(settings.problems).toEqual([]);
  });

  it('exclude every server that any source excludes', () => {
    const { settings } = mergeSettings([
      source('user', { mcp: { excluded: ['a'] } }),
      source('project', { mcp: { excluded: ['b', 'a'] } }),
      source('config', { mcp: { excluded: [] } }),
    ]);
    expect(settings.excluded).toEqual(['a', 'b']);
  });

  it.each<[what: string, own: unknown, folder: unknown, allowed: readonly string[] | undefined]>([
    ['every server when no file has a list', {}, {}, undefined],
    ["the user's list", { allowed: ['a', 'b'] }, {}, ['a', 'b']],
    ["the folder's list when the user has none", {}, { allowed: ['a'] }, ['a']],
    ['only servers on both lists', { allowed: ['a', 'b'] }, { allowed: ['b', 'c'] }, ['b']],
    ["no server when the user's list is empty", { allowed: [] }, { allowed: ['a'] }, []],
    ["no server when the folder's list is empty", { allowed: ['a'] }, { allowed: [] }, []],
  ])('allow %s', (_what, own, folder, allowed) => {
    const { settings } = mergeSettings([
      source('user', { mcp: own }),
      source('project', { mcp: folder }),
    ]);
    expect(settings.allowed).toEqual(allowed);
  });

  it("use the last of the user's own allow lists", () => {
    const { settings } = mergeSettings([
      source('user', { mcp: { allowed: ['a'] } }),
      source('config', { mcp: { allowed: ['b', 'b'] } }),
    ]);
    expect(settings.allowed).toEqual(['b']);
  });

  it("take each number only from the user's own sources", () => {
    const { settings } = mergeSettings([
      source('user', { mcp: { slots: { local: 1, remote: 2 }, startupGateMs: 10 } }),
      source('config', { mcp: { slots: { local: 5 } } }),
      source('project', { mcp: { slots: { remote: 999 }, startupGateMs: 999 } }),
    ]);
    expect(settings.slots).toEqual({ local: 5, remote: 2 });
    expect(settings.startupGateMs).toBe(10);
  });

  it("contain every source's problems, even without a document", () => {
    const { settings } = mergeSettings([
      parseSettings('{', { file: '/broken.json', scope: 'user', projectRoot: '/project' }),
      source('config', { mcp: { colour: 1 } }),
    ]);
    expect(settings.problems.map(({ file }) => file)).toEqual(['/broken.json', '/config.json']);
  });
});
