/**
 * The pictures of the inspector's page and their facts. A page shows one picture for each
 * region, with its parts folded or unfolded; each combination is a file of its own.
 */

import type { FoldablePicture } from '../../visualizations/page/model/folding.ts';
import { foldingsOf, pictureFile, pictureScopes } from '../../visualizations/page/model/folding.ts';
import type { Size } from '../../visualizations/page/model/viewport.ts';
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
  const { name, title, of } = whole;
  const sizes: Record<string, Size> = {};
  let largest = 0;
  for (const scope of pictureScopes) {
    for (const unfolded of foldingsOf(parts)) {
      const options = { ...optionsOf(chart, whole, unfolded), scope };
      const drawing = await layOutChart(chart.machine, options);
      const { width, height } = drawing;
      const file = pictureFile({ name, parts }, unfolded, scope);
      if (scope === 'details') largest = Math.max(largest, width, height);
      sizes[file] = { width, height };
      files.set(file, chartSvg(drawing, title));
    }
  }
  return { name, title, of, parts, sizes, foldsAtFirst: largest > largestAtFirst };
}
