/** The path to the active states: the transitions that led there, as far as they were recorded. */

import { type MachineFacts, sourceOf } from './chart-facts.ts';

// A longer path would mark most of the picture.
const longest = 8;

/**
 * The transitions on the way to the active states, newest first, back to a state that the path has
 * already passed.
 *
 * @param taken - the transitions taken, oldest first
 */
export function pathTo(
  leaves: readonly string[],
  taken: readonly string[],
  machine: string,
  facts: MachineFacts,
): readonly string[] {
  return leaves.flatMap((leaf) => {
    const path: string[] = [];
    const passed = new Set([leaf]);
    let at = leaf;
    for (const edge of taken.toReversed()) {
      const targets = facts.transitions[edge]?.target ?? [];
      if (path.length === longest || !targets.some((target) => areNested(target, at))) continue;
      path.push(edge);
      at = sourceOf(machine, edge);
      if (passed.has(at)) break;
      passed.add(at);
    }
    return path;
  });
}

function areNested(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);
}
