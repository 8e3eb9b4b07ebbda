/** The broker of start permits: what it does with each event, and everywhere. */

import { describe, expect, it } from 'vitest';
import {
  type AnyStateNode,
  type EventObject,
  fromCallback,
  type SnapshotFrom,
  type StateValueFrom,
} from 'xstate';
import {
  type MeterFact,
  type SlotPool,
  type SlotsEvent,
  slotsMachine,
} from '../../machines/slots.ts';
import type { SlotCounts } from '../../src/domain/settings.ts';
import { type ExploredStep, explore } from '../../src/testing/explore.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';
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
  'slots.resized': 'noted, and grants what is free',
} as const;
const replies: Record<State, Record<EventType, Reply>> = {
  calm: { ...everywhere, 'machine.measured': 'ignored' },
  'crowded.measured': { ...everywhere, 'machine.measured': 'noted, and grants what is free' },
  'crowded.unmeasured': { ...everywhere, 'machine.measured': 'ignored' },
};

const request = (actorId: string, pool: SlotPool, demanded: boolean, order: number) =>
  ({ type: 'slot.requested', actorId, pool, demanded, order }) as const;
const requests = [
  request('a.0', 'local', false, 0),
  request('b.0', 'local', false, 1),
  request('b.0', 'local', true, 1),
  request('c.0', 'remote', false, 2),
  request('d.0', 'remote', true, 3),
  request('e.0', 'local', true, 4),
];
const actorIds = ['a.0', 'b.0', 'c.0', 'd.0', 'e.0'];
const measured = (busyCores: number, coreCount = 2) =>
  ({ type: 'machine.measured', coreCount, busyCores }) as const;
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
  const { permits, waiting, counts: size } = snapshot.context;
  const known = [...permits, ...waiting].map(({ actorId }) => actorId);
  return [
    ...(new Set(known).size === known.length ? [] : ['one stands twice in the line']),
    ...(snapshot.matches('crowded') === line(snapshot, 'local').length > 0
      ? []
      : ['the machine is measured at the wrong time']),
    ...pools.flatMap((pool) =>
      line(snapshot, pool).length > 0 && holders(snapshot, pool).length < size[pool]
        ? [`one waits although a ${pool} permit is free`]
        : [],
    ),
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
  const isPassedOver = pools.some((pool) =>
    line(after, pool).some(
      ({ actorId, demanded }) =>
        demanded &&
        fresh.some((id) =>
          line(before, pool).some((entry) => entry.actorId === id && !entry.demanded),
        ) &&
        line(before, pool).some((entry) => entry.actorId === actorId && entry.demanded),
    ),
  );
  const lost = had.filter((id) => after.context.permits.every(({ actorId }) => actorId !== id));
  const isTakenFromNewcomer =
    event.type === 'machine.measured' &&
    before.context.permits.some(
      ({ actorId, measuredCount }) => lost.includes(actorId) && measuredCount === 0,
    );
  return [
    ...(event.type === 'machine.measured' && event.busyCores >= event.coreCount && lost.length > 0
      ? ['a busy machine takes permits away']
      : []),
    ...(isTakenFromNewcomer ? ['one that has hardly begun loses its permit'] : []),
    ...(granted.join() === fresh.join() ? [] : ['a permit and its news differ']),
    ...(event.type === 'slot.kept' || granted.every((id) => named('slot.lapsed').includes(id))
      ? []
      : ['a permit has no end']),
    ...(isPassedOver ? ['a demanded one is passed over'] : []),
  ];
}

const searches = {
  'three local and two remote starts': () =>
    explore(slotsMachine, {
      inputs: [{ counts: { local: 1, remote: 1 } }],
      events: {
        'slot.requested': requests,
        'slot.kept': actorIds.map((actorId) => ({ type: 'slot.kept' as const, actorId })),
        'slot.returned': actorIds.map((actorId) => ({ type: 'slot.returned' as const, actorId })),
        // Its own patience, so it comes only for a permit that is out.
        'slot.lapsed': ({ context }: Snapshot) =>
          context.permits.map(({ actorId }) => ({ type: 'slot.lapsed' as const, actorId })),
        'machine.measured': [measured(0), measured(1), measured(1.5), measured(2)],
        'slots.resized': counts.map((size) => ({ type: 'slots.resized' as const, counts: size })),
      },
      key: ({ context, value }) =>
        JSON.stringify([
          value,
          context.counts,
          context.permits.map((permit) => `${permit.actorId} ${permit.measuredCount}`).toSorted(),
          context.waiting.map(({ actorId, demanded }) => `${actorId} ${demanded}`).toSorted(),
        ]),
      invariants,
      stepInvariants,
      goals: { 'an empty line': ({ context }) => context.waiting.length === 0 },
    }),
};
const found = runOnce(searches);
const [only] = Object.keys(searches) as (keyof typeof searches)[];

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

  it('keeps its rules everywhere, and takes every transition', async () => {
    const { uncovered } = found(only ?? '');
    expect(problemsOf(found(only ?? ''))).toBe('');
    expect(uncovered).toEqual([]);
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
    await expect(story.toString()).toMatchFileSnapshot(golden('starts-that-wait'));
  });

  it('go on by patience alone when the meter breaks', () => {
    const { story, isMeasured } = crowdedStory(() => {
      throw new Error('no such counter');
    });
    expect(isMeasured()).toBe(false);
    expect(story.isRunning).toBe(true);
    story.clock.advanceBy(250);
    expect(story.sessions.of('s3').state).toBe('opening');
  });
});

/** Seven local servers that want to start, and three permits. */
function crowdedStory(prepare: () => void = () => {}) {
  let tell: ((fact: MeterFact) => void) | undefined;
  const meter = fromCallback<EventObject, Record<string, never>>(({ sendBack }) => {
    prepare();
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
    measure: (busyCores: number, coreCount = 2) => {
      if (tell === undefined) throw new Error('Nobody measures.');
      tell(measured(busyCores, coreCount));
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
