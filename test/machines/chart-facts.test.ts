import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type ChartFacts, chartFacts } from '../../scripts/charts/chart-facts.ts';
import { charts, outerPictures } from '../../scripts/charts/chart-list.ts';
import { ChartSources } from '../../scripts/charts/chart-sources.ts';
import { pathOf, statesOf, transitionsOf } from '../../src/testing/chart-parts.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = new ChartSources(root);

/** The source from a line on: a transition may be written over several. */
function sourceAt({ file, line }: { readonly file?: string; readonly line?: number }): string {
  if (file === undefined || line === undefined) throw new Error('has no place');
  const lines = readFileSync(root + file, 'utf8').split('\n');
  return lines.slice(line - 1, line + 11).join('\n');
}

describe.each(charts)('the facts about $chart', (chart) => {
  const { machine } = chart;
  const facts: ChartFacts = chartFacts(chart, sources);
  const states = statesOf(machine);

  it("include every state's line", () => {
    expect(Object.keys(facts.states)).toEqual(states.map(pathOf));
    for (const state of states.slice(1)) {
      const [first] = sourceAt(facts.states[pathOf(state)] ?? {}).split('\n');
      expect(first, pathOf(state)).toMatch(new RegExp(`\\b${state.key}\\b`));
    }
  });

  it("include every transition's lines", () => {
    const all = states.flatMap((state) =>
      transitionsOf(state).map((transition, place) => ({ id: `${state.id}#${place}`, transition })),
    );
    expect(Object.keys(facts.transitions)).toEqual(all.map(({ id }) => id));
    for (const { id, transition } of all) {
      const found = facts.transitions[id];
      const source = sourceAt(found ?? {});
      // What several transitions share may be written elsewhere: `...shared`, `shared.probed`, `shared,`.
      const [first = '', ...next] = source.split('\n', 3);
      const isShared = /\.\.\.|: \w+\.\w|(: |^\s*)\w+(\(.*\))?,$/.test(first);
      if (isShared || next.some((line) => line.includes('...'))) continue;
      for (const action of found?.actions ?? []) expect(source, id).toContain(action);
      if (found?.guard !== undefined) expect(source, id).toContain(found.guard.replace(/\W.*/, ''));
      const targets = (transition.target ?? []).map(({ key }) => `${key}|settle`);
      for (const words of targets) expect(source, id).toMatch(new RegExp(`\\b(${words})\\b`));
    }
  });

  it('include a picture for every state', () => {
    const shown = outerPictures(chart).map(({ of }) => of);
    for (const state of states) {
      const path = pathOf(state);
      const isShown = shown.some((of) => path === of || path.startsWith(`${of}.`));
      const isWhole = state === machine.root || shown.includes(machine.id);
      expect(isShown || isWhole, path).toBe(true);
    }
  });

  it('include every guard, action and delay that a transition names', () => {
    for (const { guard, actions, delay } of Object.values(facts.transitions)) {
      // A guard with a fixed parameter is named with it.
      if (guard !== undefined) expect(facts.guards).toHaveProperty(guard.replace(/\(.*\)$/, ''));
      for (const action of actions) expect(facts.actions).toHaveProperty(action);
      if (typeof delay === 'string') expect(facts.delays).toHaveProperty(delay);
    }
  });

  it('explain every guard, action and delay', () => {
    for (const named of [facts.guards, facts.actions, facts.delays]) {
      for (const [name, { doc }] of Object.entries(named)) expect(doc, name).toMatch(/\w/);
    }
  });
});
