/** The sections of docs/charts.md: what each chart decides, its laws, its pictures and its events. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { charts, type ListedChart } from '../charts/chart-list.ts';

export async function chartSections(root: string): Promise<string> {
  const sections = await Promise.all(charts.map((chart) => sectionOf(root, chart)));
  return sections.join('\n\n');
}

async function sectionOf(root: string, { machine, pictures }: ListedChart): Promise<string> {
  const [first] = pictures;
  if (first === undefined) throw new Error(`the chart ${machine.id} has no picture`);
  // A chart in several files has its prose where they are joined, in a file of its name.
  const folder = path.posix.dirname(first.source);
  const source = folder === 'machines' ? first.source : `${folder}/${nameIn(folder, first.source)}`;
  const prose = proseOf(await readFile(path.join(root, source), 'utf8'));
  const images = pictures.map(
    ({ name, title }) => `[${title}](../visualizations/charts/${name}.svg)`,
  );
  const events = machine.events
    .map(String)
    .filter((type) => !type.startsWith('xstate.'))
    .toSorted()
    .map((type) => `\`${type}\``);
  return [
    `## ${machine.id}`,
    prose,
    `Source: \`${source}\`. Pictures: ${images.join(', ')}. [As JSON](../visualizations/charts/json/${machine.id}.json).`,
    `Events: ${events.join(', ') || 'none but those of its own actors'}.`,
  ].join('\n\n');
}

/** The file of a folder that joins the parts of a chart; another chart may be in the folder too. */
function nameIn(folder: string, source: string): string {
  const own = path.posix.basename(folder);
  const isOther = ['list-refresh.ts', 'handover.ts'].includes(path.posix.basename(source));
  return isOther ? path.posix.basename(source) : `${own}.ts`;
}

/** The leading comment of a file, without its diagram. */
function proseOf(text: string): string {
  const [, comment = ''] = /^\/\*\*\n([^]*?)\n \*\//.exec(text) ?? [];
  const lines = comment.split('\n').map((line) => line.replace(/^ \* ?/, ''));
  const prose = lines
    .join('\n')
    .replace(/```text\n[^]*?```\n?/, '')
    .trim();
  // Paragraphs and list items are one line each, as in all documents.
  return prose.replace(/(?<!\n)\n(?!\n|\d+\. |- )(?=\S| {3})/g, ' ').replace(/ {2,}/g, ' ');
}
