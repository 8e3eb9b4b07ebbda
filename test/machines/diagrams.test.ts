import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { staleDiagrams, withDiagram } from '../../scripts/diagram-files.ts';

describe('diagrams', () => {
  it('match their charts (npm run diagrams writes them)', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url));
    expect(await staleDiagrams(root)).toEqual([]);
  });

  it('replace only the block in the leading comment', () => {
    const source = '/**\n * Why.\n *\n * ```text\n * old\n * ```\n */\n\ncode();\n';
    const once = withDiagram(source, '[*] -> $a');
    expect(once).toBe('/**\n * Why.\n *\n * ```text\n * [*] -> $a\n * ```\n */\n\ncode();\n');
    expect(withDiagram(once, '[*] -> $a')).toBe(once);
  });

  it('say so when a chart has no block for its diagram', () => {
    expect(() => withDiagram('/** Why. */\n', '[*] -> a')).toThrow('no ```text block');
  });
});
