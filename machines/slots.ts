/**
 * Hands out start permits, so that a hundred servers do not start at once.
 *
 * Two pools, local and remote. Servers that somebody waits for come first, then
 * settings order. A permit is answered by `slot.granted` and comes back by
 * `slot.returned`. Its bound is on work, not on servers: whoever waits for
 * something lets others use the time, and its start goes on all the same. A
 * remote start that has sent no news for a moment waits for the network. For local
 * ones, while others stand in line, it is measured who works: whoever is seen waiting
 * loses its permit. Of whom nobody can tell, the cores do: when they idle, the
 * holders that had time to begin do not work. Where the machine is busy with
 * something else, a start without news loses its permit after some patience
 * (`slot.lapsed`), and one that is seen at work after some more. News (`slot.kept`)
 * begins all this anew. Asking, returning and asking again are harmless.
 *
 * A start that repeats an earlier one takes a retry from a stock as well, which all
 * servers share and which fills up slowly. So many servers that fail together come
 * back one after the other, whatever their own budgets allow: those somebody waits
 * for first, else in the order in which they asked. Nobody is passed over for ever.
 *
 * ```text
 * [*] -> calm
 * slots -- slot.requested | slot.kept | slot.returned | slot.lapsed | retries.refilled |
 *          slots.resized --> (stays)
 * calm -- always [hasLocalLine] --> crowded
 * crowded -- always [hasNoLocalLine] --> calm
 * crowded: [*] -> measured
 *   measured invokes meter
 *   measured -- machine.measured --> (stays)
 *   measured -- error meter --> unmeasured
 *   unmeasured
 * ```
 */

import { assertEvent, assign, enqueueActions, fromCallback, setup } from 'xstate';
import type { SlotCounts } from '../src/domain/settings.ts';
import { chanceOf } from '../src/policies/chance.ts';

export type SlotPool = 'local' | 'remote';

interface Waiting {
  readonly actorId: string;
  readonly pool: SlotPool;
  readonly demanded: boolean;
  /** It repeats a start, so it takes a retry from the stock. */
  readonly retry: boolean;
  /** Place in the settings, from 0. */
  readonly order: number;
}

interface Permit {
  readonly actorId: string;
  readonly pool: SlotPool;
  /** Of a local one, measurements since it was granted, heard of or seen at work; at most {@link fullWindowCount}. */
  readonly measuredCount: number;
  /** Seen at work when it was measured last. */
  readonly isAtWork: boolean;
  /** How often its patience was renewed because it worked; at most {@link mostRenewals}. */
  readonly renewals: number;
}

// The first measurement may have begun before the permit; the second one is all its own.
const fullWindowCount = 2;

// Five seconds of work in all: ten times what most servers need. A start that spins for
// ever must not keep others waiting for longer.
const mostRenewals = 4;

// Twenty: what a lost network takes along in one go, all of it, comes back without
// waiting, as long as it is no more than may be starting remotely anyway.
const fullStockCount = 20;
// A fifth of a second, so five starts a second: a hundred servers that flap together are
// all tried within twenty seconds, well within the wait for a permit, and a start
// of a process, about a second of a core, keeps a machine busy but not overrun.
const meanRefillMs = 200;
// Half of it more or less, so that the runtimes of several hosts do not keep step.
const refillJitter = 0.5;
// One in four: whoever is waited for is served nearly as fast, and nobody starves.
const mostOvertakings = 3;

export interface SlotsInput {
  readonly counts: SlotCounts;
  /** Makes the pauses between two retries repeatable. */
  readonly seed: number;
  /** Retries that are there at first, and the most there can be. Default: 20. */
  readonly stockCount?: number;
}

export interface SlotsContext extends SlotsInput {
  /** At most one entry for each server actor. */
  readonly waiting: readonly Waiting[];
  readonly permits: readonly Permit[];
  /** Retries that may begin at once. */
  readonly retriesLeft: number;
  /** Retries that came back to the stock one by one; gives each pause its own jitter. */
  readonly refillCount: number;
  /** Demanded retries in a row that went before an older one; at most {@link mostOvertakings}. */
  readonly overtakings: number;
}

/** How busy the machine was since the reading before. */
export interface CoreReading {
  readonly coreCount: number;
  readonly busyCores: number;
}

/** What the meter tells, and of the watched actors what it knows of them. */
export interface MeterFact extends CoreReading {
  readonly type: 'machine.measured';
  readonly working: readonly string[];
  readonly waiting: readonly string[];
}

/** Server actors whose work is to be measured. */
export interface MeterInput {
  readonly actorIds: readonly string[];
}
export type MeterCommand =
  | ({ readonly type: 'meter.watch' } & MeterInput)
  /** The chart broke: nobody else will end the measuring. */
  | { readonly type: 'io.dispose' };

export type SlotsEvent =
  | MeterFact
  | ({ readonly type: 'slot.requested' } & Waiting)
  | { readonly type: 'slot.kept'; readonly actorId: string }
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | { readonly type: 'slot.lapsed'; readonly actorId: string }
  | { readonly type: 'retries.refilled' }
  | { readonly type: 'slots.resized'; readonly counts: SlotCounts };

export interface SlotGranted {
  readonly type: 'slot.granted';
  readonly actorId: string;
}

const pools = ['local', 'remote'] as const;

/** Whose turn comes first. Two retries keep the order in which they asked: in that of the settings, the last would starve. */
export function inTurn(left: Waiting, right: Waiting): number {
  if (left.demanded !== right.demanded) return left.demanded ? -1 : 1;
  if (left.retry !== right.retry) return left.retry ? 1 : -1;
  return left.retry ? 0 : left.order - right.order;
}

/** Lists whose turn it is, as far as free permits and the stock of retries reach. */
function nextInTurn(context: SlotsContext): readonly Waiting[] {
  const { waiting, permits, counts } = context;
  const free = new Map(
    pools.map((pool) => [pool, counts[pool] - permits.filter((it) => it.pool === pool).length]),
  );
  let retriesLeft = context.retriesLeft;
  const next: Waiting[] = [];
  for (const entry of [...overdueIn(context), ...waiting.toSorted(inTurn)]) {
    const left = free.get(entry.pool) as number;
    if (left <= 0 || next.includes(entry) || (entry.retry && retriesLeft === 0)) continue;
    free.set(entry.pool, left - 1);
    if (entry.retry) retriesLeft -= 1;
    next.push(entry);
  }
  return pools.flatMap((pool) => next.filter((entry) => entry.pool === pool));
}

const isPatient = ({ retry, demanded }: Waiting): boolean => retry && !demanded;

/** The oldest retry that nobody waits for, once enough others went before it. */
function overdueIn({ waiting, overtakings }: SlotsContext): readonly Waiting[] {
  return overtakings < mostOvertakings ? [] : waiting.filter(isPatient).slice(0, 1);
}

/** What is left of the stock after these were let in. */
function afterRetries(context: SlotsContext, granted: readonly Waiting[]) {
  const retries = granted.filter(({ retry }) => retry);
  const isAnyPatient = context.waiting.some(isPatient);
  const isAnyServed = retries.some(isPatient);
  const overtakings = isAnyPatient && !isAnyServed ? context.overtakings + retries.length : 0;
  return {
    retriesLeft: context.retriesLeft - retries.length,
    overtakings: Math.min(mostOvertakings, overtakings),
  };
}

const stockOf = ({ stockCount = fullStockCount }: SlotsInput): number => stockCount;

// Readings err by about a quarter of a core: the machine counts in steps of 10 ms.
const readingError = 0.25;

/**
 * How many of the holders do not work. While no core is wanting, each that works keeps one busy;
 * when all are busy, nobody can tell.
 */
function idleCount({ coreCount, busyCores }: CoreReading, holderCount: number): number {
  if (busyCores > coreCount - readingError) return 0;
  return Math.max(0, holderCount - Math.max(0, Math.ceil(busyCores - readingError)));
}

function measured(permit: Permit, { working }: MeterFact): Permit {
  if (permit.pool !== 'local') return permit;
  const isAtWork = working.includes(permit.actorId);
  const measuredCount = isAtWork ? 0 : Math.min(fullWindowCount, permit.measuredCount + 1);
  return { ...permit, isAtWork, measuredCount };
}

/** Who loses a permit by a measurement. */
function waitingAmong(permits: readonly Permit[], fact: MeterFact): readonly Permit[] {
  const local = permits.filter(({ pool }) => pool === 'local');
  const quiet = local.filter(({ measuredCount }) => measuredCount === fullWindowCount);
  const seen = quiet.filter(({ actorId }) => fact.waiting.includes(actorId));
  // The oldest first: who has had the most time to work is the likeliest to wait.
  const unseenCount = Math.max(0, idleCount(fact, local.length) - seen.length);
  return [...seen, ...quiet.filter((permit) => !seen.includes(permit)).slice(0, unseenCount)];
}

function withChanged(
  permits: readonly Permit[],
  actorId: string,
  change: Partial<Permit>,
): readonly Permit[] {
  return permits.map((it) => (it.actorId === actorId ? { ...it, ...change } : it));
}

const localHolders = ({ permits }: SlotsContext): readonly string[] =>
  permits.filter(({ pool }) => pool === 'local').map(({ actorId }) => actorId);

const hasLocalLine = ({ waiting }: SlotsContext): boolean =>
  waiting.some(({ pool }) => pool === 'local');

const patienceIn = { local: 'localPatience', remote: 'remotePatience' } as const;

const lapseOf = (actorId: string): string => `lapse:${actorId}`;

function notProvided(): never {
  throw new Error('actor "meter" was not provided to the slots chart');
}

export const slotsMachine = setup({
  types: {
    input: {} as SlotsInput,
    context: {} as SlotsContext,
    events: {} as SlotsEvent,
  },
  actors: { meter: fromCallback<MeterCommand, MeterInput>(notProvided) },
  actions: {
    /** Takes its place in the line, once. */
    joinLine: assign(({ context, event }) => {
      assertEvent(event, 'slot.requested');
      const { actorId, pool, demanded, retry, order } = event;
      if (context.permits.some((permit) => permit.actorId === actorId)) return {};
      const entry = { actorId, pool, demanded, retry, order };
      // Whoever asks again keeps its place.
      const isThere = context.waiting.some((other) => other.actorId === actorId);
      if (!isThere) return { waiting: [...context.waiting, entry] };
      return { waiting: context.waiting.map((it) => (it.actorId === actorId ? entry : it)) };
    }),
    // Who was seen at work is given more time, for as often as it may be.
    endPatience: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.lapsed');
      const { actorId } = event;
      const permit = context.permits.find((it) => it.actorId === actorId);
      if (permit?.isAtWork === true && permit.renewals < mostRenewals) {
        const renewals = permit.renewals + 1;
        enqueue.assign({ permits: withChanged(context.permits, actorId, { renewals }) });
        enqueue.raise(event, { delay: patienceIn[permit.pool], id: lapseOf(actorId) });
        return;
      }
      enqueue.assign({ permits: context.permits.filter((it) => it.actorId !== actorId) });
    }),
    /** It waits no more, or gives its permit back. */
    leave: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.returned');
      enqueue.cancel(lapseOf(event.actorId));
      enqueue.assign({
        waiting: context.waiting.filter(({ actorId }) => actorId !== event.actorId),
        permits: context.permits.filter(({ actorId }) => actorId !== event.actorId),
      });
    }),
    /** The start goes on: its permit counts for longer. */
    renewPatience: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.kept');
      const { actorId } = event;
      const permit = context.permits.find((it) => it.actorId === actorId);
      if (permit === undefined) return;
      const change = { measuredCount: 0, renewals: 0 };
      enqueue.assign({ permits: withChanged(context.permits, actorId, change) });
      enqueue.cancel(lapseOf(actorId));
      enqueue.raise(
        { type: 'slot.lapsed', actorId },
        { delay: patienceIn[permit.pool], id: lapseOf(actorId) },
      );
    }),
    // They wait for something: the permit goes to somebody who can use the cores.
    takeFromIdle: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'machine.measured');
      const permits = context.permits.map((permit) => measured(permit, event));
      const lost = waitingAmong(permits, event);
      for (const { actorId } of lost) enqueue.cancel(lapseOf(actorId));
      enqueue.assign({ permits: permits.filter((permit) => !lost.includes(permit)) });
    }),
    /** Has the work of those who start measured, as long as somebody waits. */
    tellMeter: enqueueActions(({ context, enqueue }) => {
      // With the line, the meter ends.
      if (!hasLocalLine(context)) return;
      enqueue.sendTo('meter', { type: 'meter.watch', actorIds: localHolders(context) });
    }),
    // One at a time, and only while some are missing.
    refill: enqueueActions(({ context, enqueue }) => {
      const retriesLeft = context.retriesLeft + 1;
      enqueue.assign({ retriesLeft, refillCount: context.refillCount + 1 });
      if (retriesLeft < stockOf(context)) {
        enqueue.raise({ type: 'retries.refilled' }, { delay: 'refillPause' });
      }
    }),
    /** As many may start at once as told. */
    resize: assign(({ event }) => {
      assertEvent(event, 'slots.resized');
      return { counts: event.counts };
    }),
    /** Hands out what is free, in the order of the line. */
    grantFree: enqueueActions(({ context, event, enqueue }) => {
      const granted = nextInTurn(context);
      if (granted.length === 0) return;
      // Whom a measurement lets in has the whole of the next one.
      const measuredCount = event.type === 'machine.measured' ? 1 : 0;
      const names = new Set(granted.map(({ actorId }) => actorId));
      const after = afterRetries(context, granted);
      const isFull = context.retriesLeft === stockOf(context);
      if (isFull && after.retriesLeft < context.retriesLeft) {
        enqueue.raise({ type: 'retries.refilled' }, { delay: 'refillPause' });
      }
      enqueue.assign({
        ...after,
        waiting: context.waiting.filter(({ actorId }) => !names.has(actorId)),
        permits: [
          ...context.permits,
          ...granted.map(({ actorId, pool }) => ({
            actorId,
            pool,
            measuredCount,
            isAtWork: false,
            renewals: 0,
          })),
        ],
      });
      for (const { actorId, pool } of granted) {
        enqueue.raise(
          { type: 'slot.lapsed', actorId },
          { delay: patienceIn[pool], id: lapseOf(actorId) },
        );
        enqueue.sendParent({ type: 'slot.granted', actorId } satisfies SlotGranted);
      }
    }),
  },
  guards: {
    /** A local server waits for a permit. */
    hasLocalLine: ({ context }) => hasLocalLine(context),
    /** No local server waits. */
    hasNoLocalLine: ({ context }) => !hasLocalLine(context),
  },
  delays: {
    // A second: a server on the SDK has a quarter of that to do before it is listed (265 ms
    // measured). On a busy machine it takes several times as long, and with less patience
    // working ones would crowd each other, which makes all of them slower still.
    localPatience: 1_000,
    // A start over the network is waiting, but for a few milliseconds of ours: this only
    // spreads the requests, 200 in a second to endpoints that take their time.
    remotePatience: 100,
    /** Between two retries that come back to the stock, with jitter. */
    refillPause: ({ context: { seed, refillCount } }) =>
      Math.round(meanRefillMs * (1 + refillJitter * (2 * chanceOf(seed, refillCount) - 1))),
  },
}).createMachine({
  // A loop of transitions is a bug: better a broken actor than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'slots',
  context: ({ input }) => ({
    ...input,
    waiting: [],
    permits: [],
    retriesLeft: stockOf(input),
    refillCount: 0,
    overtakings: 0,
  }),
  initial: 'calm',
  on: {
    'slot.requested': { actions: ['joinLine', 'grantFree'] },
    'slot.kept': { actions: 'renewPatience' },
    'slot.returned': { actions: ['leave', 'grantFree'] },
    'slot.lapsed': { actions: ['endPatience', 'grantFree'] },
    'retries.refilled': { actions: ['refill', 'grantFree'] },
    'slots.resized': { actions: ['resize', 'grantFree'] },
  },
  states: {
    calm: { always: { guard: 'hasLocalLine', target: 'crowded' } },
    // Only here does it matter who works.
    crowded: {
      always: { guard: 'hasNoLocalLine', target: 'calm' },
      initial: 'measured',
      states: {
        measured: {
          invoke: {
            id: 'meter',
            src: 'meter',
            input: ({ context }) => ({ actorIds: localHolders(context) }),
            onError: 'unmeasured',
          },
          on: { 'machine.measured': { actions: ['takeFromIdle', 'grantFree', 'tellMeter'] } },
        },
        // Patience alone decides.
        unmeasured: {},
      },
    },
  },
});
