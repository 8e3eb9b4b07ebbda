/** The facts behind a picture: the source of each state and transition, and what guards and actions do. */

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
import type {
  MachineFacts,
  StateFacts,
  TransitionFacts,
} from '../../visualizations/page/model/chart-facts.ts';
import type { ListedChart } from './chart-list.ts';
import { type ChartSources, commentOf, placeOf } from './chart-sources.ts';

export type ChartFacts = Omit<MachineFacts, 'pictures'>;

/** The facts about a chart, without its pictures. */
export function chartFacts({ machine, chart }: ListedChart, sources: ChartSources): ChartFacts {
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
    guards: sources.named(chart, 'guards'),
    actions: sources.named(chart, 'actions'),
    delays: sources.named(chart, 'delays'),
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

/** Finds a transition in its state: below `on`, `after`, `always`, `onDone` or `onError`. */
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
  // The end of a child can also be written as an event, `xstate.done.actor.*`.
  const on = sources.member(sources.member(state, 'on'), String(transition.eventType));
  const found = on ?? written?.();
  return sources.transition(found, siblingsBefore(transition)) ?? state;
}

/** The number of transitions with the same trigger before this one. */
function siblingsBefore(transition: AnyTransitionDefinition): number {
  const state: AnyStateNode = transition.source;
  const same = transitionsOf(state).filter(({ eventType }) => eventType === transition.eventType);
  return same.indexOf(transition);
}
