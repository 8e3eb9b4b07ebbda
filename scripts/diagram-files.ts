/**
 * The files with a generated diagram: the text diagram in the leading comment of each file of a
 * chart, and the pictures.
 */

import { basename } from 'node:path';

import { serverMachine } from '../machines/server/server.ts';
import { chartConfig } from '../src/recorder/chart-json.ts';
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
import { type GeneratedFile, root } from './generated-files.ts';

/** Each part of a chart is drawn in the file that writes it. */
export const diagramFiles: readonly GeneratedFile[] = [
  comment('machines/server/server.ts', chartOutline(serverMachine)),
  ...charts.map(({ machine }) => ({
    path: `visualizations/charts/json/${machine.id}.json`,
    update: () => `${JSON.stringify(chartConfig(machine), null, 2)}\n`,
  })),
  ...charts.flatMap((chart) =>
    chart.pictures.flatMap((each) => [
      comment(each.source, drawingOf(chart, each)),
      picture(chart, each),
    ]),
  ),
  { path: 'visualizations/charts/folders.svg', update: () => folderPicture(root) },
];

/** The text diagram of a part of a chart; its inner parts are drawn in their own files. */
function drawingOf(chart: ListedChart, of: ChartPicture): string {
  const inner = partsOf(chart, of).map((part) => [part.of, basename(part.source)] as const);
  return chartText(chart.machine, {
    ...(of.of === chart.machine.id ? {} : { of: of.of }),
    elsewhere: Object.fromEntries(inner),
  });
}

/** Replaces the text diagram in the leading comment of a source file. */
export function withDiagram(source: string, diagram: string): string {
  const block = / \* ```text\n(?: \*.*\n)*? \* ```\n/;
  if (!block.test(source)) throw new Error('the leading comment has no ```text block');
  const lines = diagram.split('\n').map((line) => ` * ${line}`);
  // A function, because `$` in a replacement string has a meaning.
  return source.replace(block, () => [' * ```text', ...lines, ' * ```', ''].join('\n'));
}

function comment(path: string, diagram: string): GeneratedFile {
  return { path, update: (current) => withDiagram(current, diagram) };
}

function picture(chart: ListedChart, of: ChartPicture): GeneratedFile {
  const draw = async (): Promise<string> =>
    chartSvg(await layOutChart(chart.machine, optionsOf(chart, of)), `The chart ${of.name}`);
  return { path: `visualizations/charts/${of.name}.svg`, update: draw };
}
