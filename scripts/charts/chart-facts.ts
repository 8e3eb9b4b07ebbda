/**
 * What a reader of a picture may ask about it: where each state and transition is
 * written, and what guards and actions do.
 */

import type ts from 'typescript';
import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import {
  guardText,
  nameOf,
  pathOf,
  statesOf,
  transitionsOf,
  triggerOf,
} from '../../src/testing/chart-parts.ts';
import type { ListedChart } from './chart-list.ts';
import {
  type ChartSources,
  commentOf,
  type NamedSource,
  placeOf,
  type SourcePlace,
} from './chart-sources.ts';

export interface StateFacts extends Partial<SourcePlace> {
  readonly doc?: string;
  readonly tags: readonly string[];
  readonly invokes: readonly string[];
}

export interface TransitionFacts extends Partial<SourcePlace> {
  /** What makes it happen, in words: `call.failed`, `after cooldown`, `always`, `done session`. */
  readonly trigger: string;
  readonly guard?: string;
  readonly actions: readonly string[];
  /** Paths; none = it stays. */
  readonly target: readonly string[];
  /** Name of the delay, or milliseconds. */
  readonly delay?: string | number;
}

export interface ChartFacts {
  readonly states: Readonly<Record<string, StateFacts>>;
  /** By `<id of the state>#<place>`, as `data-transitions` of the pictures has them. */
  readonly transitions: Readonly<Record<string, TransitionFacts>>;
  readonly guards: Readonly<Record<string, NamedSource>>;
  readonly actions: Readonly<Record<string, NamedSource>>;
  readonly delays: Readonly<Record<string, NamedSource>>;
}

/** What is known of a chart besides its pictures. */
export function chartFacts(
  { machine, chart, setup }: ListedChart,
  sources: ChartSources,
): ChartFacts {
  const states = statesOf(machine);
  return {
    states: Object.fromEntries(
      states.map((state) => [pathOf(state), stateFacts(state, sources.stateSource(chart, state))]),
    ),
    transitions: Object.fromEntries(
      states.flatMap((state) => {
        const source = sources.stateSource(chart, state);
        return transitionsOf(state).map((transition, place) => [
          `${state.id}#${place}`,
          transitionFacts(transition, transitionSource(transition, source, sources)),
        ]);
      }),
    ),
    guards: sources.named(setup, 'guards'),
    actions: sources.named(setup, 'actions'),
    delays: sources.named(setup, 'delays'),
  };
}

function stateFacts(state: AnyStateNode, source: ts.Expression | undefined): StateFacts {
  const doc = source === undefined ? undefined : commentOf(source.parent);
  return {
    ...(source === undefined ? {} : placeOf(source.parent)),
    ...(doc === undefined ? {} : { doc }),
    tags: [...state.tags].map(String),
    invokes: state.invoke.map(({ id }) => id),
  };
}

function transitionFacts(
  transition: AnyTransitionDefinition,
  source: ts.Expression | undefined,
): TransitionFacts {
  const delay: unknown = 'delay' in transition ? transition.delay : undefined;
  const targets: readonly AnyStateNode[] = transition.target ?? [];
  return {
    ...(source === undefined ? {} : placeOf(source)),
    trigger: triggerOf(transition),
    ...(transition.guard === undefined ? {} : { guard: guardText(transition.guard) }),
    actions: transition.actions.flatMap((action) => nameOf(action) ?? []),
    target: targets.map(pathOf),
    ...(typeof delay === 'string' || typeof delay === 'number' ? { delay } : {}),
  };
}

/** Where a transition stands in its state: below `on`, `after`, `always`, or an end of what is invoked. */
function transitionSource(
  transition: AnyTransitionDefinition,
  state: ts.Expression | undefined,
  sources: ChartSources,
): ts.Expression | undefined {
  if (state === undefined) return undefined;
  const [trigger = '', ...rest] = triggerOf(transition).split(' ');
  const invoked = sources.member(state, 'invoke');
  const delay = 'delay' in transition ? String(transition.delay) : rest.join(' ');
  const written = {
    always: () => sources.member(state, 'always'),
    after: () => sources.member(sources.member(state, 'after'), delay),
    done: () => sources.member(rest.length === 0 ? state : invoked, 'onDone'),
    error: () => sources.member(invoked, 'onError'),
  }[trigger];
  // Also an end of a child may be written as an event, `xstate.done.actor.*`.
  const on = sources.member(sources.member(state, 'on'), String(transition.eventType));
  const found = on ?? written?.();
  return sources.transition(found, siblingsBefore(transition)) ?? state;
}

/** How many transitions of the same trigger are written before this one. */
function siblingsBefore(transition: AnyTransitionDefinition): number {
  const state: AnyStateNode = transition.source;
  const same = transitionsOf(state).filter(({ eventType }) => eventType === transition.eventType);
  return same.indexOf(transition);
}
