/** The broker of start permits: what it does with each event, and everywhere. */

import { describe, expect, it } from 'vitest';
import type { AnyStateNode, SnapshotFrom, StateValueFrom } from 'xstate';
import { type SlotPool, type SlotsEvent, slotsMachine } from '../../machines/slots.ts';
import type { SlotCounts } from '../../src/domain/settings.ts';
import { type ExploredStep, explore } from '../../src/testing/explore.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';

type Snapshot = SnapshotFrom<typeof slotsMachine>;
type Step = ExploredStep<typeof slotsMachine>;
type EventType = SlotsEvent['type'];

/** Whether somebody may get a permit by it. */
type Reply = 'noted, and grants what is free' | 'noted';
const replies: Record<StateValueFrom<typeof slotsMachine>, Record<EventType, Reply>> = {
  serving: {
    'slot.requested': 'noted, and grants what is free',
    'slot.kept': 'noted',
    'slot.returned': 'noted, and grants what is free',
    'slot.lapsed': 'noted, and grants what is free',
    'slots.resized': 'noted, and grants what is free',
  },
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
  return [
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
        'slots.resized': counts.map((size) => ({ type: 'slots.resized' as const, counts: size })),
      },
      key: ({ context }) =>
        JSON.stringify([
          context.counts,
          context.permits.map(({ actorId }) => actorId).toSorted(),
          context.waiting.map(({ actorId, demanded }) => `${actorId} ${demanded}`).toSorted(),
        ]),
      invariants,
      stepInvariants,
      goals: { 'an empty line': ({ context }) => context.waiting.length === 0 },
    }),
};
const found = runOnce(searches);
const [only] = Object.keys(searches) as (keyof typeof searches)[];

describe('slots chart', () => {
  it('answers every event', () => {
    const serving: AnyStateNode | undefined = slotsMachine.states['serving'];
    const heard = [...(serving?.transitions ?? [])].map(([type, [transition]]): [string, Reply] => [
      type,
      transition?.actions.some((action) => nameOf(action) === 'grantFree') === true
        ? 'noted, and grants what is free'
        : 'noted',
    ]);
    expect(Object.fromEntries(heard)).toEqual(replies.serving);
  });

  it('keeps its rules everywhere, and takes every transition', async () => {
    const { uncovered } = found(only ?? '');
    expect(problemsOf(found(only ?? ''))).toBe('');
    expect(uncovered).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/slots.txt');
  });
});

function nameOf(action: unknown): unknown {
  return typeof action === 'string' ? action : (action as { type?: unknown }).type;
}
