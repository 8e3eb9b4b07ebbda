/** The broker of start permits: its replies, its rules everywhere, and its stories. */

import { describe, expect, it } from 'vitest';
import {
  type AnyEventObject,
  type AnyStateMachine,
  createActor,
  type SnapshotFrom,
  type StateValueFrom,
  setup,
} from 'xstate';
import {
  permitCounts,
  type SlotPool,
  type SlotRequest,
  type SlotsEvent,
  type SlotsGranted,
  type SlotsInput,
  slotsMachine,
} from '../../machines/slots.ts';
import { withActors } from '../../machines/xstate/with-actors.ts';
import type { SlotCounts } from '../../src/domain/settings.ts';
import { type ExploredStep, explore } from '../../src/testing/explore.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { inAll, problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { expectStory } from './golden.ts';
import { failure, entry as server, settingsOf, startStory } from './story.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof slotsMachine>;
type Step = ExploredStep<typeof slotsMachine>;
type Requested = Extract<SlotsEvent, { readonly type: 'slots.requested' }>;

type Replies<Machine extends AnyStateMachine, Type extends string> = Readonly<
  Record<StateValueFrom<Machine> & string, Readonly<Record<Type, string>>>
>;
const everywhere = {
  'slots.requested': 'joinLine',
  'slot.returned': 'release',
  'slots.resized': 'resize',
  'permits.lapsed': 'lapse',
} as const;
const slotsReplies: Replies<typeof slotsMachine, SlotsEvent['type']> = {
  stocked: everywhere,
  refilling: everywhere,
};

function request(
  actorId: string,
  order: number,
  { pool = 'local', demanded = false, retry = false }: Partial<SlotRequest> = {},
): Requested {
  return { type: 'slots.requested', requests: [{ actorId, pool, demanded, retry, order }] };
}

/** All of these requests in one event; of those of one server the last. */
function together(events: readonly Requested[]): Requested {
  return { type: 'slots.requested', requests: events.flatMap(({ requests }) => requests) };
}

const starts = [
  request('a.0', 0),
  request('b.0', 1),
  request('b.0', 1, { demanded: true }),
  request('c.0', 2, { pool: 'remote' }),
  request('d.0', 3, { pool: 'remote', demanded: true }),
  request('e.0', 4, { demanded: true }),
];
/** `a.0`, `b.0` and `d.0` start again, `c.0` for the first time. */
const repeatedStarts = [
  request('a.0', 0, { retry: true }),
  request('a.0', 0, { retry: true, demanded: true }),
  request('b.0', 1, { retry: true, pool: 'remote' }),
  request('b.0', 1, { retry: true, pool: 'remote', demanded: true }),
  request('d.0', 3, { retry: true, pool: 'remote', demanded: true }),
  request('c.0', 2),
];
/** One permit in each pool, which lapses. */
const onePermitEach = {
  counts: { local: 'auto', remote: 'auto' },
  coreCount: 1 / 8,
  remoteCount: 1,
} as const;
const sizes: readonly SlotCounts[] = [onePermitEach.counts, { local: 2, remote: 1 }];
const pools: readonly SlotPool[] = ['local', 'remote'];

const idsOf = (list: readonly { readonly actorId: string }[]) => list.map(({ actorId }) => actorId);
const inPool = <Item extends { readonly pool: SlotPool }>(list: readonly Item[], pool: SlotPool) =>
  list.filter((item) => item.pool === pool);

function invariants({ context }: Snapshot): readonly string[] {
  const { permits, waiting, retriesLeft, stockCount } = context;
  const counts = permitCounts(context);
  const known = [...idsOf(permits), ...idsOf(waiting)];
  return [
    ...(new Set(known).size === known.length ? [] : ['a server is known twice']),
    ...(permits.some(({ grant, pool }) =>
      permits.some((other) => other.grant === grant && other.pool !== pool),
    )
      ? ['permits of two pools lapse together']
      : []),
    ...pools.flatMap((pool) =>
      inPool(waiting, pool).some(({ retry }) => !retry || retriesLeft > 0) &&
      inPool(permits, pool).length < counts[pool]
        ? [`a server waits although a ${pool} permit is free`]
        : [],
    ),
    ...(retriesLeft >= 0 && retriesLeft <= stockCount ? [] : ['the stock has no such size']),
  ];
}

function stepInvariants({ before, after, effects }: Step): readonly string[] {
  const granted = effects.flatMap(({ params }) => {
    const { event } = (params ?? {}) as { readonly event?: Partial<SlotsGranted> };
    return event?.type === 'slots.granted' ? (event.actorIds ?? []) : [];
  });
  const had = idsOf(before.context.permits);
  const fresh = after.context.permits.filter(({ actorId }) => !had.includes(actorId));
  const demandOf = (actorId: string) =>
    before.context.waiting.find((each) => each.actorId === actorId)?.demanded;
  // After enough overtaking the oldest retry goes first, once.
  const isOverdue = before.context.overtakings > 0 && after.context.overtakings === 0;
  const isPassedOver = after.context.waiting.some(
    ({ actorId, pool, demanded, retry }) =>
      demanded &&
      demandOf(actorId) === true &&
      (!retry || after.context.retriesLeft > 0) &&
      inPool(fresh, pool).some((each) => demandOf(each.actorId) === false),
  );
  return [
    ...(granted.toSorted().join() === idsOf(fresh).toSorted().join()
      ? []
      : ['a permit and its news differ']),
    ...(isPassedOver && !isOverdue ? ['a demanded server is passed over'] : []),
  ];
}

const searches = {
  'three local and two remote starts': () => searchSlots(starts),
  'repeated starts with a stock of two': () => searchSlots(repeatedStarts),
};

const grantsIn = ({ context }: Snapshot): ReadonlySet<number> =>
  new Set(context.permits.map(({ grant }) => grant));

function searchSlots(requested: readonly Requested[]) {
  const actorIds = [...new Set(requested.flatMap(({ requests }) => idsOf(requests)))];
  return explore(comparing(slotsMachine), {
    inputs: [{ ...onePermitEach, seed: 1, stockCount: 2 }],
    events: {
      'slots.requested': [...requested, together(requested)],
      'slot.returned': actorIds.map((actorId) => ({ type: 'slot.returned' as const, actorId })),
      'slots.resized': sizes.map((counts) => ({ type: 'slots.resized' as const, counts })),
      // A grant lapses only while it is out.
      'permits.lapsed': (snapshot: Snapshot) =>
        [...grantsIn(snapshot)].map((grant) => ({ type: 'permits.lapsed' as const, grant })),
    },
    key: ({ context, value }) =>
      JSON.stringify([
        value,
        context.counts,
        context.permits.map(({ actorId, grant }) => `${actorId} ${grant}`).toSorted(),
        context.waiting.map(({ actorId, demanded }) => `${actorId} ${demanded}`),
        context.retriesLeft,
        context.overtakings,
      ]),
    invariants,
    stepInvariants,
    goals: { 'an empty line': ({ context }) => context.waiting.length === 0 },
  });
}
const names = Object.keys(searches) as (keyof typeof searches)[];
const found = runOnce(searches);

// On a busy machine and with coverage the search takes ten times its second.
describe('the slots chart', { timeout: 120_000 }, () => {
  it('handles every event', () => {
    expect(repliesOf(slotsMachine, Object.keys(everywhere))).toEqual(slotsReplies);
  });

  it.each(names)('keeps its invariants in every state: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition', async () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/slots.txt');
  });
});

describe('start permits', () => {
  it('are returned when the session opens, or lapse while the start continues', async () => {
    const story = startStory({ coreCount: onePermitEach.coreCount });
    const web = server('web', { transport: 'http' });
    story.load(
      settingsOf([server('one'), server('two'), web, server('three'), server('four')], {
        slots: onePermitEach.counts,
      }),
    );
    story.beginHere();
    story.chapter('one opens its session: the next server starts while one lists its tools');
    story.sessions.of('one').open();
    story.chapter('two and web say nothing for as long as their permits last');
    story.clock.advanceBy(1_000);
    story.chapter('two no longer holds a permit, but still opens');
    story.serve('two');
    story.chapter('three fails before its permit lapses');
    story.sessions.of('three').fail(failure('crashed'));
    await expectStory(story, 'slots/starts-that-wait');
  });

  it('go to demanded servers first, then in settings order, and to repeated starts last', async () => {
    const { story, send, giveBack } = brokerStory({ counts: { local: 1, remote: 1 } });
    send(request('holder', 0));
    send(request('again', 1, { retry: true }));
    send(request('third', 3));
    send(request('second', 2));
    send(request('demanded', 4));
    story.note('# a user waits for a queued server');
    send(request('demanded', 4, { demanded: true }));
    for (const name of ['holder', 'demanded', 'second', 'third', 'again']) giveBack(name);
    await expectStory(story, 'slots/permits-in-turn');
  });

  it('lapse with all others that were granted at once', () => {
    const { send, giveBack, granted, clock } = brokerStory({ ...onePermitEach, coreCount: 3 / 8 });
    send(together([request('a', 0), request('b', 1), request('c', 2, { pool: 'remote' })]));
    expect(clock.pendingCount).toBe(2);
    giveBack('a');
    giveBack('c');
    expect(clock.pendingCount).toBe(1);
    clock.advanceBy(600);
    send(together(['d', 'e', 'f', 'g', 'h'].map((name, order) => request(name, order))));
    expect(granted.slice(3).map(({ actorId }) => actorId)).toEqual(['d', 'e']);
    clock.advanceBy(400);
    // Only the permit of `b` has lapsed.
    expect(granted.slice(5).map(({ actorId }) => actorId)).toEqual(['f']);
    clock.advanceBy(600);
    expect(granted.slice(6).map(({ actorId }) => actorId)).toEqual(['g', 'h']);
    for (const name of ['f', 'g', 'h']) giveBack(name);
    expect(clock.pendingCount).toBe(0);
  });

  it('do not lapse where the settings say how many servers may start at once', () => {
    const { send, giveBack, granted, clock } = brokerStory({ counts: { local: 1, remote: 1 } });
    send(request('a', 0));
    send(request('b', 1));
    send(request('c', 2, { pool: 'remote' }));
    send(request('d', 3, { pool: 'remote' }));
    expect(clock.pendingCount).toBe(0);
    expect(granted.map(({ actorId }) => actorId)).toEqual(['a', 'c']);
    giveBack('a');
    giveBack('c');
    expect(granted.map(({ actorId }) => actorId)).toEqual(['a', 'c', 'b', 'd']);
  });

  it('default to eight per processor core', () => {
    const { send, granted } = brokerStory({
      counts: { local: 'auto', remote: 1 },
      coreCount: 2,
    });
    for (let order = 0; order < 20; order += 1) send(request(`s${order}`, order));
    expect(granted).toHaveLength(16);
    send({ type: 'slots.resized', counts: { local: 18, remote: 1 } });
    expect(granted).toHaveLength(18);
    send({ type: 'slots.resized', counts: { local: 'auto', remote: 1 } });
    send({ type: 'slot.returned', actorId: 's0' });
    expect(granted).toHaveLength(18);
  });
});

describe('repeated starts', () => {
  it('begin one at a time once the stock is empty', async () => {
    const { story, send, giveBack, clock } = brokerStory({ stockCount: 2 });
    for (const name of ['a', 'b', 'c', 'd']) send(request(name, 0, { retry: true }));
    story.note('# a first start needs no retry');
    send(request('new', 9));
    for (const name of ['a', 'b', 'new']) giveBack(name);
    clock.advanceBy(300);
    giveBack('c');
    clock.advanceBy(300);
    giveBack('d');
    story.note('# the stock fills up and rests');
    clock.advanceBy(60_000);
    expect(clock.pendingCount).toBe(0);
    await expectStory(story, 'slots/retry-stock');
  });

  it('are overtaken at most three times', async () => {
    const { story, send, clock } = brokerStory({ stockCount: 1 });
    for (const name of ['first', 'old1', 'old2']) send(request(name, 0, { retry: true }));
    for (let index = 1; index <= 8; index += 1)
      send(request(`demanded${index}`, 0, { retry: true, demanded: true }));
    clock.advanceBy(900);
    await expectStory(story, 'slots/retries-overtaken');
  });

  it('keep their position when requested again', () => {
    const { send, granted, clock } = brokerStory({ stockCount: 1 });
    const ask = (name: string) => send(request(name, 0, { retry: true, demanded: true }));
    for (const name of ['first', 'second', 'third', 'second']) ask(name);
    clock.advanceBy(2_000);
    expect(granted.map(({ actorId }) => actorId)).toEqual(['first', 'second', 'third']);
  });

  it('start twenty immediately, then five per second, in order and with jitter', () => {
    const { send, granted, clock } = brokerStory();
    const asked = Array.from({ length: 100 }, (_, index) => `s${index}`);
    for (const name of asked) send(request(name, 0, { retry: true, pool: 'remote' }));
    expect(granted).toHaveLength(20);
    clock.advanceBy(60_000);
    expect(granted.map(({ actorId }) => actorId)).toEqual(asked);
    const times = granted.slice(20).map(({ at }) => at);
    const pauses = times.map((at, index) => at - (times[index - 1] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300);
    expect(new Set(pauses).size).toBeGreaterThan(40);
    expect(times.at(-1)).toBeGreaterThan(14_000);
    expect(times.at(-1)).toBeLessThan(18_000);
    expect(clock.pendingCount).toBe(0);
  });

  it('have different jitter on another host', () => {
    const [mine, theirs] = [1, 2].map((seed) => {
      const { send, granted, clock } = brokerStory({ seed, stockCount: 1 });
      for (const name of ['a', 'b', 'c', 'd']) send(request(name, 0, { retry: true }));
      clock.advanceBy(2_000);
      return granted.map(({ at }) => at);
    });
    expect(mine).toHaveLength(4);
    expect(mine).not.toEqual(theirs);
  });
});

/** A broker alone, with permits for all unless the test says otherwise. */
function brokerStory(input: Partial<SlotsInput> = {}) {
  const clock = new VirtualClock();
  const story = recordTrace({ clock, describe: wordsOf });
  const granted: { readonly actorId: string; readonly at: number }[] = [];
  const root = setup({
    types: { events: {} as SlotsGranted },
    actors: { slots: withActors(slotsMachine) },
    actions: {
      note: ({ event: { actorIds } }) => {
        for (const actorId of actorIds) granted.push({ actorId, at: clock.now() });
      },
    },
  }).createMachine({
    invoke: {
      id: 'slots',
      src: 'slots',
      input: { ...onePermitEach, coreCount: 50 / 8, remoteCount: 50, seed: 1, ...input },
    },
    on: { 'slots.granted': { actions: 'note' } },
  });
  const actor = createActor(root, { id: 'troupe', clock, inspect: story.inspect }).start();
  const send = (event: SlotsEvent): void => actor.getSnapshot().children.slots?.send(event);
  return {
    story,
    clock,
    granted,
    send,
    giveBack: (actorId: string) => send({ type: 'slot.returned', actorId }),
  };
}

function wordsOf(event: AnyEventObject): string {
  const {
    actorId,
    actorIds,
    requests = [],
  } = event as {
    readonly actorId?: string;
    readonly actorIds?: SlotsGranted['actorIds'];
    readonly requests?: Requested['requests'];
  };
  const words = requests.flatMap((each) => [
    each.actorId,
    ...(each.demanded ? ['demanded'] : []),
    ...(each.retry ? ['retry'] : []),
  ]);
  const said = [...words, ...(actorIds ?? []), ...(actorId === undefined ? [] : [actorId])];
  return said.length === 0 ? '' : `(${said.join(', ')})`;
}

/** The actions by which each state answers each event, its own or its parents'. */
function repliesOf(machine: AnyStateMachine, types: readonly string[]) {
  return Object.fromEntries(
    Object.entries(machine.states).map(([state, node]) => {
      const answer = (type: string): string => {
        const [transition] = node.transitions.get(type) ?? machine.root.transitions.get(type) ?? [];
        return (transition?.actions ?? []).map(nameOf).join();
      };
      return [state, Object.fromEntries(types.map((type) => [type, answer(type)]))];
    }),
  );
}

function nameOf(action: unknown): unknown {
  return typeof action === 'string' ? action : (action as { type?: unknown }).type;
}
