import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { pageFiles } from '../../scripts/charts/page-pictures.ts';
import {
  type ChartFacts,
  namedFacts,
  sourceOf,
  transitionOfTimer,
  transitionsOf,
} from '../../visualizations/page/model/chart-facts.ts';
import { coverageOf, coveredIn } from '../../visualizations/page/model/coverage.ts';
import {
  foldingsOf,
  isOnActivePath,
  pictureFile,
  pictureScopes,
  unfoldedInOverview,
  unfoldedParts,
} from '../../visualizations/page/model/folding.ts';
import { activeWord, afterTimer, litStates } from '../../visualizations/page/model/lit-states.ts';
import { pathTo } from '../../visualizations/page/model/path.ts';
import {
  anchored,
  centredOn,
  fitted,
  following,
  kept,
  sees,
  visibleIn,
  zoomed,
} from '../../visualizations/page/model/viewport.ts';
import { pageStyleOf } from '../../visualizations/page-style.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = await pageFiles(root);
const facts = JSON.parse(files.get('charts.json') ?? '') as ChartFacts;

function drawnIn(file: string): ReadonlySet<string> {
  const states = (files.get(file) ?? '').matchAll(/data-state="([^"]+)"/gu);
  return new Set([...states].map(([, path = '']) => path));
}

/** Each picture of each chart, and the leaves that it shows. */
const shown = Object.entries(facts.machines).flatMap(([machine, { pictures, states }]) => {
  const paths = Object.keys(states).filter((path) => path !== machine);
  const leaves = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
  return pictures.map((picture) => ({
    picture,
    leaves: leaves.filter((leaf) => picture.of === machine || leaf.startsWith(`${picture.of}.`)),
  }));
});

describe("a picture's highlighted states", () => {
  it('are the deepest drawn states and their ancestors', () => {
    const drawn = new Set(['connection', 'connection.engaged', 'connection.engaged.ready']);
    const { lit, within } = litStates(
      ['connection.engaged.ready.listing.current', 'catalog.live'],
      drawn,
    );
    expect([...lit]).toEqual(['connection.engaged.ready']);
    expect([...within]).toEqual(['connection', 'connection.engaged']);
  });

  it('include the leaf itself in every chart', () => {
    for (const { picture, leaves } of shown) {
      for (const leaf of leaves) {
        const file = pictureFile(picture, unfoldedParts(picture, [leaf], new Map()));
        expect([...litStates([leaf], drawnIn(file)).lit]).toEqual([leaf]);
      }
    }
  });

  it('have a single label: the leaf or the common ancestor of all active states', () => {
    const ready = 'connection.engaged.ready';
    const leaves = [`${ready}.listing.current`, `${ready}.health.steady`, 'catalog.none'];
    expect(activeWord(leaves, 'connection')).toBe('ready');
    expect(activeWord(leaves, 'catalog')).toBe('none');
    expect(activeWord(leaves, 'circuit')).toBeUndefined();
    expect(activeWord(['calm'], undefined)).toBe('calm');
  });
});

describe("a picture's parts", () => {
  const parts = [
    { path: 'a', name: 'p.a' },
    { path: 'a.b', name: 'p.b' },
    { path: 'c', name: 'p.c' },
  ];
  const wide = { name: 'p', parts, foldsAtFirst: true };

  it('are initially folded if they do not all fit on a screen', () => {
    expect(unfoldedParts(wide, [], new Map())).toEqual([]);
    expect(unfoldedParts({ ...wide, foldsAtFirst: false }, [], new Map())).toEqual([
      'a',
      'a.b',
      'c',
    ]);
  });

  it('are always unfolded around an active state', () => {
    const folded = new Map([['a', false]]);
    expect(unfoldedParts(wide, ['a.x'], folded)).toEqual(['a']);
    expect(unfoldedParts(wide, ['a.b.x'], folded)).toEqual(['a', 'a.b']);
    expect(isOnActivePath('a', ['ab.x', 'a'])).toBe(false);
  });

  it("otherwise follow the user's choice, with an inner part shown only in an unfolded outer one", () => {
    expect(unfoldedParts(wide, ['c.x'], new Map([['a', true]]))).toEqual(['a', 'c']);
    expect(unfoldedParts(wide, [], new Map([['a.b', true]]))).toEqual([]);
  });

  it('have a drawing for each combination of folded parts', () => {
    expect(foldingsOf(parts)).toEqual([
      [],
      ['a'],
      ['a', 'a.b'],
      ['c'],
      ['a', 'c'],
      ['a', 'a.b', 'c'],
    ]);
    expect(pictureFile(wide, [])).toBe('p.svg');
    expect(pictureFile(wide, ['c', 'a'])).toBe('p+p.a+p.c.svg');
    for (const { picture } of shown) {
      for (const unfolded of foldingsOf(picture.parts)) {
        for (const scope of pictureScopes) {
          const file = pictureFile(picture, unfolded, scope);
          expect(files.has(file)).toBe(true);
          expect(Object.keys(picture.sizes)).toContain(file);
        }
      }
    }
  });

  it('are limited, because each doubles the drawings', () => {
    const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((path) => ({ path, name: path }));
    expect(() => foldingsOf(many)).toThrow('64 foldings');
  });

  it('keep the picture within a 1440-pixel screen, whatever is active', () => {
    for (const { picture, leaves } of shown) {
      for (const leaf of leaves) {
        const file = pictureFile(picture, unfoldedParts(picture, [leaf], new Map()));
        const [, width] = / width="(\d+)"/.exec(files.get(file) ?? '') ?? [];
        expect(Number(width), `${file} for ${leaf}`).toBeLessThanOrEqual(1_440);
      }
    }
  });
});

describe('an overview', () => {
  const beside = { width: 1_020, height: 740 };
  const phone = { width: 390, height: 612 };

  it('fits beside the panel, and on a phone, at full size while it is folded', () => {
    // The charts of a server; the other pages show the rest alone.
    for (const machine of ['server', 'session', 'refresh', 'troupe', 'slots']) {
      for (const picture of facts.machines[machine]?.pictures ?? []) {
        for (const [scope, frame] of [
          ['overview', beside],
          ['narrow', phone],
        ] as const) {
          const file = pictureFile(picture, [], scope);
          const size = picture.sizes[file] ?? { width: Infinity, height: Infinity };
          expect(fitted(size, frame).scale, file).toBe(1);
        }
      }
    }
  });

  it('shows names and triggers, and no state that is left at once', () => {
    const [connection] = facts.machines['server']?.pictures ?? [];
    if (connection === undefined) throw new Error('there is no picture');
    const all = connection.parts.map(({ path }) => path);
    const drawn = drawnIn(pictureFile(connection, all, 'overview'));
    expect(drawn).toContain('connection.parked.failed.crashLoop');
    expect(drawn).not.toContain('connection.parked.failed.choosing');
    expect(drawn).not.toContain('connection.settling.admitting');
    const text = files.get(pictureFile(connection, [], 'overview'));
    expect(text).toContain('server.start, +9');
    expect(text).not.toContain('entry /');
    expect(files.get(pictureFile(connection, [], 'narrow'))).not.toContain('server.start');
  });

  it('unfolds the active state as far as the whole chart stays readable', () => {
    const [connection] = facts.machines['server']?.pictures ?? [];
    if (connection === undefined) throw new Error('there is no picture');
    const unfolded = (leaf: string, choices = new Map<string, boolean>(), frame = beside) =>
      unfoldedInOverview(connection, [leaf], choices, { scope: 'overview', frame });
    const ready = 'connection.engaged.live.ready';
    expect(unfolded(ready)).toEqual(['connection.engaged']);
    expect(unfolded(ready, new Map([['connection.engaged', false]]))).toEqual([]);
    expect(unfolded(ready, new Map(), { width: 500, height: 300 })).toEqual([]);
    expect(unfolded('connection.retired', new Map([['connection.parked', true]]))).toEqual([
      'connection.parked',
    ]);
  });
});

describe('the path to a state', () => {
  const machine = { states: {}, guards: {}, actions: {}, delays: {}, pictures: [] };
  const edge = (...target: string[]) => ({ trigger: 'e', actions: [], target });
  const chart = {
    ...machine,
    transitions: {
      'm.a#0': edge('b'),
      'm.b#0': edge('c'),
      'm.b.x#0': edge('b.y'),
      'm.c#0': edge('a'),
      'm.c#1': edge(),
      'm.other#0': edge('other.x'),
    },
  };
  const path = (leaf: string, ...taken: string[]) => pathTo([leaf], taken, 'm', chart);

  it('leads back to the state that it has passed', () => {
    expect(path('c', 'm.c#0', 'm.a#0', 'm.b#0')).toEqual(['m.b#0', 'm.a#0', 'm.c#0']);
    expect(path('c', 'm.b#0', 'm.c#0', 'm.a#0', 'm.b#0')).toEqual(['m.b#0', 'm.a#0', 'm.c#0']);
  });

  it('follows states inside others, and skips other regions and steps that stay', () => {
    expect(path('b.y', 'm.a#0', 'm.other#0', 'm.b.x#0', 'm.c#1')).toEqual(['m.b.x#0', 'm.a#0']);
  });

  it('is empty when nothing was recorded', () => {
    expect(path('c')).toEqual([]);
    expect(path('c', 'm.unknown#0')).toEqual([]);
  });
});

describe("a chart's coverage", () => {
  const steps = [
    { kind: 'step', n: 1, t: 1, actor: 'x:1', type: 'e', edges: ['m.a#0', 'm.b#0'] },
    { kind: 'step', n: 2, t: 2, actor: 'x:2', type: 'e', edges: ['m.a#0'] },
    { kind: 'step', n: 3, t: 3, actor: 'x:3', type: 'e', edges: ['m.c#0'] },
    { kind: 'ignored', n: 4, t: 4, actor: 'x:1', type: 'e' },
  ] as const;

  it('counts the steps of every actor of the chart, and of no other', () => {
    const coverage = coverageOf(steps, 'server', (actor) =>
      actor === 'x:3' ? 'session' : 'server',
    );
    expect([...coverage]).toEqual([
      ['m.a#0', 2],
      ['m.b#0', 1],
    ]);
    const transition = { trigger: 'e', actions: [], target: [] };
    const transitions = { 'm.a#0': transition, 'm.b#0': transition, 'm.c#0': transition };
    expect(coveredIn({ transitions }, coverage, () => true)).toEqual({ taken: 2, all: 3 });
    expect(coveredIn({ transitions }, coverage, (id) => id === 'm.c#0')).toEqual({
      taken: 0,
      all: 1,
    });
  });
});

describe("a chart's timer", () => {
  it('is found on its transition', () => {
    const server = facts.machines['server'];
    const timer = afterTimer('xstate.after.circuitCooldown.server.circuit.open', 'circuitCooldown');
    expect(timer).toEqual({ delay: 'circuitCooldown', state: 'server.circuit.open' });
    expect(server && timer && transitionOfTimer(server, timer)).toBe('server.circuit.open#0');
  });

  it('is identified by its id when the delay has no name', () => {
    expect(afterTimer('xstate.after.5000.slots.calm')).toEqual({
      delay: '5000',
      state: 'slots.calm',
    });
    expect(afterTimer('someId')).toBeUndefined();
    expect(afterTimer('xstate.after.a.b', 'other')).toBeUndefined();
  });
});

describe("a chart's facts", () => {
  it('include the transitions that leave a state', () => {
    const server = facts.machines['server'];
    if (server === undefined) throw new Error('there is no server');
    const leaving = transitionsOf(server, 'server', 'circuit.open');
    expect(leaving.map(([id]) => id)).toEqual(['server.circuit.open#0']);
    expect(sourceOf('server', 'circuit#4')).toBe('circuit');
  });

  it("include a guard's parameters", () => {
    const guard = { doc: 'It may not run.' };
    expect(namedFacts({ isBlockedBy: guard }, 'isBlockedBy(untrusted)')).toBe(guard);
    expect(namedFacts({}, 'isBlockedBy')).toBeUndefined();
  });
});

describe('the picture style', () => {
  it("follows the page's light and dark themes", () => {
    const style = pageStyleOf(files.get('slots.svg') ?? '');
    expect(style).toContain('--paper:light-dark(#fff,#0b1120)');
    expect(style).not.toContain('prefers-color-scheme');
    expect(() => pageStyleOf('<svg/>')).toThrow('no style');
  });
});

describe("a picture's view", () => {
  const picture = { width: 2_000, height: 1_000 };
  const frame = { width: 1_032, height: 832 };

  it('shows the whole picture, centred', () => {
    expect(fitted(picture, frame)).toEqual({ scale: 0.504, x: 12, y: 164 });
  });

  it('keeps the point under the pointer in place while zooming', () => {
    const before = { x: 10, y: 20, scale: 0.5 };
    const at = { x: 110, y: 220 };
    const after = zoomed(before, 2, at);
    expect(after.scale).toBe(1);
    expect((at.x - after.x) / after.scale).toBe((at.x - before.x) / before.scale);
    expect(zoomed(before, 100, at).scale).toBe(3);
  });

  it('scrolls to a box without losing the picture', () => {
    const box = { x: 1_500, y: 700, width: 100, height: 50 };
    expect(sees(centredOn(box, frame, 1), box, frame)).toBe(true);
    expect(sees({ x: 0, y: 0, scale: 1 }, box, frame)).toBe(false);
    expect(kept({ x: 9_999, y: -9_999, scale: 1 }, picture, frame)).toEqual({
      x: 952,
      y: -920,
      scale: 1,
    });
  });

  it('knows its visible part', () => {
    expect(visibleIn({ x: -100, y: 0, scale: 2 }, picture, frame)).toEqual({
      box: { x: 50, y: -0, width: 516, height: 416 },
      isWhole: false,
    });
    expect(visibleIn(fitted(picture, frame), picture, frame).isWhole).toBe(true);
  });

  it('shows the whole picture if it is readable at that size', () => {
    const small = { width: 900, height: 600 };
    const active = { x: 0, y: 0, width: 50, height: 20 };
    expect(following({ x: 5, y: 5, scale: 3 }, small, frame, active)).toEqual(fitted(small, frame));
  });

  it('follows the active state only vertically if the picture is readable at full width', () => {
    const tall = { width: 1_000, height: 4_000 };
    const start = { x: 0, y: 0, scale: 0.8 };
    const first = following(start, tall, frame, undefined);
    expect(first).toEqual({ x: 16, y: 12, scale: 1 });
    const low = following(first, tall, frame, { x: 500, y: 3_000, width: 100, height: 50 });
    expect(low).toEqual({ x: 16, y: 391 - 3_000, scale: 1 });
    // What is seen already does not move.
    expect(following(low, tall, frame, { x: 0, y: 3_100, width: 9, height: 9 })).toEqual(low);
    // Of what is larger than the frame, its beginning; at the end there is nothing more to show.
    expect(following(first, tall, frame, { x: 0, y: 1_000, width: 9, height: 2_000 }).y).toBe(-988);
    expect(following(first, tall, frame, { x: 0, y: 3_990, width: 9, height: 9 }).y).toBe(-3_180);
  });

  it('follows the active state in both directions if the picture is too wide', () => {
    const wide = { width: 4_000, height: 4_000 };
    const active = { x: 3_000, y: 0, width: 100, height: 50 };
    const found = following({ x: 0, y: 0, scale: 0.1 }, wide, frame, active);
    expect(found.scale).toBe(0.8);
    expect(sees(found, active, frame)).toBe(true);
  });

  it('keeps a state under the pointer while it unfolds', () => {
    const at = { x: 10, y: -300, scale: 1 };
    const from = { x: 100, y: 500, width: 200, height: 80 };
    const to = { x: 300, y: 900, width: 600, height: 700 };
    const narrow = anchored(at, { width: 1_000, height: 2_000 }, frame, { from, to });
    expect(narrow).toEqual({ x: 16, y: -700, scale: 1 });
    const broad = anchored(at, { width: 3_000, height: 2_000 }, frame, { from, to });
    expect(broad).toEqual({ x: -190, y: -700, scale: 1 });
  });
});
