import { describe, expect, it } from 'vitest';
import { type ClientClaims, viewsOf } from '../../../src/policies/views/client-views.ts';

const ada: ClientClaims = { user: 'ada', groups: ['qa', 'dev'], scopes: ['mcp:read'] };

describe('the views of a client', () => {
  it('are not limited unless a view has rules', () => {
    expect(viewsOf([], ada)).toBeUndefined();
    expect(viewsOf([{ name: 'review' }], ada)).toBeUndefined();
  });

  it('are those with a rule that its token meets, in the order of the settings', () => {
    const views = [
      { name: 'none' },
      { name: 'nobody', clients: [] },
      { name: 'group', clients: [{ group: 'ops' }, { group: 'dev' }] },
      { name: 'user', clients: [{ user: 'ada' }] },
      { name: 'other', clients: [{ user: 'bob' }] },
      { name: 'scope', clients: [{ scope: 'mcp:read' }] },
      { name: 'empty', clients: [{}] },
    ];
    expect(viewsOf(views, ada)).toEqual(['group', 'user', 'scope']);
    expect(viewsOf(views, { user: undefined, groups: [], scopes: [] })).toEqual([]);
  });

  it('need all parts of a rule', () => {
    const clients = [{ user: 'ada', group: 'qa', scope: 'mcp:write' }];
    const views = [{ name: 'review', clients }];
    expect(viewsOf(views, ada)).toEqual([]);
    expect(viewsOf(views, { ...ada, scopes: ['mcp:write'] })).toEqual(['review']);
    expect(viewsOf(views, { ...ada, user: 'bob', scopes: ['mcp:write'] })).toEqual([]);
  });
});
