import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  type ChartFacts,
  namedFacts,
  sourceOf,
  transitionOfTimer,
  transitionsOf,
} from '../../visualizations/inspector/model/chart-facts.ts';
import {
  activeWords,
  afterTimer,
  litStates,
} from '../../visualizations/inspector/model/lit-states.ts';
import {
  centredOn,
  fitted,
  kept,
  sees,
  zoomed,
} from '../../visualizations/inspector/model/viewport.ts';
import { pageStyleOf } from '../../visualizations/page-style.ts';

const pictures = new URL('../../visualizations/', import.meta.url);
const facts = JSON.parse(await readFile(new URL('charts.json', pictures), 'utf8')) as ChartFacts;

async function drawnIn(file: string): Promise<ReadonlySet<string>> {
  const svg = await readFile(new URL(file, pictures), 'utf8');
  return new Set([...svg.matchAll(/data-state="([^"]+)"/gu)].map(([, path = '']) => path));
}

describe('the lit states of a picture', () => {
  it('are the deepest ones that are drawn, and those around them', () => {
    const drawn = new Set(['connection', 'connection.engaged', 'connection.engaged.ready']);
    const { lit, within } = litStates(
      ['connection.engaged.ready.listing.current', 'catalog.live'],
      drawn,
    );
    expect([...lit]).toEqual(['connection.engaged.ready']);
    expect([...within]).toEqual(['connection', 'connection.engaged']);
  });

  it('are at least one in some picture for each leaf of each chart', async () => {
    for (const [name, { pictures: files, states }] of Object.entries(facts.machines)) {
      const drawn = await Promise.all(files.map(({ file }) => drawnIn(file)));
      const paths = Object.keys(states).filter((path) => path !== name);
      const leaves = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
      for (const leaf of leaves) {
        const isLit = drawn.some((picture) => litStates([leaf], picture).lit.has(leaf));
        expect(isLit, `${name} ${leaf}`).toBe(true);
      }
    }
  });

  it('are named in a word for each, and a folded state for all that is within', () => {
    const ready = 'connection.engaged.ready';
    const leaves = [`${ready}.listing.current`, `${ready}.health.steady`, 'catalog.none'];
    expect(activeWords(leaves, 'connection', [ready])).toEqual(['ready']);
    expect(activeWords(leaves, ready, [])).toEqual(['current', 'steady']);
    expect(activeWords(leaves, 'circuit', [])).toEqual([]);
    expect(activeWords(['calm'], undefined, [])).toEqual(['calm']);
  });
});

describe('a timer of a chart', () => {
  it('is found at the transition that it leads to', () => {
    const server = facts.machines['server'];
    const timer = afterTimer('xstate.after.circuitCooldown.server.circuit.open', 'circuitCooldown');
    expect(timer).toEqual({ delay: 'circuitCooldown', state: 'server.circuit.open' });
    expect(server && timer && transitionOfTimer(server, timer)).toBe('server.circuit.open#0');
  });

  it('is known by its id alone when the delay has no name', () => {
    expect(afterTimer('xstate.after.5000.slots.calm')).toEqual({
      delay: '5000',
      state: 'slots.calm',
    });
    expect(afterTimer('someId')).toBeUndefined();
    expect(afterTimer('xstate.after.a.b', 'other')).toBeUndefined();
  });
});

describe('the facts of a chart', () => {
  it('know the transitions that leave a state', () => {
    const server = facts.machines['server'];
    if (server === undefined) throw new Error('there is no server');
    const leaving = transitionsOf(server, 'server', 'circuit.open');
    expect(leaving.map(([id]) => id)).toEqual(['server.circuit.open#0']);
    expect(sourceOf('server', 'circuit#4')).toBe('circuit');
  });

  it('know a guard also with what it is asked about', () => {
    const guard = { doc: 'It may not run.' };
    expect(namedFacts({ isBlockedBy: guard }, 'isBlockedBy(untrusted)')).toBe(guard);
    expect(namedFacts({}, 'isBlockedBy')).toBeUndefined();
  });
});

describe('the style of the pictures', () => {
  it('follows the page in light and dark', async () => {
    const style = pageStyleOf(await readFile(new URL('slots.svg', pictures), 'utf8'));
    expect(style).toContain('--paper:light-dark(#fff,#0b1120)');
    expect(style).not.toContain('prefers-color-scheme');
    expect(() => pageStyleOf('<svg/>')).toThrow('no style');
  });
});

describe('the view of a picture', () => {
  const picture = { width: 2_000, height: 1_000 };
  const frame = { width: 1_032, height: 832 };

  it('holds all of it, in the middle', () => {
    expect(fitted(picture, frame)).toEqual({ scale: 0.5, x: 16, y: 166 });
  });

  it('keeps the point under the pointer when it grows', () => {
    const before = { x: 10, y: 20, scale: 0.5 };
    const at = { x: 110, y: 220 };
    const after = zoomed(before, 2, at);
    expect(after.scale).toBe(1);
    expect((at.x - after.x) / after.scale).toBe((at.x - before.x) / before.scale);
    expect(zoomed(before, 100, at).scale).toBe(3);
  });

  it('sees a box that it was brought to, and never loses the picture', () => {
    const box = { x: 1_500, y: 700, width: 100, height: 50 };
    expect(sees(centredOn(box, frame, 1), box, frame)).toBe(true);
    expect(sees({ x: 0, y: 0, scale: 1 }, box, frame)).toBe(false);
    expect(kept({ x: 9_999, y: -9_999, scale: 1 }, picture, frame)).toEqual({
      x: 952,
      y: -920,
      scale: 1,
    });
  });
});
