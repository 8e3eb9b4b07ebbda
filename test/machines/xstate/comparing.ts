/** A chart that computes every transition both ways, and throws where they differ. */

import { isDeepStrictEqual } from 'node:util';
import {
  Actor,
  type AnyActorScope,
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
} from 'xstate';
import { compiled } from '../../../machines/xstate/chart.ts';
import { activeStates, createInertScope, type Effect } from '../../../machines/xstate/internals.ts';
import { GroupedMap } from '../../../src/policies/grouped-map.ts';

/** Comparisons per event type and configuration. */
const mostCount = 3;

/**
 * Returns a compiled chart that compares its first three transitions per event type and configuration
 * with XState's.
 */
export function comparing<Machine extends AnyStateMachine>(machine: Machine): Machine {
  const chart = compiled(machine);
  const counts = new Map<string, number>();
  const compare = (snapshot: AnyMachineSnapshot | undefined, event: string, compute: Compute) => {
    const states = snapshot === undefined ? [] : activeStates(snapshot);
    const key = [event, ...states.map(({ order }) => order)].join();
    const count = counts.get(key) ?? 0;
    if (count === mostCount) return;
    counts.set(key, count + 1);
    const expected = resultOf(machine, snapshot, compute);
    const actual = resultOf(chart, snapshot, compute);
    const part = Object.keys({ ...expected, ...actual }).find(
      (name) => !isAlike(expected[name], actual[name]),
    );
    if (part === undefined) return;
    throw new Error(
      `XState's ${part} is ${JSON.stringify(expected[part])}, the compiled chart's ${JSON.stringify(actual[part])}`,
    );
  };
  return Object.create(machine, {
    transition: {
      value: (snapshot: AnyMachineSnapshot, event: AnyEventObject, scope: AnyActorScope) => {
        compare(snapshot, event.type, (by, own) => by.transition(snapshot, event, own));
        return chart.transition(snapshot, event, scope);
      },
    },
    getInitialSnapshot: {
      value: (scope: AnyActorScope, input: unknown) => {
        compare(undefined, '', (by, own) => by.getInitialSnapshot(own, input));
        return chart.getInitialSnapshot(scope, input);
      },
    },
  }) as Machine;
}

type Compute = (by: AnyStateMachine, scope: AnyActorScope) => AnyMachineSnapshot;
type Result = Readonly<Record<string, unknown>>;

const inert = createInertScope();

function resultOf(
  by: AnyStateMachine,
  before: AnyMachineSnapshot | undefined,
  compute: Compute,
): Result {
  const { scope, observed } = inert;
  observed.effects.length = 0;
  observed.transitions.length = 0;
  inert.begin(before);
  try {
    const snapshot = compute(by, scope);
    const { status, value, tags, output, error, context, children, historyValue } = snapshot;
    return {
      status,
      value,
      tags,
      output,
      error: String(error),
      states: activeStates(snapshot).map(({ id }) => id),
      context: plainContext(context as object),
      children: Object.keys(children),
      historyValue,
      effects: observed.effects.map(plain),
      transitions: [...observed.transitions],
    };
  } catch (error) {
    return { thrown: String(error) };
  }
}

/** An effect with the ids of actors, because each computation creates its own. */
function plain({ type, params }: Effect): unknown {
  const named = Object.entries(params ?? {}).map(([name, value]) => [name, idIfActor(value)]);
  return { type, params: type === 'xstate.stopChild' ? idIfActor(params) : named };
}

/** A context that can be compared: the values of its maps, and the ids of actors. */
function plainContext(context: object): object {
  const fields = Object.entries(context).map(([name, value]) => [name, plainField(value)]);
  return Object.fromEntries(fields) as object;
}

function plainField(value: unknown): unknown {
  if (!(value instanceof GroupedMap)) return idIfActor(value);
  return [...value].map(([name, member]) => [name, idIfActor(member)]);
}

function idIfActor(value: unknown): unknown {
  return value instanceof Actor ? value.id : value;
}

/** Fields that a transition leaves alone are the same object. */
function isAlike(one: unknown, other: unknown): boolean {
  return one === other || isDeepStrictEqual(one, other);
}
