import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import { permissionMachine } from '../../machines/permission.ts';
import { questionMachine } from '../../machines/question.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import { layOutChart } from '../../scripts/charts/chart-layout.ts';
import { chartSvg } from '../../scripts/charts/chart-svg.ts';
import { pathOf, statesOf, transitionsOf } from '../../src/testing/chart-parts.ts';

const charts: readonly (readonly [AnyStateMachine, readonly string[]])[] = [
  [serverMachine, ['server.connection', 'server.ready', 'server.catalog', 'server.circuit']],
  [slotsMachine, ['slots']],
  [troupeMachine, ['troupe']],
  [permissionMachine, ['permission']],
  [questionMachine, ['question']],
];

async function pictureNamed(name: string): Promise<string> {
  const file = new URL(`../../visualizations/${name}.svg`, import.meta.url);
  return readFile(fileURLToPath(file), 'utf8');
}

function valuesOf(svg: string, attribute: string): readonly string[] {
  const found = svg.matchAll(new RegExp(`${attribute}="([^"]*)"`, 'g'));
  return [...found].flatMap(([, value = '']) => value.split(' '));
}

describe('the pictures of a chart', () => {
  it.each(charts)('show every state of it and every arrow', async (machine, names) => {
    const pictures = (await Promise.all(names.map(pictureNamed))).join('\n');
    const states = statesOf(machine);
    // The server itself is the page around the pictures of its regions.
    const drawn = states.filter((state) => state !== machine.root || names.length === 1);
    expect(new Set(valuesOf(pictures, 'data-state'))).toEqual(new Set(drawn.map(pathOf)));
    const arrows = states.flatMap((state) =>
      transitionsOf(state).flatMap(({ target }, place) =>
        (target ?? []).length === 0 ? [] : [`${state.id}#${place}`],
      ),
    );
    expect(new Set(valuesOf(pictures, 'data-transitions'))).toEqual(new Set(arrows));
  });

  it('hold no text that is markup, and nothing that runs or loads', async () => {
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

  it('are drawn the same twice', async () => {
    const draw = async () => chartSvg(await layOutChart(slotsMachine), 'slots');
    expect(await draw()).toBe(await draw());
  });

  it('put no box of a state over another that does not hold it', async () => {
    const { states } = await layOutChart(serverMachine, { of: 'connection' });
    for (const [place, one] of states.entries()) {
      for (const other of states.slice(place + 1)) {
        const isApart =
          one.x + one.width <= other.x ||
          other.x + other.width <= one.x ||
          one.y + one.height <= other.y ||
          other.y + other.height <= one.y;
        const isInside = pathOf(other.state).startsWith(`${pathOf(one.state)}.`);
        expect(isApart || isInside, `${pathOf(one.state)} and ${pathOf(other.state)}`).toBe(true);
      }
    }
  });
});
