/** Helpers for tests of charts that ask: promises that settle on command, and replies to events. */

import { type AnyStateMachine, fromPromise, type InputFrom, type SnapshotFrom } from 'xstate';
import { createInertScope } from '../../machines/xstate/internals.ts';
import { leavesOf } from '../../src/recorder/chart-names.ts';

/** Dotted paths of the states of a chart. */
export type PathIn<Value> = Value extends string
  ? Value
  : { [Key in keyof Value & string]: `${Key}.${PathIn<NonNullable<Value[Key]>>}` }[keyof Value &
      string];

interface Held {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Promise actors, of which each name has at most one that waits. */
export class HeldPromises {
  readonly #held = new Map<string, Held>();
  /** Names of those that were stopped before they settled. */
  readonly stopped: string[] = [];
  /** The latest input of each name. */
  readonly inputs = new Map<string, unknown>();

  actor<Output, Input>(name: string) {
    return fromPromise<Output, Input>(({ input, signal }) => {
      this.inputs.set(name, input);
      signal.addEventListener('abort', () => this.stopped.push(name));
      return new Promise<Output>((resolve, reject) => {
        this.#held.set(name, { resolve: (output) => resolve(output as Output), reject });
      });
    });
  }

  async settle(name: string, output: unknown): Promise<void> {
    this.#of(name).resolve(output);
    await settled();
  }

  async fail(name: string): Promise<void> {
    this.#of(name).reject(new Error('broken'));
    await settled();
  }

  #of(name: string): Held {
    const held = this.#held.get(name);
    if (held === undefined) throw new Error(`"${name}" was never asked.`);
    return held;
  }
}

/** A chart hears of a promise some turns of the queue later. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

export interface Example {
  readonly type: string;
  readonly output?: unknown;
}

export const done = (actor: string, output?: unknown): Example & { readonly actorId: string } => ({
  type: `xstate.done.actor.${actor}`,
  actorId: actor,
  output,
});

/** What each example does in the state that a way leads to: `ignored`, `stays` or where it goes. */
export function repliesAfter<Machine extends AnyStateMachine>(
  machine: Machine,
  input: InputFrom<Machine>,
  way: readonly Example[],
  examples: Readonly<Record<string, Example>>,
): { readonly state: string; readonly replies: Readonly<Record<string, string>> } {
  const inert = createInertScope();
  const take = (snapshot: SnapshotFrom<AnyStateMachine>, event: Example) => {
    inert.begin(snapshot);
    inert.observed.transitions.length = 0;
    return machine.transition(snapshot, event, inert.scope);
  };
  inert.begin(undefined);
  const start = machine.getInitialSnapshot(inert.scope, input);
  const there = way.reduce(take, start);
  const stateOf = ({ _nodes }: SnapshotFrom<AnyStateMachine>): string => leavesOf(_nodes).join();
  const state = stateOf(there);
  const replies = Object.entries(examples).map(([name, event]) => {
    const after = stateOf(take(there, event));
    if (inert.observed.transitions.length === 0) return [name, 'ignored'];
    return [name, after === state ? 'stays' : after];
  });
  return { state, replies: Object.fromEntries(replies) };
}
