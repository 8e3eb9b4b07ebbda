/**
 * Makes a chart stop its children when it throws.
 *
 * XState leaves the children of a chart that throws running, where nothing can reach
 * them. Stopping a child ends everything below it, so that with every chart made like
 * this no process and no socket outlives the chart above it, whatever the depth. Only a
 * function among the actions of an initial state could escape; charts of ours have none.
 */

import type { AnyActorRef, AnyStateMachine } from 'xstate';

export function stoppingChildren<Machine extends AnyStateMachine>(machine: Machine): Machine {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    try {
      return machine.transition(snapshot, event, scope);
    } catch (error) {
      // What the failed step would have started was not started yet.
      const children: Readonly<Record<string, AnyActorRef | undefined>> = snapshot.children;
      for (const child of Object.values(children)) if (child !== undefined) scope.stopChild(child);
      throw error;
    }
  };
  // Its class and its other methods stay; `Object.create` is untyped.
  return Object.create(machine, { transition: { value: transition } }) as Machine;
}
