/**
 * Draws which source folder imports which. The descriptions come from the table in CONTRIBUTING.
 * Arrows that other arrows imply are left out, and dashed arrows import types only.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ELK, ElkExtendedEdge, ElkNode } from 'elkjs';
import elk from 'elkjs/lib/elk.bundled.js';
import { quotedFor } from '../../src/policies/text/quoted.ts';
import { pointsOf } from './chart-graph.ts';
import { boxSize, letter, textMargin } from './chart-measures.ts';
import { svgOf, way } from './chart-svg.ts';
import { tidy } from './drawing.ts';

interface Folder {
  readonly name: string;
  readonly holds: readonly string[];
}

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isOfTypes: boolean;
}

const shipped = /^(?:src\/\w+|machines|actors|visualizations)\/$/u;
// A column narrow enough to read at a glance.
const widestLetters = 26;

/** The picture as the text of an SVG file. */
export async function folderPicture(root: string): Promise<string> {
  const folders = foldersIn(readFileSync(path.join(root, 'CONTRIBUTING.md'), 'utf8'));
  const imports = withoutImplied(importsAmong(root, folders));
  const layout: ELK = new elk.default();
  const placed: ElkNode = await layout.layout({
    id: 'folders',
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': 'DOWN',
      'elk.edgeRouting': 'ORTHOGONAL',
      'elk.randomSeed': '1',
      'elk.padding': '[top=12,left=12,bottom=12,right=12]',
      'elk.spacing.nodeNode': '18',
      'elk.layered.spacing.nodeNodeBetweenLayers': '28',
      'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
    },
    children: folders.map(boxOf),
    edges: imports.map(({ from, to }) => ({
      id: `${from} ${to}`,
      sources: [from],
      targets: [to],
    })),
  });
  const { width = 0, height = 0, children = [], edges = [] } = placed;
  return svgOf({ width, height }, 'The folders, and which imports which', [
    ...edges.map((edge, place) => edgeSvg(edge, imports[place])),
    ...children.map((box, place) => folderSvg(box, folders[place])),
  ]);
}

/** The table's rows about shipped folders. */
function foldersIn(contributing: string): readonly Folder[] {
  const rows = contributing.matchAll(/^\| `([^`]+)` \| ([^|]+) \|/gmu);
  return [...rows].flatMap(([, name = '', holds = '']) =>
    shipped.test(name) ? [{ name, holds: wrapped(holds.replaceAll('`', '').trim()) }] : [],
  );
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= widestLetters) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function importsAmong(root: string, folders: readonly Folder[]): readonly Import[] {
  const found = new Map<string, Import>();
  const files = folders.flatMap(({ name }) => filesBelow(root, name));
  for (const file of files) {
    const from = folderOf(file, folders) ?? '';
    for (const { target, isOfTypes } of importsOf(readFileSync(path.join(root, file), 'utf8'))) {
      const to = folderOf(path.posix.join(path.posix.dirname(file), target), folders);
      if (to === undefined || to === from) continue;
      const before = found.get(`${from} ${to}`)?.isOfTypes ?? true;
      found.set(`${from} ${to}`, { from, to, isOfTypes: isOfTypes && before });
    }
  }
  return [...found.values()];
}

function importsOf(
  text: string,
): readonly { readonly target: string; readonly isOfTypes: boolean }[] {
  const atOnce = text.matchAll(/^(?:import|export) (type )?[^;]*?from '(\.[^']+)';/gmsu);
  const later = text.matchAll(/\bimport\('(\.[^']+)'\)/gu);
  return [
    ...[...atOnce].map(([, type, target = '']) => ({ target, isOfTypes: type !== undefined })),
    ...[...later].map(([, target = '']) => ({ target, isOfTypes: false })),
  ];
}

/** An import of the public entry counts as one of the runtime. */
function folderOf(place: string, folders: readonly Folder[]): string | undefined {
  if (place === 'src/index.ts') return 'src/runtime/';
  return folders.find(({ name }) => place.startsWith(name))?.name;
}

function filesBelow(root: string, folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/u.test(name))
    .map((name) => path.posix.join(folder, name))
    .sort();
}

/** An import that a chain of other imports implies needs no arrow. */
function withoutImplied(imports: readonly Import[]): readonly Import[] {
  const next = (name: string): readonly string[] =>
    imports.filter(({ from }) => from === name).map(({ to }) => to);
  const reaches = (from: string, to: string): boolean =>
    next(from).some((each) => each === to || reaches(each, to));
  return imports.filter(
    ({ from, to }) => !next(from).some((each) => each !== to && reaches(each, to)),
  );
}

function boxOf({ name, holds }: Folder): ElkNode {
  const lines = [
    { kind: 'name' as const, text: name },
    ...holds.map((text) => ({ kind: 'inner' as const, text })),
  ];
  return { id: name, ...boxSize(lines) };
}

function edgeSvg(edge: ElkExtendedEdge, imported: Import | undefined): string {
  const kind = imported?.isOfTypes === true ? 'always' : 'event';
  return `<g class="arrow ${kind}">${way(pointsOf(edge))}</g>`;
}

function folderSvg(
  { x = 0, y = 0, width = 0, height = 0 }: ElkNode,
  folder: Folder | undefined,
): string {
  const texts = (folder?.holds ?? []).map(
    (line, row) =>
      `<text class="inner" x="${tidy(x + textMargin)}" y="${tidy(y + 34 + row * letter.height)}">${quotedFor('markup', line)}</text>`,
  );
  return [
    `<g class="state"><rect class="box" x="${tidy(x)}" y="${tidy(y)}" width="${width}" height="${height}" rx="7"/>`,
    `<text class="name" x="${tidy(x + textMargin)}" y="${tidy(y + 18)}">${quotedFor('markup', folder?.name ?? '')}</text>`,
    ...texts,
    '</g>',
  ].join('');
}
