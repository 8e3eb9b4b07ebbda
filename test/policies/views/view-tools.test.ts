import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NamingPolicy } from '../../../src/domain/policy.ts';
import type { ViewSettings } from '../../../src/domain/settings.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { announcedAs } from '../../../src/policies/tools/announced.ts';
import { exposeTools } from '../../../src/policies/tools/expose-tools.ts';
import { showsTool } from '../../../src/policies/views/shown-items.ts';
import { viewTools } from '../../../src/policies/views/view-tools.ts';

const { naming } = defaultPolicy;

function troupe(servers: Readonly<Record<string, readonly string[]>>) {
  return exposeTools(
    Object.entries(servers).map(([server, tools]) => ({
      server,
      filter: { include: ['*'], exclude: [] },
      catalog: 'live' as const,
      descriptionMaxLength: 2_048,
      naming,
      trust: false,
      tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })),
    })),
  );
}

function view(parts: Partial<ViewSettings>): ViewSettings {
  return { name: 'review', ...parts };
}

const shownIn = (
  parts: Partial<ViewSettings>,
  servers: Parameters<typeof troupe>[0],
  template: Partial<NamingPolicy> = {},
) =>
  viewTools(view(parts), troupe(servers), () => ({ ...naming, ...template })).map(
    ({ shown: { name, tool }, whole }) => `${name} ${tool} ${whole.server}.${whole.tool}`,
  );

describe('the tools of a view', () => {
  it('have their usual names', () => {
    expect(shownIn({ servers: ['db'] }, { db: ['query', 'drop'], web: ['get'] })).toEqual([
      'mcp__db__drop drop db.drop',
      'mcp__db__query query db.query',
    ]);
  });

  it('have new names instead of their own, which then lead to no other tool', () => {
    const renames = [
      { server: 'db', tool: 'query', to: 'ask' },
      { server: 'db', tool: 'a', to: 'b' },
      { server: 'db', tool: 'b', to: 'a' },
      { server: 'db', tool: 'same', to: 'same' },
    ];
    const servers = { db: ['query', 'ask', 'a', 'b', 'same'], web: ['query', 'ask'] };
    expect(shownIn({ renames }, servers)).toEqual([
      'mcp__db__a a db.b',
      'mcp__db__ask ask db.query',
      'mcp__db__b b db.a',
      'mcp__db__same same db.same',
      'mcp__web__ask ask web.ask',
      'mcp__web__query query web.query',
    ]);
  });

  it('keep the name of a tool that would be renamed to theirs, if that is left out', () => {
    const renames = [{ server: 'db', tool: 'query', to: 'ask' }];
    const parts = { renames, tools: { exclude: ['query'] } };
    expect(shownIn(parts, { db: ['query', 'ask'] })).toEqual(['mcp__db__ask ask db.ask']);
  });

  it('are named by the view, and do not reveal a tool with the same name that is left out', () => {
    const servers = { db: ['x__query'], db__x: ['query'] };
    const hashed = troupe(servers).find(({ server }) => server === 'db__x');
    expect(hashed?.name).toMatch(/^mcp__db__x__query_\w{8}$/u);
    expect(shownIn({ servers: ['db__x'] }, servers)).toEqual([
      'mcp__db__x__query query db__x.query',
    ]);
    const short = { template: '{tool}' };
    expect(shownIn({ servers: ['db__x'] }, servers, short)).toEqual(['query query db__x.query']);
  });

  it('are the same as announced, with the numbers of their schemas', () => {
    const [first] = viewTools(view({}), troupe({ db: ['query'] }), () => naming);
    expect(announcedAs(first?.shown ?? {})).toEqual({
      name: 'query',
      inputSchema: { type: 'object' },
    });
  });

  it('never include one that the view leaves out, and have different names', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'a__b', 'b__c', 'a_delete', 'mcp__a__b');
    const tools = fc.uniqueArray(word, { maxLength: 6 });
    const servers = fc.dictionary(fc.constantFrom('a', 'a__b', 'b'), tools);
    const pattern = fc.oneof(
      word,
      fc.constantFrom('*', '*_delete', 'a*'),
      fc.record({ server: word, name: word }),
    );
    const filter = fc.record(
      { include: fc.array(pattern), exclude: fc.array(pattern) },
      { requiredKeys: [] },
    );
    const rename = fc.record({ server: fc.constantFrom('a', 'a__b', 'b'), tool: word, to: word });
    const parts = fc.record(
      {
        servers: fc.array(fc.constantFrom('a', 'a*', '*', 'b')),
        tools: filter,
        renames: fc.uniqueArray(rename, { selector: ({ server, to }) => `${server} ${to}` }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(servers, parts, (all, narrow) => {
        const shown = viewTools(view(narrow), troupe(all), () => naming);
        const excluded = shown.filter(
          ({ whole }) => !showsTool(view(narrow), whole.server, whole.tool),
        );
        expect(excluded).toEqual([]);
        expect(new Set(shown.map((each) => each.shown.name)).size).toBe(shown.length);
        const own = shown.map((each) => `${each.shown.server} ${each.shown.tool}`);
        expect(new Set(own).size).toBe(own.length);
      }),
    );
  });
});
