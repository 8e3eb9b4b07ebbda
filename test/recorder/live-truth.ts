/** What a running system is, read from its actors themselves, in the words of a picture. */

import type { AnyActorRef, StateValue } from 'xstate';
import { childrenOf } from '../../machines/troupe/context.ts';
import { scheduledBy } from '../../machines/xstate/internals.ts';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { PicturedActor } from '../../src/domain/host/inspection.ts';

export interface TrueActor {
  readonly actor: string;
  readonly id: string;
  readonly leaves: readonly string[];
  /** Id and length of each, sorted. */
  readonly timers: readonly string[];
}

/** Every actor that lives, sorted by its key. */
export function trueActors(root: AnyActorRef): readonly TrueActor[] {
  return livingBelow(root).map(truthOf).sort(byKey);
}

/** The same of a picture. */
export function picturedActors(actors: readonly PicturedActor[]): readonly TrueActor[] {
  return actors
    .filter(({ life }) => life === 'active')
    .map(({ actor, id, leaves, timers }) => ({
      actor,
      id,
      leaves: leaves.toSorted(),
      timers: timers.map((timer) => `${timer.id} ${timer.ms}`).sort(),
    }))
    .sort(byKey);
}

function byKey(left: TrueActor, right: TrueActor): number {
  return left.actor < right.actor ? -1 : 1;
}

function livingBelow(ref: AnyActorRef): readonly AnyActorRef[] {
  const snapshot = ref.getSnapshot() as Parameters<typeof childrenOf>[0] & {
    readonly status: string;
  };
  return snapshot.status === 'active' ? [ref, ...childrenOf(snapshot).flatMap(livingBelow)] : [];
}

function truthOf(ref: AnyActorRef): TrueActor {
  const { value } = ref.getSnapshot() as { readonly value?: StateValue };
  return {
    actor: ref.sessionId,
    id: ref.id,
    leaves: value === undefined ? [] : leavesOf(value).toSorted(),
    timers: scheduledBy(ref)
      // As long as a timer can be: the chart's way to have none.
      .filter(({ delay }) => delay < longestTimerMs)
      // One that was given no id gets a random one.
      .map(({ id, event, delay }) => `${/[.:]|Deadline$/u.test(id) ? id : event.type} ${delay}`)
      .sort(),
  };
}

function leavesOf(value: StateValue, path = ''): readonly string[] {
  if (typeof value === 'string') return [path === '' ? value : `${path}.${value}`];
  return Object.entries(value).flatMap(([key, below]) => {
    const here = path === '' ? key : `${path}.${key}`;
    const isLeaf =
      below === undefined || (typeof below === 'object' && Object.keys(below).length === 0);
    return isLeaf ? [here] : leavesOf(below, here);
  });
}
