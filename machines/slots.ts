/**
 * Grants start permits, so that a hundred servers do not start at once.
 *
 * A server requests a permit and waits in the queue until its pool has a free one. Demanded servers
 * come first, then first starts in settings order, then repeated starts in the order of their
 * requests. The server returns the permit once its session is open, or once the start has ended.
 *
 * A configured number is a hard limit on the starts under way. With `auto`, a start that
 * outlasts its permit is probably waiting for something other than a core: the permit lapses, and the
 * start continues without it. Permits granted at once form a grant, which has one timer and lapses as
 * a whole.
 *
 * A repeated start also takes a retry from a stock that all servers share and that refills
 * slowly, so servers that failed together come back one after the other, whatever their own
 * budgets allow. No retry starves: at most three demanded ones in a row overtake the oldest.
 * A second request and a second return change nothing.
 *
 * ```text
 * [*] -> stocked
 * slots -- slots.requested | slot.returned | slots.resized | permits.lapsed --> (stays)
 * stocked -- always [isRetryMissing] --> refilling
 * refilling -- after refillPause [isLastRetryMissing] --> stocked
 * refilling -- after refillPause --> refilling
 * ```
 */

import { assertEvent, setup } from 'xstate';
import type { SlotCounts } from '../src/domain/settings.ts';
import { chanceOf } from '../src/policies/seeded-random.ts';

export type SlotPool = 'local' | 'remote';

export interface SlotRequest {
  /** The server actor that starts. */
  readonly actorId: string;
  readonly pool: SlotPool;
  /** Whether a call or the user is waiting for this start. */
  readonly demanded: boolean;
  /** Whether it repeats a start, and therefore takes a retry from the stock. */
  readonly retry: boolean;
  /** Position in the settings, counted from 0. */
  readonly order: number;
}

interface Permit extends Pick<SlotRequest, 'actorId' | 'pool'> {
  /** Number of its grant, unique among the grants that are out. */
  readonly grant: number;
}

// A start keeps a core busy for a quarter of a second or waits for something else; eight starts per
// core are enough to keep it busy either way.
const localPermitsPerCore = 8;
// A remote start costs a socket and a millisecond, so only a real crowd waits: two hundred sockets
// are a fifth of what a process may open on a system with the lowest usual limit.
const remotePermits = 200;

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
  /** Number of remote servers that `auto` lets start at once. Default: 200. */
  readonly remoteCount?: number;
  /** Number of retries in a full stock, which is what it starts with. Default: 20. */
  readonly stockCount?: number;
}

export interface SlotsContext extends Required<SlotsInput> {
  /** Requests in the order of their turns; at most one for each server actor. */
  readonly waiting: readonly SlotRequest[];
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
  | { readonly type: 'slots.requested'; readonly requests: readonly SlotRequest[] }
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | { readonly type: 'slots.resized'; readonly counts: SlotCounts }
  /** A grant was out for too long. Never sent from outside. */
  | { readonly type: 'permits.lapsed'; readonly grant: number };

export interface SlotsGranted {
  readonly type: 'slots.granted';
  readonly actorIds: readonly string[];
}

/** Returns the number of permits in each pool. */
export function permitCounts({
  counts: { local, remote },
  coreCount,
  remoteCount,
}: Pick<SlotsContext, 'counts' | 'coreCount' | 'remoteCount'>): Record<SlotPool, number> {
  return {
    local: local === 'auto' ? localPermitsPerCore * coreCount : local,
    remote: remote === 'auto' ? remoteCount : remote,
  };
}

/**
 * Orders the queue. Retries keep request order; in settings order, the last server would starve.
 */
function inTurn(left: SlotRequest, right: SlotRequest): number {
  if (left.demanded !== right.demanded) return left.demanded ? -1 : 1;
  if (left.retry !== right.retry) return left.retry ? 1 : -1;
  return left.retry ? 0 : left.order - right.order;
}

const canBeOvertaken = ({ retry, demanded }: SlotRequest): boolean => retry && !demanded;

/** Adds requests to the queue; a repeated one keeps its position. */
function joined(
  { waiting, permits }: SlotsContext,
  requests: readonly SlotRequest[],
): readonly SlotRequest[] {
  const holders = new Set(permits.map(({ actorId }) => actorId));
  const line = new Map(waiting.map((request) => [request.actorId, request]));
  for (const { actorId, pool, demanded, retry, order } of requests)
    if (!holders.has(actorId)) line.set(actorId, { actorId, pool, demanded, retry, order });
  return [...line.values()].sort(inTurn);
}

/** Returns the requests to grant now, in order: until permits, retries or the queue run out. */
function dueIn(context: SlotsContext): Pick<SlotsContext, 'overtakings' | 'retriesLeft'> & {
  readonly due: ReadonlySet<SlotRequest>;
} {
  const { waiting, permits } = context;
  let { overtakings, retriesLeft } = context;
  const free = permitCounts(context);
  for (const { pool } of permits) free[pool] -= 1;
  const due = new Set<SlotRequest>();
  const isLeft = (request: SlotRequest): boolean => !due.has(request);
  const mayStart = (request: SlotRequest): boolean =>
    free[request.pool] > 0 && (!request.retry || retriesLeft > 0) && isLeft(request);
  const overdue = (): SlotRequest | undefined => {
    if (overtakings < mostOvertakings) return undefined;
    const oldest = waiting.find((request) => canBeOvertaken(request) && isLeft(request));
    return oldest !== undefined && mayStart(oldest) ? oldest : undefined;
  };
  const take = (request: SlotRequest): void => {
    due.add(request);
    free[request.pool] -= 1;
    if (!request.retry) return;
    retriesLeft -= 1;
    const overtakes = request.demanded && waiting.some((one) => canBeOvertaken(one) && isLeft(one));
    overtakings = overtakes ? Math.min(mostOvertakings, overtakings + 1) : 0;
  };
  // A request that may not start now may not start after others have either, so one pass suffices.
  for (const request of waiting) {
    for (let first = overdue(); first !== undefined; first = overdue()) take(first);
    if (free.local <= 0 && free.remote <= 0) break;
    if (mayStart(request)) take(request);
  }
  return { due, overtakings, retriesLeft };
}

const pools = ['local', 'remote'] as const;

/** Returns the smallest number that no grant has. */
function freeNumber(permits: readonly Permit[]): number {
  const taken = new Set(permits.map(({ grant }) => grant));
  let number = 1;
  while (taken.has(number)) number += 1;
  return number;
}

/** Returns the id of a grant's timer. */
const patienceOf = (grant: number): string => `patience.${grant}`;

const slotsTimes = setup({
  types: { input: {} as SlotsInput, context: {} as SlotsContext, events: {} as SlotsEvent },
  delays: {
    // One second: four times the core time that an SDK-based server needs before its session is open.
    localPatience: 1_000,
    // A remote start waits for the network, so this only spreads the requests: 2,000 a second to
    // endpoints that take their time.
    remotePatience: 100,
    /** Pause before the next retry returns to the stock. */
    refillPause: ({ context: { seed, refillCount } }) =>
      Math.round(meanRefillMs * (1 + refillJitter * (2 * chanceOf(seed, refillCount) - 1))),
  },
});

/** Creates the action that applies a change, and then grants whatever permits it freed. */
function granting(change: (context: SlotsContext, event: SlotsEvent) => Partial<SlotsContext>) {
  return slotsTimes.enqueueActions(({ context: before, event, enqueue }) => {
    const context = { ...before, ...change(before, event) };
    const { due, ...rest } = dueIn(context);
    let { permits } = context;
    for (const pool of pools) {
      const starts = [...due].filter((request) => request.pool === pool);
      if (starts.length === 0) continue;
      // The number of a grant that ends now still has its timer.
      const grant = freeNumber([...before.permits, ...permits]);
      permits = [...permits, ...starts.map(({ actorId }) => ({ actorId, pool, grant }))];
      if (context.counts[pool] !== 'auto') continue;
      const lapse = { type: 'permits.lapsed', grant } as const;
      enqueue.raise(lapse, { id: patienceOf(grant), delay: `${pool}Patience` });
    }
    for (const { grant } of before.permits)
      if (!permits.some((permit) => permit.grant === grant)) enqueue.cancel(patienceOf(grant));
    if (due.size === 0) {
      enqueue.assign(context);
      return;
    }
    const waiting = context.waiting.filter((request) => !due.has(request));
    enqueue.assign({ ...context, ...rest, waiting, permits });
    const actorIds = [...due].map(({ actorId }) => actorId);
    enqueue.sendParent({ type: 'slots.granted', actorIds } satisfies SlotsGranted);
  });
}

/** The permits to start servers. */
export const slotsMachine = slotsTimes
  .extend({
    actions: {
      /** Adds requests to the queue; a repeated one keeps its position. */
      joinLine: granting((context, event) => {
        assertEvent(event, 'slots.requested');
        return { waiting: joined(context, event.requests) };
      }),
      /** Takes a request out of the queue, or its permit back. */
      release: granting(({ waiting, permits }, event) => {
        assertEvent(event, 'slot.returned');
        const isOther = ({ actorId }: Pick<Permit, 'actorId'>) => actorId !== event.actorId;
        return { waiting: waiting.filter(isOther), permits: permits.filter(isOther) };
      }),
      /** Takes a grant's permits back. */
      lapse: granting(({ permits }, event) => {
        assertEvent(event, 'permits.lapsed');
        return { permits: permits.filter(({ grant }) => grant !== event.grant) };
      }),
      /** Changes how many servers may start at once; granted permits stay valid. */
      resize: granting((_, event) => {
        assertEvent(event, 'slots.resized');
        return { counts: event.counts };
      }),
      /** Returns one retry to the stock. */
      refill: granting(({ retriesLeft, refillCount }) => ({
        retriesLeft: retriesLeft + 1,
        refillCount: refillCount + 1,
      })),
    },
    guards: {
      /** Whether the stock is not full. */
      isRetryMissing: ({ context }) => context.retriesLeft < context.stockCount,
      /** Whether one more retry fills the stock. */
      isLastRetryMissing: ({ context }) => context.retriesLeft === context.stockCount - 1,
    },
  })
  .createMachine({
    // A transition loop is a bug: a broken actor is better than a frozen host.
    options: { maxIterations: 1_000 },
    id: 'slots',
    context: ({
      input: { counts, coreCount, seed, remoteCount = remotePermits, stockCount = fullStockCount },
    }) => ({
      counts,
      coreCount,
      remoteCount,
      seed,
      stockCount,
      waiting: [],
      permits: [],
      retriesLeft: stockCount,
      refillCount: 0,
      overtakings: 0,
    }),
    on: {
      'slots.requested': { actions: 'joinLine' },
      'slot.returned': { actions: 'release' },
      'slots.resized': { actions: 'resize' },
      'permits.lapsed': { actions: 'lapse' },
    },
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
