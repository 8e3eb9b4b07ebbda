/**
 * Draws a chart that was laid out as SVG: one picture for light and dark, without
 * scripts. States and arrows carry the names that a running chart uses for them
 * (`data-state`, `data-transitions`), so that a page can highlight them.
 */

import type { AnyStateNode } from 'xstate';
import { quotedFor } from '../../src/policies/text/quoted.ts';
import { pathOf, withAncestors } from '../../src/testing/chart-parts.ts';
import { letter, textMargin } from './chart-measures.ts';
import {
  type Drawing,
  type DrawnArrow,
  type DrawnStart,
  type DrawnState,
  type Point,
  tidy,
} from './drawing.ts';

export function chartSvg(drawing: Drawing, title: string): string {
  return svgOf(drawing, title, [
    ...drawing.states.map(stateSvg),
    ...drawing.starts.map(startSvg),
    // Labels above all lines, or a line would cross a label.
    ...drawing.arrows.map(lineSvg),
    ...drawing.arrows.map(labelSvg),
  ]);
}

/** Of a light picture. */
const colours: Readonly<Record<string, string>> = {
  ...{ paper: '#fff', box: '#fff', group: '#f8fafc', line: '#94a3b8', frame: '#2563eb' },
  ...{ text: '#0f172a', soft: '#475569', event: '#526077', after: '#a34508', always: '#526077' },
  ...{ done: '#15803d', error: '#c81e1e', invoke: '#7c3aed', tag: '#0f766e' },
};

/** A picture in the style of the charts. */
export function svgOf(
  { width, height }: Pick<Drawing, 'width' | 'height'>,
  title: string,
  elements: readonly string[],
): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" class="chart">`,
    `<title>${quotedFor('markup', title)}</title>`,
    `<style>${style}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...elements,
    '</svg>',
    '',
  ].join('\n');
}

/** A colour before its variable, for programs that know no variables: librsvg would paint all black. */
function withLiteral(declaration: string, property: string, name: string): string {
  return `${property}:${colours[name] ?? ''};${declaration}`;
}

const style = [
  `.chart{${Object.entries(colours)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')}}`,
  '@media (prefers-color-scheme:dark){.chart{--paper:#0b1120;--box:#172033;--group:#111a2c;--line:#4b5b76;--frame:#5b8def;--text:#e6edf7;--soft:#a9b7cc;--event:#93a3bb;--after:#f0a35e;--always:#93a3bb;--done:#5fd08a;--error:#ff8080;--invoke:#b79cff;--tag:#5fd3c4}}',
  '.chart text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px;white-space:pre;fill:var(--soft)}',
  '.chart .paper{fill:var(--paper)}',
  '.chart .box{fill:var(--box);stroke:var(--line);stroke-width:1.2}',
  '.chart .compound>.box{fill:var(--group)}',
  '.chart .region>.box{fill:var(--group);stroke:var(--frame);stroke-width:1.5;stroke-dasharray:5 4}',
  '.chart .top>.box{stroke:var(--frame);stroke-width:1.8;stroke-dasharray:none}',
  '.chart .folded>.box{fill:var(--group);stroke-width:2.4;stroke-dasharray:none}',
  '.chart .rim{fill:none;stroke:var(--line);stroke-width:1.2}',
  '.chart .name{font-size:13px;font-weight:700;fill:var(--text)}',
  '.chart .invoke{fill:var(--invoke)}.chart .tag{fill:var(--tag)}.chart .fold{fill:var(--frame)}',
  '.chart .way{fill:none;stroke-width:1.3}',
  '.chart .back{fill:var(--group);fill-opacity:.94}',
  '.chart .mark{fill:var(--text)}.chart .mark~.way{stroke:var(--text)}.chart .mark~.tip{fill:var(--text)}',
  ...['event', 'after', 'always', 'done', 'error'].map(
    (kind) =>
      `.chart .${kind} .way{stroke:var(--${kind})}.chart .${kind} .tip,.chart .${kind} text,.chart text.${kind}{fill:var(--${kind})}`,
  ),
  '.chart .always .way{stroke-dasharray:4 3}',
]
  .join('')
  .replaceAll(/([\w-]+):var\(--(\w+)\)/gu, withLiteral);

function stateSvg({ state, lines, isFolded, ...box }: DrawnState, place: number): string {
  const { x, y, width, height } = box;
  const frame = (inset: number, name: string): string =>
    `<rect class="${name}" x="${x + inset}" y="${y + inset}" width="${width - 2 * inset}" height="${height - 2 * inset}" rx="${7 - inset}"/>`;
  return [
    `<g class="${classesOf(state, place, isFolded)}" data-state="${quotedFor('markup', pathOf(state))}">`,
    frame(0, 'box'),
    ...(state.type === 'final' ? [frame(3, 'rim')] : []),
    ...lines.map(
      ({ kind, text, transitions }, row) =>
        `<text class="${kind}"${transitionsAttribute(transitions)} x="${x + textMargin}" y="${y + 18 + row * letter.height}">${quotedFor('markup', text)}</text>`,
    ),
    '</g>',
  ].join('');
}

function transitionsAttribute(transitions: readonly string[]): string {
  return transitions.length === 0
    ? ''
    : ` data-transitions="${quotedFor('markup', transitions.join(' '))}"`;
}

function classesOf(state: AnyStateNode, place: number, isFolded: boolean): string {
  const isRegion = withAncestors(state)[1]?.type === 'parallel';
  const kinds = {
    compound: state.type === 'compound' || state.type === 'parallel',
    region: isRegion,
    top: place === 0,
    final: state.type === 'final',
    folded: isFolded,
  };
  const named = Object.entries(kinds).flatMap(([name, is]) => (is ? [name] : []));
  return ['state', ...named].join(' ');
}

function startSvg({ mark, points }: DrawnStart): string {
  return `<g class="start"><circle class="mark" cx="${mark.x}" cy="${mark.y}" r="5"/>${way(points)}</g>`;
}

function lineSvg({ arrow, points }: DrawnArrow): string {
  return `<g class="arrow ${arrow.kind}"${transitionsAttribute(arrow.transitions)}>${way(points)}</g>`;
}

function labelSvg({ arrow, lines, label }: DrawnArrow): string {
  if (lines.length === 0) return '';
  const { x, y, width, height } = label;
  const rows = lines.map(
    ({ kind, text, transitions }, row) =>
      `<text class="${kind}"${transitionsAttribute(transitions)} x="${x + 4}" y="${y + 12 + row * (letter.height - 1)}">${quotedFor('markup', text)}</text>`,
  );
  return [
    `<g class="label ${arrow.kind}"${transitionsAttribute(arrow.transitions)}>`,
    `<rect class="back" x="${x}" y="${y}" width="${width}" height="${height}" rx="3"/>`,
    ...rows,
    '</g>',
  ].join('');
}

const bend = 6;

/** An arrow with rounded corners and a tip. */
export function way(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const end = rest.at(-1);
  if (first === undefined || end === undefined) return '';
  const parts = rest.map((point, place) => {
    const next = rest[place + 1];
    const before = rest[place - 1] ?? first;
    if (next === undefined) return `L${point.x} ${point.y}`;
    const from = towards(point, before);
    const to = towards(point, next);
    return `L${from.x} ${from.y}Q${point.x} ${point.y} ${to.x} ${to.y}`;
  });
  return `<path class="way" d="M${first.x} ${first.y}${parts.join('')}"/>${tip(rest.at(-2) ?? first, end)}`;
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const part = length === 0 ? 0 : Math.min(bend, length / 2) / length;
  return { x: tidy(from.x + (to.x - from.x) * part), y: tidy(from.y + (to.y - from.y) * part) };
}

function tip(before: Point, { x, y }: Point): string {
  const dx = Math.sign(x - before.x);
  const dy = Math.sign(y - before.y);
  const [bx, by] = [x - 8 * dx, y - 8 * dy];
  return `<path class="tip" d="M${x} ${y}L${tidy(bx + 4 * dy)} ${tidy(by + 4 * dx)}L${tidy(bx - 4 * dy)} ${tidy(by - 4 * dx)}Z"/>`;
}
