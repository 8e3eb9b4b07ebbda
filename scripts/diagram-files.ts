/**
 * Which files hold a generated diagram, and what belongs into them: the text
 * diagram in the leading comment of each file of a chart, and the pictures.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serverMachine } from '../machines/server/server.ts';
import { chartOutline, chartText } from '../src/testing/chart-text.ts';
import { layOutChart } from './charts/chart-layout.ts';
import {
  type ChartPicture,
  charts,
  type ListedChart,
  optionsOf,
  partsOf,
} from './charts/chart-list.ts';
import { chartSvg } from './charts/chart-svg.ts';
import { folderPicture } from './charts/folder-picture.ts';

/** A file of the repository with a diagram in it. */
export interface DiagramFile {
  /** Path from the root of the repository. */
  readonly path: string;
  /** Gives the whole file as it should be; `undefined` stands for a file that does not exist. */
  readonly update: (current: string | undefined) => string | Promise<string>;
}

const repository = fileURLToPath(new URL('..', import.meta.url));

/** All files with a diagram: each part of a chart is drawn in the file that writes it. */
export const diagramFiles: readonly DiagramFile[] = [
  comment('machines/server/server.ts', chartOutline(serverMachine)),
  ...charts.flatMap((chart) =>
    chart.pictures.flatMap((each) => [
      comment(each.source, drawingOf(chart, each)),
      picture(chart, each),
    ]),
  ),
  { path: 'visualizations/folders.svg', update: () => folderPicture(repository) },
];

/** The text diagram of a part of a chart; the parts in it are drawn in their own files. */
export function drawingOf(chart: ListedChart, of: ChartPicture): string {
  const inner = partsOf(chart, of).map((part) => [part.of, basename(part.source)] as const);
  return chartText(chart.machine, {
    ...(of.of === chart.machine.id ? {} : { of: of.of }),
    elsewhere: Object.fromEntries(inner),
  });
}

/** Names the files whose diagram differs from the chart. */
export async function staleDiagrams(root: string): Promise<readonly string[]> {
  const stale = await Promise.all(
    diagramFiles.map(async ({ path, update }) => {
      const current = await contentOf(join(root, path));
      return (await update(current)) === current ? [] : [path];
    }),
  );
  return stale.flat();
}

/** Brings all diagrams up to date and names the files that it changed. */
export async function writeDiagrams(root: string): Promise<readonly string[]> {
  const stale = new Set(await staleDiagrams(root));
  const files = diagramFiles.filter(({ path }) => stale.has(path));
  await Promise.all(
    files.map(async ({ path, update }) => {
      const file = join(root, path);
      await writeFile(file, await update(await contentOf(file)));
    }),
  );
  return [...stale];
}

/** Replaces the text diagram in the leading comment of a source file. */
export function withDiagram(source: string, diagram: string): string {
  const block = / \* ```text\n(?: \*.*\n)*? \* ```\n/;
  if (!block.test(source)) throw new Error('the leading comment has no ```text block');
  const lines = diagram.split('\n').map((line) => ` * ${line}`);
  // A function, because `$` in a replacement string has a meaning.
  return source.replace(block, () => [' * ```text', ...lines, ' * ```', ''].join('\n'));
}

function comment(path: string, diagram: string): DiagramFile {
  const update = (current: string | undefined): string => {
    if (current === undefined) throw new Error(`${path} does not exist`);
    return withDiagram(current, diagram);
  };
  return { path, update };
}

function picture(chart: ListedChart, of: ChartPicture): DiagramFile {
  const draw = async (): Promise<string> =>
    chartSvg(await layOutChart(chart.machine, optionsOf(chart, of)), `The chart ${of.name}`);
  return { path: `visualizations/${of.name}.svg`, update: draw };
}

async function contentOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
