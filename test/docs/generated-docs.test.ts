import { describe, expect, it } from 'vitest';
import { generatedDocs } from '../../scripts/docs/generated-docs.ts';
import { table, withBlock } from '../../scripts/docs/markdown.ts';
import { mcpKeyTable } from '../../scripts/docs/mcp-tables.ts';
import { staleFiles } from '../../scripts/generated-files.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

describe('generated documentation', () => {
  it('matches the output of npm run docs', async () => {
    expect(await staleFiles(generatedDocs)).toEqual([]);
  });

  it('describes every key in the mcp section', () => {
    const { problems } = parseSettings('{ "mcp": { "zzzzzzzz": 1 } }', {
      file: 'x',
      scope: 'config',
      projectRoot: '/',
    });
    const [, keys = ''] = /one of (.*)$/.exec(problems[0]?.message ?? '') ?? [];
    const described = [...mcpKeyTable().matchAll(/^\| `(\w+)`/gm)].map(([, key]) => key ?? '');
    expect(new Set(described)).toEqual(new Set(keys.split(', ')));
  });

  it('replaces only the text between its markers', () => {
    const document = 'before\n<!-- generated: x -->\nold\n<!-- end: x -->\nafter\n';
    const once = withBlock(document, 'x', 'new $&');
    expect(once).toBe('before\n<!-- generated: x -->\n\nnew $&\n\n<!-- end: x -->\nafter\n');
    expect(withBlock(once, 'x', 'new $&')).toBe(once);
    expect(() => withBlock(document, 'y', 'new')).toThrow('no block');
  });

  it('escapes a pipe inside a cell', () => {
    expect(table(['a'], [['x | y']])).toBe('| a |\n| --- |\n| x \\| y |');
  });
});
