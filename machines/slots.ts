/**
 * Grants start permits, so that a hundred servers do not start at once.
 *
 * A server requests a permit and waits in the queue until its pool has a free one. Demanded servers
 * come first, then first starts in settings order, then repeated starts in the order of their
 * requests. The server returns the permit once its session is open, or once the start has ended. A
 * start that outlasts its permit is probably waiting for something other than a core: the permit
 * lapses, and the start continues without it.
 *
 * A repeated start also takes a retry from a stock that all servers share and that refills
 * slowly, so servers that failed together come back one after the other, whatever their own
 * budgets allow. No retry starves: at most three demanded ones in a row overtake the oldest.
 * A second request and a second return change nothing.
 *
 * ```text
 * [*] -> stocked
 * slots -- always [canGrant] --> (stays)
 * slots -- slot.requested | slot.returned | slots.resized | done * --> (stays)
 * stocked -- always [isRetryMissing] --> refilling
 * refilling -- after refillPause [isLastRetryMissing] --> stocked
 * refilling -- after refillPause --> refilling
 * ```
 */

import { assertEvent, assign, enqueueActions, setup } from 'xstate';
import type { SlotCounts } from '../src/domain/settings.ts';
import { chanceOf } from '../src/policies/seeded-random.ts';
import { type Permit, permitIdOf, permitMachine, type SlotPool } from './permit.ts';

interface Request extends Permit {
  readonly demanded: boolean;
  /** Whether it repeats a start, and therefore takes a retry from the stock. */
  readonly retry: boolean;
  /** Position in the settings, counted from 0. */
  readonly order: number;
}

// A start keeps a core busy for a quarter of a second or waits for something else; eight starts per
// core are enough to keep it busy either way.
const localPermitsPerCore = 8;

// Twenty: the sessions that a user loses with a network all come back without waiting.
const fullStockCount = 20;
// Five retries a second: a hundred servers that fail together are all retried within twenty
// seconds, well within the wait for a permit, and the machine stays usable.
const meanRefillMs = 200;
// Half of it more or less, so that the runtimes of several hosts do not synchronize.
const refillJitter = 0.5;
// One retry in four goes to the oldest: demanded servers hardly notice, and no server starves.
const mostOvertakings = 3;

export interface SlotsInput {
  readonly counts: SlotCounts;
  /** Number of processor cores on this machine. */
  readonly coreCount: number;
  /** Makes the pauses between two retries repeatable. */
  readonly seed: number;
  /** Number of retries in a full stock, which is what it starts with. Default: 20. */
  readonly stockCount?: number;
}

export interface SlotsContext extends Required<Omit<SlotsInput, 'counts'>> {
  readonly counts: Readonly<Record<SlotPool, number>>;
  /** Requests in the order of their turns; at most one for each server actor. */
  readonly waiting: readonly Request[];
  /** Granted permits. */
  readonly permits: readonly Permit[];
  /** Number of retries that may begin at once. */
  readonly retriesLeft: number;
  /** Number of retries returned to the stock so far; gives each pause its own jitter. */
  readonly refillCount: number;
  /** Consecutive demanded retries that overtook an older one; at most {@link mostOvertakings}. */
  readonly overtakings: number;
}

export type SlotsEvent =
  | ({ readonly type: 'slot.requested' } & Request)
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | { readonly type: 'slots.resized'; readonly counts: SlotCounts };

export interface SlotGranted {
  readonly type: 'slot.granted';
  readonly actorId: string;
}

function countsOf({ local, remote }: SlotCounts, coreCount: number): SlotsContext['counts'] {
  return { local: local === 'auto' ? localPermitsPerCore * coreCount : local, remote };
}

/**
 * Orders the queue. Retries keep request order; in settings order, the last server would starve.
 */
function inTurn(left: Request, right: Request): number {
  if (left.demanded !== right.demanded) return left.demanded ? -1 : 1;
  if (left.retry !== right.retry) return left.retry ? 1 : -1;
  return left.retry ? 0 : left.order - right.order;
}

const canBeOvertaken = ({ retry, demanded }: Request): boolean => retry && !demanded;

/** Returns the first request in the queue for which a permit and, if needed, a retry are free. */
function nextInLine({ waiting, permits, counts, ...rest }: SlotsContext): Request | undefined {
  const free = { ...counts };
  for (const { pool } of permits) free[pool] -= 1;
  const overdue = rest.overtakings < mostOvertakings ? undefined : waiting.find(canBeOvertaken);
  const line = overdue === undefined ? waiting : [overdue, ...waiting];
  return line.find(({ pool, retry }) => free[pool] > 0 && (!retry || rest.retriesLeft > 0));
}

function granted(context: SlotsContext, request: Request): SlotsContext {
  const { actorId, pool, retry, demanded } = request;
  const waiting = context.waiting.filter((other) => other !== request);
  const permits = [...context.permits, { actorId, pool }];
  if (!retry) return { ...context, waiting, permits };
  const overtakes = demanded && waiting.some(canBeOvertaken);
  const overtakings = overtakes ? Math.min(mostOvertakings, context.overtakings + 1) : 0;
  return { ...context, waiting, permits, overtakings, retriesLeft: context.retriesLeft - 1 };
}

type Holder = Pick<Permit, 'actorId'>;
/** Maps a returned permit, or the end of one, to the parameters of the action that takes it back. */
const ofReturned = ({ event }: { readonly event: Holder }): Holder => event;
const ofLapsed = ({ event }: { readonly event: { readonly output: Holder } }) => event.output;

export const slotsMachine = setup({
  types: { input: {} as SlotsInput, context: {} as SlotsContext, events: {} as SlotsEvent },
  actors: { permit: permitMachine },
  actions: {
    /** Adds a request to the queue; a repeated one keeps its position. */
    joinLine: assign(({ context: { waiting, permits }, event }) => {
      assertEvent(event, 'slot.requested');
      const { actorId, pool, demanded, retry, order } = event;
      if (permits.some((permit) => permit.actorId === actorId)) return {};
      const request = { actorId, pool, demanded, retry, order };
      const place = waiting.findIndex((other) => other.actorId === actorId);
      const line = place === -1 ? [...waiting, request] : waiting.with(place, request);
      return { waiting: line.toSorted(inTurn) };
    }),
    /** Takes a request out of the queue, or its permit back. */
    release: enqueueActions(({ context, enqueue }, { actorId }: Holder) => {
      enqueue.stopChild(permitIdOf(actorId));
      enqueue.assign({
        waiting: context.waiting.filter((request) => request.actorId !== actorId),
        permits: context.permits.filter((permit) => permit.actorId !== actorId),
      });
    }),
    /** Changes how many servers may start at once; granted permits stay valid. */
    resize: assign(({ context, event }) => {
      assertEvent(event, 'slots.resized');
      return { counts: countsOf(event.counts, context.coreCount) };
    }),
    /** Grants permits to the queue, in order, until permits, retries or the queue run out. */
    grant: enqueueActions(({ context, enqueue }) => {
      let now = context;
      for (let next = nextInLine(now); next !== undefined; next = nextInLine(now)) {
        const { actorId, pool } = next;
        now = granted(now, next);
        enqueue.spawnChild('permit', { id: permitIdOf(actorId), input: { actorId, pool } });
        enqueue.sendParent({ type: 'slot.granted', actorId } satisfies SlotGranted);
      }
      enqueue.assign(now);
    }),
    /** Returns one retry to the stock. */
    refill: assign(({ context: { retriesLeft, refillCount } }) => ({
      retriesLeft: retriesLeft + 1,
      refillCount: refillCount + 1,
    })),
  },
  guards: {
    /** Whether a waiting server's permit is free. */
    canGrant: ({ context }) => nextInLine(context) !== undefined,
    /** Whether the stock is not full. */
    isRetryMissing: ({ context }) => context.retriesLeft < context.stockCount,
    /** Whether one more retry fills the stock. */
    isLastRetryMissing: ({ context }) => context.retriesLeft === context.stockCount - 1,
  },
  delays: {
    /** Pause before the next retry returns to the stock. */
    refillPause: ({ context: { seed, refillCount } }) =>
      Math.round(meanRefillMs * (1 + refillJitter * (2 * chanceOf(seed, refillCount) - 1))),
  },
}).createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'slots',
  context: ({ input: { counts, coreCount, seed, stockCount = fullStockCount } }) => ({
    counts: countsOf(counts, coreCount),
    coreCount,
    seed,
    stockCount,
    waiting: [],
    permits: [],
    retriesLeft: stockCount,
    refillCount: 0,
    overtakings: 0,
  }),
  on: {
    'slot.requested': { actions: 'joinLine' },
    'slot.returned': { actions: { type: 'release', params: ofReturned } },
    'slots.resized': { actions: 'resize' },
    // A permit has lapsed.
    'xstate.done.actor.*': { actions: { type: 'release', params: ofLapsed } },
  },
  always: { guard: 'canGrant', actions: 'grant' },
  initial: 'stocked',
  states: {
    // The stock is full.
    stocked: { always: { guard: 'isRetryMissing', target: 'refilling' } },
    refilling: {
      after: {
        refillPause: [
          { guard: 'isLastRetryMissing', actions: 'refill', target: 'stocked' },
          { actions: 'refill', target: 'refilling', reenter: true },
        ],
      },
    },
  },
});
