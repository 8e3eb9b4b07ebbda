import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  childrenOf,
  isWithin,
  pathOf,
  statesOf,
  transitionsOf,
  transitionText,
  withAncestors,
} from './chart-parts.ts';

/** No transition may exit a region that it does not belong to. */
export function regionProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .flatMap(transitionsOf)
    .flatMap((transition) => [...escapes(transition), ...resets(transition)]);
}

// When two regions answer one event and one of them exits the other, XState drops
// the other's transition without a word.
function escapes(transition: AnyTransitionDefinition): readonly string[] {
  const region = withAncestors(transition.source).find(
    (state) => state.parent?.type === 'parallel',
  );
  if (region === undefined || targetsOf(transition).length === 0) return [];
  const domain = domainOf(transition);
  if (domain !== undefined && isWithin(domain, region)) return [];
  return [
    `${transitionText(transition)}: leaves its region ${pathOf(region)}, so all regions restart`,
  ];
}

// A transition of the parallel state itself into one region exits and enters all of them.
function resets(transition: AnyTransitionDefinition): readonly string[] {
  const targets = targetsOf(transition);
  const source: AnyStateNode = transition.source;
  if (source.type !== 'parallel' || targets.length === 0) return [];
  if (!targets.every((target) => target !== source && isWithin(target, source))) return [];
  const spared = childrenOf(source).filter(
    (region) => !targets.some((target) => isWithin(target, region)),
  );
  return spared.length === 0
    ? []
    : [`${transitionText(transition)}: restarts also ${spared.map(pathOf).join(', ')}`];
}

function targetsOf(transition: AnyTransitionDefinition): readonly AnyStateNode[] {
  return transition.target ?? [];
}

/** The state whose active descendants a transition exits; undefined means the whole chart (SCXML, getTransitionDomain). */
function domainOf(transition: AnyTransitionDefinition): AnyStateNode | undefined {
  const source: AnyStateNode = transition.source;
  const targets = targetsOf(transition);
  if (!transition.reenter && targets.every((target) => isWithin(target, source))) return source;
  const [first, ...others] = [...targets, source];
  if (first === undefined) return undefined;
  return withAncestors(first)
    .slice(1)
    .find((ancestor) => others.every((state) => state !== ancestor && isWithin(state, ancestor)));
}
