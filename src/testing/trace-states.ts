import type { AnyStateNode } from 'xstate';
import { childrenOf } from './chart-parts.ts';

/** Dotted paths of the leaf states that are in the second snapshot but not in the first; none for other actors. */
export function enteredLeaves(before: unknown, after: unknown): readonly string[] {
  const known = new Set(activeStates(before));
  return activeStates(after)
    .filter((state) => childrenOf(state).length === 0 && state.path.length > 0)
    .filter((state) => !known.has(state))
    .toSorted((one, other) => one.order - other.order)
    .map((state) => state.path.join('.'));
}

function activeStates(snapshot: unknown): readonly AnyStateNode[] {
  if (typeof snapshot !== 'object' || snapshot === null || !('_nodes' in snapshot)) return [];
  return Array.isArray(snapshot._nodes) ? snapshot._nodes : [];
}
