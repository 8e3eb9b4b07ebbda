import { describe, expect, it } from 'vitest';
import { entries, layer, merged } from '../layer.ts';

const review = {
  servers: ['git*'],
  tools: { exclude: ['*_delete', { server: 'db', name: 'drop' }], rename: { db: { q: 'ask' } } },
  prompts: { include: ['draft', { server: 'db', name: 'x' }] },
  resources: { exclude: [{ server: 'db', name: 'db://x/*' }] },
  permissions: { ask: ['mcp__db__*'], deny: [{ server: 'db', tool: 'put' }] },
  naming: { template: '{tool}', maxLength: 32 },
  limits: { perMinute: 5 },
  clients: [{ group: 'qa', scope: 'mcp' }, { user: 'ada' }],
};

describe('views', () => {
  it('are read with all their parts', () => {
    const { views, problems } = merged([layer('user', entries({}, { views: { review } }))]);
    expect(problems).toEqual([]);
    const { tools, permissions, ...others } = review;
    const key = 'mcp.views.review.permissions';
    expect(views).toEqual([
      {
        ...others,
        name: 'review',
        tools: { exclude: tools.exclude },
        renames: [{ server: 'db', tool: 'q', to: 'ask' }],
        permissions: {
          rules: permissions,
          source: { file: expect.any(String), line: 1, key, scope: 'user' },
        },
      },
    ]);
  });

  it('of a later file replace those of the same name', () => {
    const one = layer('user', entries({}, { views: { a: { servers: ['a'] }, b: {} } }));
    const two = layer('config', entries({}, { views: { a: { servers: ['x'] } } }));
    const { views } = merged([one, two]);
    expect(views?.map(({ name, servers }) => [name, servers])).toEqual([
      ['a', ['x']],
      ['b', undefined],
    ]);
  });

  it('of a folder are ignored and reported, as are those of the user beside managed settings', () => {
    const folder = layer('project', entries({}, { views: { review } }));
    const { views, problems } = merged([folder]);
    expect(views).toBeUndefined();
    expect(problems).toMatchObject([
      { key: 'mcp.views', severity: 'warning', message: expect.stringContaining('is ignored') },
    ]);
    const user = layer('user', entries({}, { views: { mine: {} } }));
    const managed = layer('managed', entries({}, { views: { theirs: {} } }));
    expect(merged([user, managed]).views?.map(({ name }) => name)).toEqual(['theirs']);
  });

  it('may be missing as long as a file that counts cannot be read', () => {
    const unread = { problems: [], isUnread: true } as const;
    const managed = layer('managed', entries({}, { views: { theirs: {} } }));
    expect(merged([unread]).isPartial).toBe(true);
    expect(merged([unread, managed]).isPartial).toBeUndefined();
    expect(merged([{ ...managed, isUnread: true }]).isPartial).toBe(true);
  });

  it.each([
    ['view', [], 'views', 'a view must be an object'],
    ['a name with a space', { 'a b': {} }, 'views.a b', 'a view is named with'],
    ['a number, which would be the first', { a: {}, 1: {} }, 'views.1', 'not all of them digits'],
    ['a misspelt part', { v: { tool: {} } }, 'views.v.tool', 'did you mean "tools"?'],
    ['a misspelt filter', { v: { tools: { exlude: [] } } }, 'views.v.tools.exlude', '"exclude"'],
    ['a text', { v: { servers: 'db' } }, 'views.v.servers', 'write ["db", "web_*"]'],
    [
      'a pattern of another kind',
      { v: { prompts: { include: [{ server: 'db', tool: 'x' }] } } },
      'views.v.prompts.include.0',
      'this is not a name',
    ],
    [
      'one name for two tools',
      { v: { tools: { rename: { db: { a: 'x', b: 'x' } } } } },
      'views.v.tools.rename.db',
      'give each its own',
    ],
    [
      'a long name',
      { v: { tools: { rename: { db: { a: 'x'.repeat(65) } } } } },
      'views.v.tools.rename.db.a',
      'at most 64',
    ],
    [
      'permission',
      { v: { permissions: { allow: ['*'] } } },
      'views.v.permissions.allow',
      'because it can only narrow',
    ],
    [
      'a template without a tool',
      { v: { naming: { template: 'x' } } },
      'views.v.naming.template',
      '"naming.template" must be text with {tool}',
    ],
    [
      'an unknown naming',
      { v: { naming: { pattern: 'x' } } },
      'views.v.naming.pattern',
      'write one of template',
    ],
    ['an empty rule', { v: { clients: [{}] } }, 'views.v.clients.0', 'a rule needs "user"'],
    ['no limit', { v: { limits: { perMinute: 0 } } }, 'views.v.limits.perMinute', 'from 1 to'],
  ])('are not guessed: %s makes the file unusable', (_what, views, key, next) => {
    const { document, problems } = layer('user', entries({}, { views }));
    expect(document).toBeUndefined();
    expect(problems).toMatchObject([{ key: `mcp.${key}`, message: expect.stringContaining(next) }]);
  });
});
