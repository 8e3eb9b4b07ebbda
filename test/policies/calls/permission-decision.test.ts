import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PermissionChoice,
  type PermissionRules,
  type PermissionVerdict,
  permissionVerdicts,
} from '../../../src/domain/permission.ts';
import {
  isRemembered,
  patternBehind,
  strictestVerdict,
  verdictByRules,
} from '../../../src/policies/calls/permission-decision.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { type ServerInName, serverInName } from '../../../src/policies/tools/name.ts';

const tool = { server: 'db', tool: 'query', name: 'mcp__db__query' };
const exact = 'mcp__db__query';
const wide = 'mcp__db__*';

describe('call rules', () => {
  const rows: readonly (readonly [string, PermissionRules, PermissionVerdict | undefined])[] = [
    ['no rules', {}, undefined],
    ['only other tools', { deny: ['mcp__db__drop', { server: 'web' }] }, undefined],
    ['an exposed name', { deny: [exact] }, 'deny'],
    ['a name pattern', { ask: [wide] }, 'ask'],
    ['a whole server', { allow: [{ server: 'db' }] }, 'allow'],
    ['a tool of a server', { ask: [{ server: 'db', tool: 'qu*' }] }, 'ask'],
    ['another tool of the server', { ask: [{ server: 'db', tool: 'drop' }] }, undefined],
    ['a denying pattern and an exact allow rule', { allow: [exact], deny: [wide] }, 'deny'],
    ['an exact allow rule within an ask pattern', { allow: [exact], ask: [wide] }, 'allow'],
    ['an exact ask rule within an allow pattern', { allow: [wide], ask: [exact] }, 'ask'],
    [
      'exact allow and ask rules',
      { allow: [exact], ask: [{ server: 'db', tool: 'query' }] },
      'ask',
    ],
    ['allow and ask patterns', { allow: [wide], ask: ['*'] }, 'ask'],
  ];

  it.each(rows)('return the decision for %s', (_what, rules, verdict) => {
    expect(verdictByRules(rules, tool)).toBe(verdict);
  });

  it.each([
    ['the exact one of several', { ask: [wide, exact] }, exact],
    ['the first of several wide patterns', { ask: [wide, '*'] }, wide],
    ['none for another verdict', { deny: [wide] }, undefined],
    ['none for another tool', { ask: ['mcp__db__drop'] }, undefined],
  ] as const)('report the matching pattern: %s', (_what, rules, pattern) => {
    expect(patternBehind(rules, tool, 'ask')).toBe(pattern);
  });

  const named = (server: string, template = 'mcp__{server}__{tool}') =>
    serverInName(server, { ...defaultPolicy.naming, template });
  const [short, long] = [named('db'), named('db__x')];
  const ofLong = { server: 'db__x', tool: 'query', name: 'mcp__db__x__query' };
  const ofShort = { server: 'db', tool: 'x__query', name: 'mcp__db__x__query' };
  const allows = (pattern: string) => ({ allow: [pattern] });

  it.each<[string, typeof tool, ServerInName[], boolean, boolean]>([
    // pattern, tool, servers, may be about it, is about it for certain
    ['mcp__db__*', ofShort, [short, long], true, true],
    ['mcp__db__*', ofLong, [short, long], false, false],
    ['mcp__db__*', ofLong, [long], true, false],
    ['mcp__db__x__*', ofLong, [long], true, true],
    ['mcp__db__x__*', ofLong, [short, long], true, false],
    ['mcp__db__x__*', ofShort, [short, long], true, false],
    ['mcp__db__x__*', ofShort, [short], true, true],
    ['mcp__db__x__query', ofLong, [short, long], true, false],
    ['mcp__db__x__query', ofLong, [long], true, true],
    ['mcp__db*', ofLong, [short, long], true, true],
    ['mcp__*', ofLong, [short, long], true, true],
    ['*__query', ofLong, [short, long], true, true],
    ['mcp__db__*', ofLong, [], true, false],
  ])(
    'match %s against %j only if the name is unambiguous, %#',
    (pattern, about, servers, maybe, certain) => {
      expect(verdictByRules({ allow: [pattern] }, about, servers)).toBe(
        certain ? 'allow' : undefined,
      );
      expect(verdictByRules({ ask: [pattern] }, about, servers)).toBe(maybe ? 'ask' : undefined);
      expect(verdictByRules({ deny: [pattern] }, about, servers)).toBe(maybe ? 'deny' : undefined);
    },
  );

  it('match a server only by its own name', () => {
    const rules = { allow: [{ server: 'db__x', tool: 'query' }] };
    expect(verdictByRules(rules, ofLong, [short, long])).toBe('allow');
    expect(verdictByRules(rules, ofShort, [short, long])).toBeUndefined();
  });

  it('do not match a server with a similar name', () => {
    const servers = [named('my_db'), named('my.db')];
    const lookalike = { server: 'my.db', tool: 'query', name: 'mcp__my_db__query_abcd1234' };
    expect(verdictByRules(allows('mcp__my_db__*'), lookalike, servers)).toBeUndefined();
    expect(verdictByRules(allows('mcp__my_db__*'), lookalike, [named('my.db')])).toBe('allow');
  });

  it('match any server when names do not begin with the server', () => {
    const plain = { server: 'db', tool: 'query', name: 'query' };
    expect(verdictByRules(allows('que*'), plain, [named('db', '{tool}')])).toBe('allow');
    const behind = { server: 'db', tool: 'query', name: 'query__db' };
    expect(verdictByRules(allows('query__*'), behind, [named('db', '{tool}__{server}')])).toBe(
      'allow',
    );
  });

  it('combine into the strictest verdict', () => {
    const voice = fc.constantFrom(undefined, ...permissionVerdicts);
    fc.assert(
      fc.property(fc.array(voice), (voices) => {
        const strictest = strictestVerdict(...voices);
        const rank = (verdict: PermissionVerdict | undefined): number =>
          verdict === undefined ? -1 : permissionVerdicts.indexOf(verdict);
        expect(rank(strictest)).toBe(Math.max(-1, ...voices.map(rank)));
      }),
    );
  });
});

describe('a remembered permission', () => {
  const subject = { server: 'db', fingerprint: 'f', tool: 'query', digest: 'd' };
  const choice = { server: 'db', fingerprint: 'f', decidedAt: 0 };
  const ofTool = { ...choice, tool: 'query', digest: 'd' };

  const rows: readonly (readonly [string, PermissionChoice, boolean])[] = [
    ['the tool', ofTool, true],
    ['the server', choice, true],
    ['another tool', { ...ofTool, tool: 'drop' }, false],
    ['another definition of the tool', { ...ofTool, digest: 'e' }, false],
    ['another server', { ...choice, server: 'web' }, false],
    ['other settings of the server', { ...choice, fingerprint: 'g' }, false],
  ];

  it.each(rows)('applies only to the same tool or server: %s, %#', (_what, remembered, counts) => {
    expect(isRemembered([remembered], subject)).toBe(counts);
  });
});
