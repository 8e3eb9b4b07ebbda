import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { diagramFiles, withDiagram } from '../../scripts/diagram-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What each file with such an ending below a folder has of something, by its path. */
function measured(
  folder: string,
  ending: string,
  measure: (text: string) => number | undefined,
): ReadonlyMap<string, number> {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return new Map(
    names
      .filter((name) => name.endsWith(ending))
      .flatMap((name) => {
        const size = measure(readFileSync(join(root, folder, name), 'utf8'));
        return size === undefined ? [] : [[`${folder}/${name}`, size] as const];
      }),
  );
}

function linesOfDiagram(source: string): number | undefined {
  const diagram = / \* ```text\n((?: \*.*\n)*?) \* ```\n/.exec(source)?.[1];
  return diagram?.trimEnd().split('\n').length;
}

function widthOf(svg: string): number | undefined {
  const width = /class="chart"/.test(svg) ? / width="(\d+)"/.exec(svg)?.[1] : undefined;
  return width === undefined ? undefined : Number(width);
}

describe('diagrams', () => {
  it.each(diagramFiles)('match their charts: $path (npm run diagrams updates it)', async (file) => {
    const current = readFileSync(join(root, file.path), 'utf8');
    expect(await file.update(current)).toBe(current);
  });

  it('have at most 60 lines', () => {
    const lines = measured('machines', '.ts', linesOfDiagram);
    expect(lines.size).toBeGreaterThan(0);
    expect([...lines].filter(([, count]) => count > 60)).toEqual([]);
  });

  it('are at most 1440 pixels wide', () => {
    const widths = measured('visualizations/charts', '.svg', widthOf);
    expect(widths.size).toBeGreaterThan(0);
    expect([...widths].filter(([, width]) => width > 1_440)).toEqual([]);
  });

  it('use text of at least 12 pixels', () => {
    const sizes = measured('visualizations/charts', '.svg', (svg) =>
      Math.min(...[...svg.matchAll(/font-size:(\d+)px/g)].map(([, size]) => Number(size))),
    );
    expect([...sizes].filter(([, size]) => size < 12)).toEqual([]);
  });

  it('replace only the block in the leading comment', () => {
    const source = '/**\n * Why.\n *\n * ```text\n * old\n * ```\n */\n\ncode();\n';
    const once = withDiagram(source, '[*] -> $a');
    expect(once).toBe('/**\n * Why.\n *\n * ```text\n * [*] -> $a\n * ```\n */\n\ncode();\n');
    expect(withDiagram(once, '[*] -> $a')).toBe(once);
  });

  it('throw when a chart has no block for its diagram', () => {
    expect(() => withDiagram('/** Why. */\n', '[*] -> a')).toThrow('no ```text block');
  });
});
