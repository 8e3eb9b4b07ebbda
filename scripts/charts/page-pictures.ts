/**
 * The pictures of the inspector's page and their facts. A page shows one picture for each
 * region, with its parts folded or unfolded; each combination is a file of its own.
 */

import type { FoldablePicture } from '../../visualizations/inspector/model/folding.ts';
import { foldingsOf, pictureFile } from '../../visualizations/inspector/model/folding.ts';
import { chartFacts } from './chart-facts.ts';
import { layOutChart } from './chart-layout.ts';
import {
  type ChartPicture,
  charts,
  type ListedChart,
  optionsOf,
  outerPictures,
  partsOf,
} from './chart-list.ts';
import { ChartSources } from './chart-sources.ts';
import { chartSvg } from './chart-svg.ts';

/** A picture as `charts.json` names it. */
export interface PagePicture extends FoldablePicture {
  readonly title: string;
  /** Dotted path of the state that it shows; the chart's id stands for the whole chart. */
  readonly of: string;
}

// The width of a common small screen. Larger pictures start folded.
const largestAtFirst = 1_440;

/** Text of every file by its name. `root` is the folder of the repository. */
export async function pageFiles(root: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const sources = new ChartSources(root);
  const machines: Record<string, unknown> = {};
  for (const chart of charts) {
    const pictures: PagePicture[] = [];
    for (const whole of outerPictures(chart)) {
      pictures.push(await addPicture(files, chart, whole));
    }
    machines[chart.machine.id] = { pictures, ...chartFacts(chart, sources) };
  }
  return files.set('charts.json', `${JSON.stringify({ machines })}\n`);
}

async function addPicture(
  files: Map<string, string>,
  chart: ListedChart,
  whole: ChartPicture,
): Promise<PagePicture> {
  const parts = partsOf(chart, whole).map(({ of, name }) => ({ path: of, name }));
  let largest = 0;
  for (const unfolded of foldingsOf(parts)) {
    const drawing = await layOutChart(chart.machine, optionsOf(chart, whole, unfolded));
    largest = Math.max(largest, drawing.width, drawing.height);
    files.set(pictureFile({ ...whole, parts }, unfolded), chartSvg(drawing, whole.title));
  }
  const { name, title, of } = whole;
  return { name, title, of, parts, foldsAtFirst: largest > largestAtFirst };
}
