/**
 * Which files hold a generated diagram, and what belongs into them: the text
 * diagram in the leading comment of each chart, the Mermaid files, the pictures and
 * the facts about them.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { permissionMachine } from '../machines/permission.ts';
import { questionMachine } from '../machines/question.ts';
import { serverMachine } from '../machines/server/server.ts';
import { slotsMachine } from '../machines/slots.ts';
import { troupeMachine } from '../machines/troupe/troupe.ts';
import { chartMermaid } from '../src/testing/chart-mermaid.ts';
import { chartOutline, chartText } from '../src/testing/chart-text.ts';
import { type ChartPicture, type ChartSubject, chartFactsText } from './charts/chart-facts.ts';
import { layOutChart, type PictureOptions } from './charts/chart-layout.ts';
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

// Four regions of its own: a picture in the picture, which nobody could read there.
const ready = 'connection.engaged.ready';
const serverRegions = ['connection', 'catalog', 'circuit'];

/** The charts, with their pictures in the order of a page. */
export const chartSubjects: readonly ChartSubject[] = [
  {
    machine: serverMachine,
    chart: 'serverMachine',
    setup: 'serverSetup',
    pictures: [
      shown('server.connection', 'Connection', 'connection'),
      shown('server.ready', 'While it is ready', ready),
      shown('server.catalog', 'Catalog', 'catalog'),
      shown('server.circuit', 'Circuit', 'circuit'),
    ],
  },
  {
    machine: troupeMachine,
    chart: 'troupeMachine',
    setup: 'troupeSetup',
    pictures: [shown('troupe', 'The root', 'troupe')],
  },
  {
    machine: slotsMachine,
    chart: 'slotsMachine',
    setup: 'slotsMachine',
    pictures: [shown('slots', 'The start permits', 'slots')],
  },
  {
    machine: permissionMachine,
    chart: 'permissionMachine',
    setup: 'permissionSetup',
    pictures: [shown('permission', 'The permission of a call', 'permission')],
  },
  {
    machine: questionMachine,
    chart: 'questionMachine',
    setup: 'questionSetup',
    pictures: [shown('question', 'A question of a server', 'question')],
  },
];

/** All files with a diagram. The server's regions have one each, for in one picture nobody finds his way. */
export const diagramFiles: readonly DiagramFile[] = [
  comment('machines/server/server.ts', chartOutline(serverMachine)),
  ...serverRegions.flatMap((of) => [
    comment(`machines/server/${of}.ts`, chartText(serverMachine, { of })),
    text(`visualizations/server.${of}.mmd`, chartMermaid(serverMachine, { of })),
  ]),
  comment('machines/troupe/troupe.ts', chartText(troupeMachine)),
  text('visualizations/troupe.mmd', chartMermaid(troupeMachine)),
  comment('machines/slots.ts', chartText(slotsMachine)),
  text('visualizations/slots.mmd', chartMermaid(slotsMachine)),
  comment('machines/permission.ts', chartText(permissionMachine)),
  text('visualizations/permission.mmd', chartMermaid(permissionMachine)),
  comment('machines/question.ts', chartText(questionMachine)),
  text('visualizations/question.mmd', chartMermaid(questionMachine)),
  picture('troupe', troupeMachine),
  picture('slots', slotsMachine),
  picture('permission', permissionMachine),
  picture('question', questionMachine),
  picture('server.connection', serverMachine, { of: 'connection', fold: [ready] }),
  picture('server.ready', serverMachine, { of: ready }),
  picture('server.catalog', serverMachine, { of: 'catalog' }),
  picture('server.circuit', serverMachine, { of: 'circuit' }),
  {
    path: 'visualizations/charts.json',
    update: () => chartFactsText(repository, chartSubjects),
  },
  { path: 'visualizations/folders.svg', update: () => folderPicture(repository) },
];

function shown(name: string, title: string, of: string): ChartPicture {
  return { file: `${name}.svg`, title, of };
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

function text(path: string, diagram: string): DiagramFile {
  return { path, update: () => diagram };
}

function picture(
  name: string,
  machine: AnyStateMachine,
  options: PictureOptions = {},
): DiagramFile {
  const draw = async (): Promise<string> =>
    chartSvg(await layOutChart(machine, options), `The chart ${name}`);
  return { path: `visualizations/${name}.svg`, update: draw };
}

async function contentOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
