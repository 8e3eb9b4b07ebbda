import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { layOutChart } from '../../scripts/charts/chart-layout.ts';
import {
  type ChartPicture,
  charts,
  type ListedChart,
  optionsOf,
  outerPictures,
  partsOf,
} from '../../scripts/charts/chart-list.ts';
import { letter } from '../../scripts/charts/chart-measures.ts';
import { chartSvg } from '../../scripts/charts/chart-svg.ts';
import type { DrawnState } from '../../scripts/charts/drawing.ts';
import { isWithin, pathOf, statesOf, transitionsOf } from '../../src/testing/chart-parts.ts';

async function pictureNamed(name: string): Promise<string> {
  const file = new URL(`../../visualizations/charts/${name}.svg`, import.meta.url);
  return readFile(fileURLToPath(file), 'utf8');
}

function valuesOf(svg: string, attribute: string): readonly string[] {
  const found = svg.matchAll(new RegExp(`${attribute}="([^"]*)"`, 'g'));
  return [...found].flatMap(([, value = '']) => value.split(' '));
}

/** Names of the parts of a picture that lie in no other part of it. */
function outermostParts(chart: ListedChart, whole: ChartPicture): readonly string[] {
  const parts = partsOf(chart, whole);
  return parts
    .filter(({ of }) => !parts.some((other) => of.startsWith(`${other.of}.`)))
    .map(({ name }) => name);
}

describe("a chart's pictures", () => {
  it.each(charts)('show every state and transition: $chart', async (chart) => {
    const { machine } = chart;
    const drawn = await Promise.all(chart.pictures.map(({ name }) => pictureNamed(name)));
    const pictures = drawn.join('\n');
    const states = statesOf(machine);
    // The server itself is the page around the pictures of its regions.
    const isWhole = chart.pictures.some(({ of }) => of === machine.id);
    const shown = states.filter((state) => state !== machine.root || isWhole);
    expect(new Set(valuesOf(pictures, 'data-state'))).toEqual(new Set(shown.map(pathOf)));
    const transitions = states.flatMap((state) =>
      transitionsOf(state).map((_, place) => `${state.id}#${place}`),
    );
    expect(new Set(valuesOf(pictures, 'data-transitions'))).toEqual(new Set(transitions));
  });

  it("name each collapsed part's picture", async () => {
    for (const chart of charts) {
      for (const whole of chart.pictures) {
        const svg = await pictureNamed(whole.name);
        const folded = [...svg.matchAll(/>drawn in ([^<]+)</gu)].map(([, name]) => name);
        expect(new Set(folded)).toEqual(new Set(outermostParts(chart, whole)));
      }
    }
  });

  it('are all listed in their README', async () => {
    const readme = await readFile(
      new URL('../../visualizations/README.md', import.meta.url),
      'utf8',
    );
    for (const { name } of charts.flatMap(({ pictures }) => pictures)) {
      expect(readme).toContain(`(charts/${name}.svg)`);
    }
  });

  it('contain no markup in text, no scripts and no external resources', async () => {
    const chart = createMachine({
      id: '<script>alert(1)</script>',
      initial: 'a"&<b>',
      states: { 'a"&<b>': { on: { 'x<y': 'end' } }, end: { type: 'final' } },
    });
    const svg = chartSvg(await layOutChart(chart), 'A & <B>');
    expect(svg).toContain('<title>A &amp; &lt;B&gt;</title>');
    expect(svg).toContain('a&quot;&amp;&lt;b&gt;</text>');
    expect(svg).toContain('x&lt;y</text>');
    expect(svg).not.toMatch(/<script|<b>|href|url\(|\son\w+=/i);
  });

  it('are deterministic', async () => {
    const [chart] = charts;
    const [whole] = chart?.pictures ?? [];
    if (chart === undefined || whole === undefined) throw new Error('there is no chart');
    const options = optionsOf(chart, whole);
    const draw = async () => chartSvg(await layOutChart(chart.machine, options), 'a');
    expect(await draw()).toBe(await draw());
  });

  it.each(charts.flatMap((chart) => outerPictures(chart).map((whole) => ({ chart, whole }))))(
    'have no overlapping boxes and no overflowing text: $whole.name',
    async ({ chart, whole }) => {
      const unfolded = partsOf(chart, whole).map(({ of }) => of);
      const { states } = await layOutChart(chart.machine, optionsOf(chart, whole, unfolded));
      for (const one of states) {
        const longest = Math.max(...one.lines.map(({ text }) => text.length));
        expect(one.width, pathOf(one.state)).toBeGreaterThanOrEqual(longest * letter.smallWidth);
        const overlapping = states.filter((other) => !isApart(one, other));
        const strangers = overlapping.filter(
          ({ state }) => !isWithin(state, one.state) && !isWithin(one.state, state),
        );
        expect(
          strangers.map(({ state }) => pathOf(state)),
          pathOf(one.state),
        ).toEqual([]);
      }
    },
  );
});

function isApart(one: DrawnState, other: DrawnState): boolean {
  return (
    one.x + one.width <= other.x ||
    other.x + other.width <= one.x ||
    one.y + one.height <= other.y ||
    other.y + other.height <= one.y
  );
}
