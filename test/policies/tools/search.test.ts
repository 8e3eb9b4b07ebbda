import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExposedTool } from '../../../src/domain/tool.ts';
import { indexTools, searchTools } from '../../../src/policies/tools/search.ts';

function exposed(server: string, tool: string, more: Partial<ExposedTool> = {}): ExposedTool {
  return {
    name: `mcp__${server}__${tool}`,
    server,
    tool,
    inputSchema: { type: 'object' },
    catalog: 'live',
    ...more,
  };
}

function found(tools: readonly ExposedTool[], query: string, limit = 10): readonly string[] {
  return searchTools(indexTools(tools), query, limit).map(({ tool }) => tool.tool);
}

describe('tool search', () => {
  it('ranks a name above a title, a title above a server, and a server above a description', () => {
    const tools = [
      exposed('db', 'a', { description: 'Opens an issue.' }),
      exposed('issue', 'b'),
      exposed('db', 'c', { title: 'New issue' }),
      exposed('db', 'create_issue'),
      exposed('db', 'nothing'),
    ];
    expect(searchTools(indexTools(tools), 'issue', 10).map(({ score }) => score)).toEqual([
      16, 10, 8, 4,
    ]);
    expect(found(tools, 'issue')).toEqual(['create_issue', 'c', 'b', 'a']);
  });

  it('weights a whole word twice as much as a prefix and ignores other substrings', () => {
    const tools = [exposed('s', 'issues'), exposed('s', 'issue'), exposed('s', 'reissue')];
    expect(found(tools, 'issue')).toEqual(['issue', 'issues']);
  });

  it('counts each query word once, at its best match', () => {
    const tool = exposed('issue', 'issue_issues', {
      title: 'Issue',
      description: 'issue '.repeat(9),
    });
    expect(searchTools(indexTools([tool]), 'issue issue ISSUE', 10)).toEqual([{ tool, score: 16 }]);
  });

  it('deducts a share for each missing word', () => {
    const tools = [exposed('s', 'create_issue'), exposed('s', 'create_table')];
    expect(searchTools(indexTools(tools), 'create issue', 10).map(({ score }) => score)).toEqual([
      32, 8,
    ]);
  });

  it.each([
    ['getUserByID', 'user'],
    ['get-user-by-id', 'ID'],
    ['get_user2', '2'],
    ['größe_ändern', 'GRÖSSE GRÖßE'],
    ['查询', '查询'],
  ])('finds %s by %s', (name, query) => {
    expect(found([exposed('s', name)], query)).toEqual([name]);
  });

  it('keeps equal matches in list order, within the limit', () => {
    const tools = ['c', 'a', 'b'].map((name) => exposed('s', `${name}_same`));
    expect(found(tools, 'same')).toEqual(['c_same', 'a_same', 'b_same']);
    expect(found(tools, 'same', 2)).toEqual(['c_same', 'a_same']);
  });

  it.each(['', '  ', '-_-', '\u202e'])('finds nothing for %j', (query) => {
    expect(found([exposed('s', 'a')], query)).toEqual([]);
  });

  it('reads at most 400 characters of a description', () => {
    const at = (length: number) => `${'x'.repeat(length - 5)} word`;
    expect(found([exposed('s', 'a', { description: at(400) })], 'word')).toEqual(['a']);
    expect(found([exposed('s', 'a', { description: `${at(401)}s` })], 'word')).toEqual([]);
  });

  it('reads at most 16 words and 400 characters of a query', () => {
    const others = Array.from({ length: 15 }, (_, index) => `no${'abcdefghijklmno'[index]}`);
    expect(found([exposed('s', 'here')], [...others, 'here'].join(' '))).toEqual(['here']);
    expect(found([exposed('s', 'here')], [...others, 'nope', 'here'].join(' '))).toEqual([]);
    expect(found([exposed('s', 'here')], `${' '.repeat(396)}here`)).toEqual(['here']);
    expect(found([exposed('s', 'here')], `${' '.repeat(400)}here`)).toEqual([]);
  });

  it('agrees with a naive implementation', () => {
    const word = fc.constantFrom('ab', 'abc', 'b', 'c', 'cab');
    const words = fc.array(word, { maxLength: 3 }).map((parts) => parts.join('_'));
    const tool = fc
      .tuple(word, words, words, words)
      .map(([server, name, title, description]) => exposed(server, name, { title, description }));
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 6 }), words, (tools, query) => {
        const actual = searchTools(indexTools(tools), query, 10);
        expect(actual).toEqual(naive(tools, query));
      }),
      { numRuns: 500 },
    );
  });
});

/** The naive twin: every word against every word. */
function naive(tools: readonly ExposedTool[], query: string) {
  const split = (text = '') => text.split('_').filter((word) => word !== '');
  const wanted = [...new Set(split(query))];
  return tools
    .map((tool) => {
      const places = [
        [8, split(tool.tool)],
        [5, split(tool.title)],
        [4, [tool.server]],
        [2, split(tool.description)],
      ] as const;
      const best = wanted.map((word) =>
        Math.max(
          0,
          ...places.flatMap(([weight, there]) =>
            there
              .filter((own) => own.startsWith(word))
              .map((own) => weight * (own === word ? 2 : 1)),
          ),
        ),
      );
      const sum = best.reduce((a, b) => a + b, 0);
      return { tool, score: (sum * best.filter((score) => score > 0).length) / wanted.length };
    })
    .filter(({ score }) => score > 0)
    .map((match, at) => ({ match, at }))
    .sort((a, b) => b.match.score - a.match.score || a.at - b.at)
    .map(({ match }) => match);
}
