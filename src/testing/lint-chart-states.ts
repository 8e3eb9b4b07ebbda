import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { fieldOf, pathOf, statesOf, transitionsOf, withAncestors } from './chart-parts.ts';

/** Every child must have somebody who handles its failure, whatever the guards say. */
export function failureProblems(machine: AnyStateMachine): readonly string[] {
  const ofInvokes = statesOf(machine).flatMap((state) =>
    state.invoke
      .filter((invoke) => !handlesFailure(withAncestors(state), invoke.id))
      .map(({ id }) => `${pathOf(state)}: a failure of invoked ${id} has no unguarded handler`),
  );
  const ofSpawns = Object.entries(machine.implementations.actions).flatMap(([name, action]) => {
    const isSpawn = fieldOf(action, 'type') === 'xstate.spawnChild';
    const id = fieldOf(action, 'id');
    // A spawned child outlives the state that spawned it: only the root is there for certain.
    const isHandled = handlesFailure([machine.root], typeof id === 'string' ? id : '*');
    return isSpawn && !isHandled
      ? [`action ${name}: a failure of the spawned child has no unguarded handler at the root`]
      : [];
  });
  return [...ofInvokes, ...ofSpawns];
}

function handlesFailure(states: readonly AnyStateNode[], id: string): boolean {
  const descriptors = ['xstate.error.actor.*', 'xstate.error.*', 'xstate.*', '*'];
  return states.some((state) =>
    [`xstate.error.actor.${id}`, ...descriptors].some((descriptor) =>
      state.transitions.get(descriptor)?.some(({ guard }) => guard === undefined),
    ),
  );
}

/** Every state in which a chart can rest must have a way out, its own or of a state around it. */
export function exitProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state.type === 'atomic' && state !== machine.root)
    .filter(
      (state) =>
        !withAncestors(state)
          .flatMap(transitionsOf)
          .some((one) => leaves(one, state)),
    )
    .map((state) => `${pathOf(state)}: no transition leads out of it, and it is not final`);
}

function leaves(transition: AnyTransitionDefinition, leaf: AnyStateNode): boolean {
  const targets: readonly AnyStateNode[] = transition.target ?? [];
  return targets.some((target) => target !== leaf);
}

/** A wildcard below the root would swallow what states around it handle. */
export function wildcardProblems(machine: AnyStateMachine): readonly string[] {
  return statesOf(machine)
    .filter((state) => state !== machine.root && state.transitions.has('*'))
    .map((state) => `${pathOf(state)}: '*' hides the events that states around it handle`);
}
