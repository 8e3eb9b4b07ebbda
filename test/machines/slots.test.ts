/** The broker of start permits: what it does with each event, and everywhere. */

import { describe, expect, it } from 'vitest';
import {
  type AnyStateNode,
  createActor,
  enqueueActions,
  fromCallback,
  type SnapshotFrom,
  type StateValueFrom,
  sendTo,
  setup,
} from 'xstate';
import {
  type MeterCommand,
  type MeterFact,
  type MeterInput,
  type SlotGranted,
  type SlotPool,
  type SlotsEvent,
  slotsMachine,
} from '../../machines/slots.ts';
import type { SlotCounts } from '../../src/domain/settings.ts';
import { type ExploredStep, explore } from '../../src/testing/explore.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { inAll, problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { golden, entry as server, settingsOf, startStory } from './story.ts';

type Snapshot = SnapshotFrom<typeof slotsMachine>;
type Step = ExploredStep<typeof slotsMachine>;
type EventType = SlotsEvent['type'];

type PathIn<Value> = Value extends string
  ? Value
  : { [Key in keyof Value & string]: `${Key}.${PathIn<NonNullable<Value[Key]>>}` }[keyof Value &
      string];
type State = Exclude<PathIn<StateValueFrom<typeof slotsMachine>>, 'crowded'>;

/** Whether somebody may get a permit by it. */
type Reply = 'noted, and grants what is free' | 'noted' | 'ignored';
const everywhere = {
  'slot.requested': 'noted, and grants what is free',
  'slot.kept': 'noted',
  'slot.returned': 'noted, and grants what is free',
  'slot.lapsed': 'noted, and grants what is free',
  'retries.refilled': 'noted, and grants what is free',
  'slots.resized': 'noted, and grants what is free',
} as const;
const replies: Record<State, Record<EventType, Reply>> = {
  calm: { ...everywhere, 'machine.measured': 'ignored' },
  'crowded.measured': { ...everywhere, 'machine.measured': 'noted, and grants what is free' },
  'crowded.unmeasured': { ...everywhere, 'machine.measured': 'ignored' },
};

const request = (
  actorId: string,
  pool: SlotPool,
  demanded: boolean,
  order: number,
  retry = false,
) => ({ type: 'slot.requested', actorId, pool, demanded, retry, order }) as const;
const requests = [
  request('a.0', 'local', false, 0),
  request('b.0', 'local', false, 1),
  request('b.0', 'local', true, 1),
  request('c.0', 'remote', false, 2),
  request('d.0', 'remote', true, 3),
  request('e.0', 'local', true, 4),
];
const actorIds = ['a.0', 'b.0', 'c.0', 'd.0', 'e.0'];
/** Whose work is known: those that worked, and those that waited. */
type KnownWork = Partial<Pick<MeterFact, 'working' | 'waiting'>>;
const measured = (busyCores: number, coreCount = 2, known: KnownWork = {}): MeterFact => ({
  type: 'machine.measured',
  coreCount,
  busyCores,
  working: [],
  waiting: [],
  ...known,
});
const counts: readonly SlotCounts[] = [
  { local: 1, remote: 1 },
  { local: 2, remote: 1 },
];

const holders = ({ context }: Snapshot, pool: SlotPool) =>
  context.permits.filter((permit) => permit.pool === pool).map(({ actorId }) => actorId);
const line = ({ context }: Snapshot, pool: SlotPool) =>
  context.waiting.filter((entry) => entry.pool === pool);
const pools: readonly SlotPool[] = ['local', 'remote'];

function invariants(snapshot: Snapshot): readonly string[] {
  const { permits, waiting, counts: size, retriesLeft, stockCount } = snapshot.context;
  const known = [...permits, ...waiting].map(({ actorId }) => actorId);
  return [
    ...(new Set(known).size === known.length ? [] : ['one stands twice in the line']),
    ...(snapshot.matches('crowded') === line(snapshot, 'local').length > 0
      ? []
      : ['the machine is measured at the wrong time']),
    ...pools.flatMap((pool) =>
      line(snapshot, pool).some(({ retry }) => !retry || retriesLeft > 0) &&
      holders(snapshot, pool).length < size[pool]
        ? [`one waits although a ${pool} permit is free`]
        : [],
    ),
    ...(retriesLeft >= 0 && retriesLeft <= (stockCount ?? 0) ? [] : ['the stock has no such size']),
  ];
}

function stepInvariants({ before, event, after, effects }: Step): readonly string[] {
  const eventIn = (params: unknown) =>
    (params as { event?: { type?: string; actorId?: string } }).event ?? {};
  const named = (type: string) =>
    effects.flatMap(({ params }) => {
      const sent = eventIn(params);
      return sent.type === type && sent.actorId !== undefined ? [sent.actorId] : [];
    });
  const granted = named('slot.granted');
  const had = before.context.permits.map(({ actorId }) => actorId);
  const fresh = after.context.permits
    .map(({ actorId }) => actorId)
    .filter((id) => !had.includes(id));
  const waited = (id: string, pool: SlotPool) =>
    line(before, pool).find((entry) => entry.actorId === id);
  // Whoever has been overtaken often enough goes first, once.
  const isOvertaken = before.context.overtakings > 0 && after.context.overtakings === 0;
  const isPassedOver = pools.some((pool) =>
    line(after, pool).some(
      ({ actorId, demanded, retry }) =>
        demanded &&
        (!retry || after.context.retriesLeft > 0) &&
        !isOvertaken &&
        fresh.some((id) => waited(id, pool)?.demanded === false) &&
        waited(actorId, pool)?.demanded === true,
    ),
  );
  const lost = had.filter((id) => after.context.permits.every(({ actorId }) => actorId !== id));
  const isTakenFromNewcomer =
    event.type === 'machine.measured' &&
    before.context.permits.some(
      ({ actorId, measuredCount }) => lost.includes(actorId) && measuredCount === 0,
    );
  return [
    ...(event.type === 'machine.measured' &&
    event.busyCores >= event.coreCount &&
    lost.some((id) => !event.waiting.includes(id))
      ? ['a busy machine takes permits away from those who may work']
      : []),
    ...(event.type === 'machine.measured' && lost.some((id) => event.working.includes(id))
      ? ['one that works loses its permit by a measurement']
      : []),
    ...(isTakenFromNewcomer ? ['one that has hardly begun loses its permit'] : []),
    ...(granted.join() === fresh.join() ? [] : ['a permit and its news differ']),
    ...(event.type === 'slot.kept' || granted.every((id) => named('slot.lapsed').includes(id))
      ? []
      : ['a permit has no end']),
    ...(isPassedOver ? ['a demanded one is passed over'] : []),
  ];
}

/** `a.0` and `b.0` are tried again and again, `c.0` starts for the first time. */
const retries = [
  request('a.0', 'local', false, 0, true),
  request('a.0', 'local', true, 0, true),
  request('b.0', 'remote', false, 1, true),
  request('b.0', 'remote', true, 1, true),
  request('d.0', 'remote', true, 3, true),
  request('c.0', 'local', false, 2),
];

const searches = {
  'three local and two remote starts': () => searchSlots(requests, 1),
  'two local starts whose work is known': () =>
    searchSlots([request('a.0', 'local', false, 0), request('b.0', 'local', false, 1)], 1, [
      measured(2, 2, { working: ['a.0'], waiting: ['b.0'] }),
      measured(0, 2, { working: ['b.0'], waiting: ['a.0'] }),
    ]),
  'starts that repeat others, with a stock of one': () => searchSlots(retries, 1),
};

function searchSlots(
  requested: readonly ReturnType<typeof request>[],
  stockCount: number,
  known: readonly MeterFact[] = [],
) {
  return explore(slotsMachine, {
    inputs: [{ counts: { local: 1, remote: 1 }, seed: 1, stockCount }],
    events: {
      'slot.requested': requested,
      'slot.kept': actorIds.map((actorId) => ({ type: 'slot.kept' as const, actorId })),
      'slot.returned': actorIds.map((actorId) => ({ type: 'slot.returned' as const, actorId })),
      // Its own patience, so it comes only for a permit that is out.
      'slot.lapsed': ({ context }: Snapshot) =>
        context.permits.map(({ actorId }) => ({ type: 'slot.lapsed' as const, actorId })),
      // Its own pause, so it comes only while some are missing.
      'retries.refilled': ({ context }: Snapshot) =>
        context.retriesLeft < stockCount ? [{ type: 'retries.refilled' as const }] : [],
      'machine.measured': [measured(0), measured(1), measured(1.5), measured(2), ...known],
      'slots.resized': counts.map((size) => ({ type: 'slots.resized' as const, counts: size })),
    },
    key: ({ context, value }) =>
      JSON.stringify([
        value,
        context.counts,
        context.permits
          .map(({ actorId, measuredCount, isAtWork, renewals }) =>
            [actorId, measuredCount, isAtWork, renewals].join(' '),
          )
          .toSorted(),
        // Among those tried again the order counts, but their order alone.
        context.waiting
          .filter(({ retry }) => retry)
          .map(({ actorId, demanded }) => `${actorId} ${demanded}`),
        context.waiting
          .filter(({ retry }) => !retry)
          .map(({ actorId, demanded }) => `${actorId} ${demanded}`)
          .toSorted(),
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
describe('slots chart', { timeout: 120_000 }, () => {
  it('answers every event', () => {
    for (const [path, table] of Object.entries(replies)) {
      const heard = statesOn(path).flatMap((state) => [...state.transitions]);
      const answers = new Map(
        heard.map(([type, [transition]]): [string, Reply] => [
          type,
          transition?.actions.some((action) => nameOf(action) === 'grantFree') === true
            ? 'noted, and grants what is free'
            : 'noted',
        ]),
      );
      const present = Object.keys(table).map((type) => [type, answers.get(type) ?? 'ignored']);
      expect([path, Object.fromEntries(present)]).toEqual([path, table]);
    }
  });

  it.each(names)('keeps its rules everywhere: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition', async () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/slots.txt');
  });
});

describe('start permits', () => {
  it('go on to the next when the machine idles, and stay where it is busy', async () => {
    const { story, measure } = crowdedStory();
    story.chapter('the three at work keep the cores busy');
    measure(2);
    measure(2);
    story.chapter('half a core idles: the oldest waits for something');
    measure(1.5);
    story.chapter('all idle: so do the others, but the newest gave news a moment ago');
    story.sessions.of('s3').open();
    measure(0, 4);
    story.chapter('nobody stands in line any more');
    story.serve('s0');
    story.serve('s4');
    await expect(story.toString()).toMatchFileSnapshot(golden('troupe/starts-that-wait'));
  });

  it('go on by patience alone when the meter breaks', () => {
    const { story, isMeasured, opening } = crowdedStory(() => {
      throw new Error('no such counter');
    });
    expect(isMeasured()).toBe(false);
    expect(story.isRunning).toBe(true);
    story.clock.advanceBy(999);
    expect(opening()).toBe(3);
    story.clock.advanceBy(1);
    expect(story.sessions.of('s3').state).toBe('opening');
  });

  it('go on from those who are seen waiting, however busy the machine is', () => {
    const { story, measure, watched, opening } = crowdedStory();
    expect(watched()).toEqual(['s0.0', 's1.1', 's2.0']);
    const known = { working: ['s0.0', 's2.0'], waiting: ['s1.1'] };
    measure(2, 2, known);
    expect(opening()).toBe(3);
    measure(2, 2, known);
    expect(opening()).toBe(4);
    expect(watched()).toEqual(['s0.0', 's2.0', 's3.1']);
    expect(story.sessions.of('s3').state).toBe('opening');
  });

  it('stay with those who are seen at work, although a core idles', () => {
    const { measure, opening } = crowdedStory();
    for (let count = 0; count < 9; count += 1) {
      measure(0, 8, { working: ['s0.0', 's1.1', 's2.0'] });
    }
    expect(opening()).toBe(3);
  });

  it('are kept for five seconds of work without news, and not for ever', () => {
    const { story, measure, opening } = crowdedStory();
    const working = ['s0.0', 's1.1', 's2.0'];
    measure(2, 2, { working });
    story.clock.advanceBy(4_999);
    expect(opening()).toBe(3);
    story.clock.advanceBy(1);
    expect(opening()).toBe(6);
  });

  it('are kept for a second without news by those of whom nothing is known', () => {
    const { story, measure, opening } = crowdedStory();
    measure(2);
    story.clock.advanceBy(999);
    expect(opening()).toBe(3);
    story.clock.advanceBy(1);
    expect(opening()).toBe(6);
  });
});

describe('starts that repeat others', () => {
  const slotsOf = (seed: number, stockCount?: number) => {
    const clock = new VirtualClock();
    const granted: string[] = [];
    const holder = setup({
      types: { events: {} as SlotGranted | SlotsEvent },
      actors: {
        slots: slotsMachine.provide({ actors: { meter: fromCallback(() => {}) } }),
      },
      actions: {
        // Whoever gets a permit is done with it at once.
        note: enqueueActions(({ event, enqueue }) => {
          const { actorId } = event as SlotGranted;
          granted.push(`${clock.now()} ${actorId}`);
          enqueue.sendTo('slots', { type: 'slot.returned', actorId });
        }),
        pass: sendTo('slots', ({ event }) => event as SlotsEvent),
      },
    }).createMachine({
      invoke: {
        id: 'slots',
        src: 'slots',
        input: {
          counts: { local: 9, remote: 9 },
          seed,
          ...(stockCount === undefined ? {} : { stockCount }),
        },
      },
      on: { 'slot.granted': { actions: 'note' }, 'slot.requested': { actions: 'pass' } },
    });
    const actor = createActor(holder, { clock }).start();
    const ask = (name: string, demanded = false) => {
      actor.send(request(name, 'remote', demanded, 0, true));
    };
    return { clock, granted, ask };
  };
  const namesIn = (granted: readonly string[]) => granted.map((entry) => entry.split(' ')[1]);
  const timesIn = (granted: readonly string[]) => granted.map((entry) => Number.parseFloat(entry));

  it('come twenty at once and then five a second, in order, out of step', () => {
    const { clock, granted, ask } = slotsOf(1);
    const asked = Array.from({ length: 100 }, (_, index) => `s${index}`);
    for (const name of asked) ask(name);
    expect(granted).toHaveLength(20);
    clock.advanceBy(60_000);
    expect(namesIn(granted)).toEqual(asked);
    const times = timesIn(granted).slice(20);
    const pauses = times.map((at, index) => at - (times[index - 1] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300);
    expect(new Set(pauses).size).toBeGreaterThan(40);
    expect(times.at(-1)).toBeGreaterThan(14_000);
    expect(times.at(-1)).toBeLessThan(18_000);
    expect(clock.pendingCount).toBe(0);
  });

  it('wait out of step with those of another host', () => {
    const [mine, theirs] = [slotsOf(1, 1), slotsOf(2, 1)].map(({ clock, granted, ask }) => {
      for (const name of ['a', 'b', 'c', 'd']) ask(name);
      clock.advanceBy(2_000);
      return timesIn(granted);
    });
    expect(mine).toHaveLength(4);
    expect(mine).not.toEqual(theirs);
  });

  it('are not passed over for ever, however many are demanded', () => {
    const { clock, granted, ask } = slotsOf(1, 1);
    ask('first');
    ask('old');
    for (let round = 0; round < 12; round += 1) ask(`demanded${round}`, true);
    clock.advanceBy(10_000);
    const order = namesIn(granted);
    expect(order.slice(0, 5)).toEqual(['first', 'demanded0', 'demanded1', 'demanded2', 'old']);
    expect(order).toHaveLength(14);
  });

  it('do not keep first starts waiting', () => {
    const story = startStory();
    const crowd = Array.from({ length: 30 }, (_, index) => `s${index}`);
    story.load(
      settingsOf(
        crowd.map((name) => server(name, { transport: 'http' })),
        {
          slots: { local: 30, remote: 30 },
        },
      ),
    );
    expect(story.sessions.scripts.every(({ state }) => state === 'opening')).toBe(true);
  });
});

/** Seven local servers that want to start, and three permits. */
function crowdedStory(prepare: () => void = () => {}) {
  let tell: ((fact: MeterFact) => void) | undefined;
  let watched: readonly string[] = [];
  const meter = fromCallback<MeterCommand, MeterInput>(({ sendBack, receive, input }) => {
    prepare();
    watched = input.actorIds;
    receive((command) => {
      if (command.type === 'meter.watch') watched = command.actorIds;
    });
    tell = sendBack;
    return () => {
      tell = undefined;
    };
  });
  const story = startStory({ meter });
  story.load(settingsOf(['s0', 's1', 's2', 's3', 's4', 's5', 's6'].map((name) => server(name))));
  story.beginHere();
  return {
    story,
    isMeasured: () => tell !== undefined,
    watched: () => watched,
    opening: () => story.sessions.scripts.filter(({ state }) => state === 'opening').length,
    measure: (busyCores: number, coreCount = 2, known: KnownWork = {}) => {
      if (tell === undefined) throw new Error('Nobody measures.');
      tell(measured(busyCores, coreCount, known));
    },
  };
}

/** The states that are active together, outermost first. */
function statesOn(path: string): readonly AnyStateNode[] {
  const nodes: AnyStateNode[] = [slotsMachine.root];
  for (const key of path.split('.')) {
    const node = nodes.at(-1)?.states[key];
    if (node === undefined) throw new Error(`There is no state "${path}".`);
    nodes.push(node);
  }
  return nodes;
}

function nameOf(action: unknown): unknown {
  return typeof action === 'string' ? action : (action as { type?: unknown }).type;
}
