/**
 * Makes a chart stop its children when it throws.
 *
 * XState leaves the children of such a chart running and unreachable. Stopping a child ends
 * everything below it, so no process and no socket outlives the chart above it. Only an inline
 * function among the actions of an initial state could escape; our charts have none.
 */

import type { AnyActorRef, AnyStateMachine } from 'xstate';

export function stoppingChildren<Machine extends AnyStateMachine>(machine: Machine): Machine {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    try {
      return machine.transition(snapshot, event, scope);
    } catch (error) {
      // Children that the failed step would have started do not run yet.
      const children: Readonly<Record<string, AnyActorRef | undefined>> = snapshot.children;
      for (const child of Object.values(children)) if (child !== undefined) scope.stopChild(child);
      throw error;
    }
  };
  // Keeps the class and the other methods; `Object.create` is untyped.
  return Object.create(machine, { transition: { value: transition } }) as Machine;
}
