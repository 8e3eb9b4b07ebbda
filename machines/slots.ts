/**
 * Hands out start permits, so that a hundred servers do not start at once.
 *
 * Two pools, local and remote. Servers that somebody waits for come first, then
 * settings order. A permit is answered by `slot.granted` and comes back by
 * `slot.returned`. Whoever has sent no news for a moment loses it (`slot.lapsed`):
 * it waits for something, it does not work, and others may use the time; its
 * start goes on all the same, so the bound is on work and not on servers. News
 * (`slot.kept`) begins the moment anew. Asking, returning and asking again are
 * harmless.
 *
 * ```text
 * [*] -> serving
 * serving -- slot.requested | slot.kept | slot.returned | slot.lapsed | slots.resized --> (stays)
 * ```
 */

import { assertEvent, assign, enqueueActions, setup } from 'xstate';
import type { SlotCounts } from '../src/domain/settings.ts';

export type SlotPool = 'local' | 'remote';

interface Waiting {
  readonly actorId: string;
  readonly pool: SlotPool;
  readonly demanded: boolean;
  /** Place in the settings, from 0. */
  readonly order: number;
}

interface Permit {
  readonly actorId: string;
  readonly pool: SlotPool;
}

export interface SlotsInput {
  readonly counts: SlotCounts;
}

export interface SlotsContext extends SlotsInput {
  /** At most one entry for each server actor. */
  readonly waiting: readonly Waiting[];
  readonly permits: readonly Permit[];
}

export type SlotsEvent =
  | ({ readonly type: 'slot.requested' } & Waiting)
  | { readonly type: 'slot.kept'; readonly actorId: string }
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | { readonly type: 'slot.lapsed'; readonly actorId: string }
  | { readonly type: 'slots.resized'; readonly counts: SlotCounts };

export interface SlotGranted {
  readonly type: 'slot.granted';
  readonly actorId: string;
}

function inTurn(left: Waiting, right: Waiting): number {
  if (left.demanded !== right.demanded) return left.demanded ? -1 : 1;
  return left.order - right.order;
}

/** Lists whose turn it is, as far as free permits reach. */
function nextInTurn({ waiting, permits, counts }: SlotsContext): readonly Waiting[] {
  return (['local', 'remote'] as const).flatMap((pool) => {
    const free = counts[pool] - permits.filter((permit) => permit.pool === pool).length;
    const line = waiting.filter((entry) => entry.pool === pool).toSorted(inTurn);
    return line.slice(0, Math.max(0, free));
  });
}

const lapseOf = (actorId: string): string => `lapse:${actorId}`;

export const slotsMachine = setup({
  types: {
    input: {} as SlotsInput,
    context: {} as SlotsContext,
    events: {} as SlotsEvent,
  },
  actions: {
    joinLine: assign(({ context, event }) => {
      assertEvent(event, 'slot.requested');
      const { actorId, pool, demanded, order } = event;
      if (context.permits.some((permit) => permit.actorId === actorId)) return {};
      const others = context.waiting.filter((entry) => entry.actorId !== actorId);
      return { waiting: [...others, { actorId, pool, demanded, order }] };
    }),
    dropPermit: assign(({ context, event }) => {
      assertEvent(event, 'slot.lapsed');
      return { permits: context.permits.filter(({ actorId }) => actorId !== event.actorId) };
    }),
    leave: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.returned');
      enqueue.cancel(lapseOf(event.actorId));
      enqueue.assign({
        waiting: context.waiting.filter(({ actorId }) => actorId !== event.actorId),
        permits: context.permits.filter(({ actorId }) => actorId !== event.actorId),
      });
    }),
    renewPatience: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.kept');
      if (!context.permits.some(({ actorId }) => actorId === event.actorId)) return;
      enqueue.cancel(lapseOf(event.actorId));
      enqueue.raise(
        { type: 'slot.lapsed', actorId: event.actorId },
        { delay: 'patience', id: lapseOf(event.actorId) },
      );
    }),
    resize: assign(({ event }) => {
      assertEvent(event, 'slots.resized');
      return { counts: event.counts };
    }),
    grantFree: enqueueActions(({ context, enqueue }) => {
      const granted = nextInTurn(context);
      if (granted.length === 0) return;
      const names = new Set(granted.map(({ actorId }) => actorId));
      enqueue.assign({
        waiting: context.waiting.filter(({ actorId }) => !names.has(actorId)),
        permits: [...context.permits, ...granted.map(({ actorId, pool }) => ({ actorId, pool }))],
      });
      for (const { actorId } of granted) {
        enqueue.raise(
          { type: 'slot.lapsed', actorId },
          { delay: 'patience', id: lapseOf(actorId) },
        );
        enqueue.sendParent({ type: 'slot.granted', actorId } satisfies SlotGranted);
      }
    }),
  },
  delays: {
    // A quarter second: a server on the SDK has about that much work to do before it
    // is listed (265 ms measured), so whoever takes longer mostly waits for something.
    // With a whole second, thirty servers that wait half a second each take 3.6 times
    // as long as without any line; with less, working ones crowd each other.
    patience: 250,
  },
}).createMachine({
  // A loop of transitions is a bug: better a broken actor than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'slots',
  context: ({ input }) => ({ ...input, waiting: [], permits: [] }),
  initial: 'serving',
  states: {
    serving: {
      on: {
        'slot.requested': { actions: ['joinLine', 'grantFree'] },
        'slot.kept': { actions: 'renewPatience' },
        'slot.returned': { actions: ['leave', 'grantFree'] },
        'slot.lapsed': { actions: ['dropPermit', 'grantFree'] },
        'slots.resized': { actions: ['resize', 'grantFree'] },
      },
    },
  },
});
