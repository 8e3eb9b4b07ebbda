import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import {
  isAllowedByRule,
  isForbidden,
  type ServerRule,
  urlRulePattern,
} from '../../../src/policies/admission/server-rule.ts';

const local = (command: string, ...args: readonly string[]): ServerSpec => ({
  type: 'stdio',
  command,
  args,
  env: {},
  cwd: '/project',
  era: 'auto',
});
const at = (url: string): ServerSpec => ({ type: 'http', url, headers: {}, era: 'auto' });
const memory: ServerSpec = { type: 'memory', server: 'calc', era: 'auto' };
const forbids = (rule: ServerRule, spec: ServerSpec): boolean => isForbidden([rule], spec);
const allows = (rule: ServerRule, spec: ServerSpec): boolean | undefined =>
  isAllowedByRule([rule], spec);

describe('a command rule', () => {
  it.each<[what: string, rule: string | readonly string[], spec: ServerSpec, fits: boolean]>([
    ['a program with any arguments', 'npx', local('npx', '-y', 'x'), true],
    ['another program', 'npx', local('npm'), false],
    ['a complete command line', ['npx', '-y', 'x'], local('npx', '-y', 'x'), true],
    ['a line with an extra argument', ['npx', '-y', 'x'], local('npx', '-y', 'x', 'y'), false],
    ['a line with a missing argument', ['npx', '-y', 'x'], local('npx', '-y'), false],
    ['a line in another order', ['npx', 'x', '-y'], local('npx', '-y', 'x'), false],
    ['a pattern', ['npx', '-y', '@ours/*'], local('npx', '-y', '@ours/a'), true],
    ['a pattern that does not match', ['npx', '-y', '@ours/*'], local('npx', '-y', 'a'), false],
    ['an address', 'npx', at('https://npx/'), false],
  ])('matches or rejects %s', (_, command, spec, fits) => {
    expect(forbids({ command }, spec)).toBe(fits);
    expect(allows({ command }, spec)).toBe(spec.type === 'stdio' ? fits : undefined);
  });

  it.each([['/usr/bin/npx'], ['C:\\node\\npx.cmd'], ['npx.exe'], ['${HOME}/npx'], ['${RUNNER}']])(
    'forbids but never allows a possible match: %s',
    (command) => {
      expect(forbids({ command: 'npx' }, local(command))).toBe(true);
      expect(allows({ command: 'npx' }, local(command))).toBe(false);
    },
  );

  it('treats an unresolved argument as the forbidden one', () => {
    const rule = { command: ['npx', '-y', 'bad'] };
    expect(forbids(rule, local('npx', '-y', '${PACKAGE}'))).toBe(true);
    expect(forbids(rule, local('npx', '${FLAG}'))).toBe(false);
    expect(allows(rule, local('npx', '-y', '${PACKAGE}'))).toBe(false);
  });
});

describe('a URL rule', () => {
  it.each<[rule: string, url: string, fits: boolean]>([
    ['https://example.com/mcp', 'https://example.com/mcp', true],
    ['https://example.com/mcp', 'https://example.com/mcp2', false],
    ['https://example.com', 'https://example.com/any/path?x=1', true],
    ['https://example.com/*', 'https://example.com/any', true],
    ['https://example.com/', 'https://example.com/any', false],
    ['https://*.example.com/*', 'https://api.example.com/mcp', true],
    ['https://*.example.com/*', 'https://example.com/mcp', false],
    ['https://*.example.com/*', 'https://evil.test/x.example.com/', false],
    ['https://*.example.com/*', 'https://evil.test?x.example.com/', false],
    ['https://*.example.com/*', 'https://evil.test\\.example.com/', false],
    ['https://example.com/*', 'https://EXAMPLE.com:443/mcp', true],
    ['https://EXAMPLE.com/*', 'https://example.com./mcp', true],
    ['https://example.com/*', 'https://example.com:8443/mcp', false],
    ['https://example.com:*/*', 'https://example.com:8443/mcp', true],
    ['https://example.com/*', 'http://example.com/mcp', false],
    ['*://example.com', 'wss://example.com/mcp', true],
    ['https://example.com/a/*', 'https://example.com/a/../b', false],
    ['https://example.com/a*', 'https://example.com/a?key=${KEY}', true],
  ])('%s matches %s: %s', (url, address, fits) => {
    expect(forbids({ url }, at(address))).toBe(fits);
    if (!address.includes('${')) expect(allows({ url }, at(address))).toBe(fits);
  });

  it.each([
    ['https://${HOST}/mcp'],
    ['${URL}'],
    ['https://example.com${REST}'],
    ['not an address'],
  ])('forbids but never allows an unresolved host: %s', (address) => {
    expect(forbids({ url: 'https://other.test' }, at(address))).toBe(true);
    expect(allows({ url: 'https://*' }, at(address))).toBe(false);
  });

  it('allows an unresolved path on a known host if it allows every path', () => {
    const spec = at('https://example.com/mcp?key=${KEY}');
    expect(allows({ url: 'https://example.com/*' }, spec)).toBe(true);
    expect(allows({ url: 'https://example.com/mcp*' }, spec)).toBe(false);
    expect(forbids({ url: 'https://other.test/*' }, spec)).toBe(false);
  });

  it('does not apply to local servers', () => {
    expect(forbids({ url: 'https://example.com' }, local('npx'))).toBe(false);
    expect(allows({ url: 'https://example.com' }, local('npx'))).toBeUndefined();
  });

  it.each([
    ['https://example.com', true],
    ['*://*.example.com/x*', true],
    ['example.com', false],
    ['https://', false],
    ['https:///mcp', false],
  ])('must name a host: %s %s', (rule, isRule) => {
    expect(urlRulePattern.test(rule)).toBe(isRule);
  });
});

describe('a rule list', () => {
  it('matches nothing with an empty or invalid rule', () => {
    expect(forbids({ command: [] }, local('npx'))).toBe(false);
    expect(forbids({ url: 'example.com' }, at('https://example.com/'))).toBe(false);
  });

  it('matches in-process servers and invalid entries by name only', () => {
    const rules: ServerRule[] = ['db', { command: 'npx' }, { url: 'https://example.com' }];
    expect(isForbidden(rules, memory)).toBe(false);
    expect(isAllowedByRule(rules, memory)).toBeUndefined();
    expect(isForbidden(rules, undefined)).toBe(false);
    expect(isAllowedByRule(rules, undefined)).toBeUndefined();
    expect(isAllowedByRule(['db'], local('npx'))).toBeUndefined();
  });

  it('never allows by a rule what the same rule would not forbid', () => {
    const word = fc.constantFrom('npx', 'node', '*', 'n*', '${X}', 'a${X}', '');
    const rules = fc.oneof(
      fc.record({ command: fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 })) }),
      fc.record({
        url: fc
          .tuple(fc.constantFrom('a.test', '*.test'), fc.constantFrom('', '/', '/x', '/*'))
          .map(([host, path]) => `https://${host}${path}`),
      }),
    );
    const specs = fc.oneof(
      fc.tuple(word, fc.array(word, { maxLength: 2 })).map(([head, rest]) => local(head, ...rest)),
      fc
        .tuple(fc.constantFrom('a.test', 'b.test', '${H}'), fc.constantFrom('', '/x', '/${P}'))
        .map(([host, path]) => at(`https://${host}${path}`)),
    );
    fc.assert(
      fc.property(rules, specs, (rule, spec) => {
        if (allows(rule, spec) === true) expect(forbids(rule, spec)).toBe(true);
      }),
    );
  });
});
