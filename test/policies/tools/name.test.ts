import { describe, expect, it } from 'vitest';
import { presets } from '../../../src/policies/presets/presets.ts';
import { serverPrefixes, toolAliasesOf, toolNamesOf } from '../../../src/policies/tools/name.ts';

describe("a tool's names", () => {
  it('are the plain name and the hashed name', () => {
    expect(toolNamesOf('db', 'query')).toEqual([
      'mcp__db__query',
      expect.stringMatching(/^mcp__db__query_[0-9a-z]{8}$/),
    ]);
  });

  it('are just the hashed name when the plain name is too long or inexact', () => {
    expect(toolNamesOf('db', 'x'.repeat(100))).toHaveLength(1);
    expect(toolNamesOf('my.db', 'query')).toHaveLength(1);
    expect(toolNamesOf('db', 'run it')).toHaveLength(1);
  });

  it("begin with the server's prefix", () => {
    expect(serverPrefixes('my db')).toEqual(['mcp__my_db__']);
  });
});

describe("a tool's aliases", () => {
  it("follow its policy's templates without a length limit", () => {
    const { naming } = presets.ohMyPi;
    expect(toolAliasesOf('GitHub', 'Search', naming)).toEqual(['mcp__github__search']);
    expect(toolAliasesOf('db', 'x'.repeat(100), presets.codeBuddy.naming)).toEqual([
      'x'.repeat(100),
    ]);
    expect(toolAliasesOf('db', 'query', presets.default.naming)).toEqual([]);
  });
});
