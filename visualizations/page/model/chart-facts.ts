/** The shape of `charts.json`: facts about each chart besides its picture. */

import type { FoldablePicture } from './folding.ts';

export interface PictureFacts extends FoldablePicture {
  readonly title: string;
  /** Path of the state that the picture shows; the chart's name means the whole chart. */
  readonly of: string;
}

export interface Place {
  readonly file?: string;
  readonly line?: number;
}

export interface StateFacts extends Place {
  readonly doc?: string;
  readonly tags: readonly string[];
  readonly invokes: readonly string[];
}

export interface TransitionFacts extends Place {
  /** An event, `always`, `after <delay>`, `done …` or `error …`. */
  readonly trigger: string;
  /** With its parameters: `isBlockedBy(untrusted)`. */
  readonly guard?: string;
  readonly actions: readonly string[];
  /** Empty: the state does not change. */
  readonly target: readonly string[];
  readonly delay?: string | number;
}

/** A guard, action or delay. */
export interface NamedFacts extends Place {
  readonly doc?: string;
  readonly code?: string;
}

export interface MachineFacts {
  readonly pictures: readonly PictureFacts[];
  readonly states: Readonly<Record<string, StateFacts>>;
  readonly transitions: Readonly<Record<string, TransitionFacts>>;
  readonly guards: Readonly<Record<string, NamedFacts>>;
  readonly actions: Readonly<Record<string, NamedFacts>>;
  readonly delays: Readonly<Record<string, NamedFacts>>;
}

export interface ChartFacts {
  readonly machines: Readonly<Record<string, MachineFacts>>;
}

/** The transition that a timer leads to, as the pictures name it. */
export function transitionOfTimer(
  facts: MachineFacts,
  timer: { readonly delay: string; readonly state: string },
): string | undefined {
  return Object.entries(facts.transitions).find(
    ([id, { delay }]) => String(delay) === timer.delay && id.startsWith(`${timer.state}#`),
  )?.[0];
}

/** `isBlockedBy(untrusted)` has the facts of `isBlockedBy`. */
export function namedFacts(
  all: Readonly<Record<string, NamedFacts>>,
  shown: string,
): NamedFacts | undefined {
  return all[shown] ?? all[shown.split('(')[0] ?? shown];
}

/** Path of the state that a transition begins at: `server.connection.settling#0` gives `connection.settling`. */
export function sourceOf(machine: string, transition: string): string {
  const id = transition.split('#')[0] ?? transition;
  return id.startsWith(`${machine}.`) ? id.slice(machine.length + 1) : id;
}

/** The transitions that leave a state, in the order in which they are evaluated. */
export function transitionsOf(
  facts: MachineFacts,
  machine: string,
  state: string,
): readonly (readonly [string, TransitionFacts])[] {
  return Object.entries(facts.transitions).filter(([id]) => sourceOf(machine, id) === state);
}
