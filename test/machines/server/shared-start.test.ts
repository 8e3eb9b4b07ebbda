/** A server that starts from a copied snapshot, compared with one that computes its own. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnyActorRef, createActor, type InspectionEvent, setup } from 'xstate';
import { type ServerInput, serverStart } from '../../../machines/server/context.ts';
import { serverMachine } from '../../../machines/server/server.ts';
import { sharingStarts, spawnApart } from '../../../machines/xstate-internals.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const shape = fc.record({
  transport: fc.constantFrom('stdio' as const, 'http' as const),
  startup: fc.constantFrom('eager' as const, 'lazy' as const),
  verdict: fc.constantFrom('admitted' as const, 'disabled' as const, 'pendingApproval' as const),
  policy: fc.constantFrom(defaultPolicy, { ...defaultPolicy }),
  stopWanted: fc.boolean(),
  startWanted: fc.boolean(),
  succeeds: fc.boolean(),
  hasStoredCatalog: fc.boolean(),
  mayDownload: fc.boolean(),
});
const own = (name: string, seed: number) => ({
  actorId: `${name}.0`,
  name,
  generation: `${name}-1`,
  seed,
});

/** Starts servers below one parent. */
function startedBelow(
  machine: typeof serverMachine,
  inputs: readonly ServerInput[],
  clock = new VirtualClock(),
) {
  const seen: InspectionEvent[] = [];
  const heard: unknown[] = [];
  const refs: AnyActorRef[] = [];
  const parent = setup({ actors: { server: machine } }).createMachine({
    entry: [
      spawnApart(
        'server',
        inputs.map((input) => ({ id: input.actorId, input })),
        (children) => () => refs.push(...children),
      ),
    ],
    on: { '*': { actions: ({ event }) => heard.push(event) } },
  });
  const root = createActor(parent, { clock, inspect: (event) => seen.push(event) }).start();
  return { root, refs, seen, heard };
}

/** Starts servers below one parent, and returns what the last one is and did. */
function startsOf(machine: typeof serverMachine, inputs: readonly ServerInput[]) {
  const { root, refs, seen, heard } = startedBelow(machine, inputs);
  const last = refs.at(-1) as AnyActorRef;
  const { value, context, status, tags } = last.getSnapshot();
  const sent = heard.filter((event) => (event as ServerInput).actorId === inputs.at(-1)?.actorId);
  const events = seen.flatMap((event): readonly unknown[] => {
    if (event.actorRef !== last) return [];
    if (event.type === '@xstate.event') return [event.event];
    if (event.type === '@xstate.action') return [event.action.type];
    return event.type === '@xstate.microstep'
      ? [event._transitions.map(({ source, target }) => [source.id, target?.map(({ id }) => id)])]
      : [event.type];
  });
  root.stop();
  return { value, context, status, tags, sent, events };
}

describe('a server that starts like an earlier one', () => {
  it('has the same snapshot, reports and records as one that computes its own', () => {
    fc.assert(
      fc.property(shape, fc.nat(), fc.nat(), (facts, seed, other) => {
        const first = { ...facts, ...own('first', seed) };
        const second = { ...facts, ...own('second', other) };
        const sharing = sharingStarts(serverMachine, serverStart);
        expect(startsOf(sharing, [first, second])).toEqual(startsOf(serverMachine, [second]));
      }),
    );
  });

  const pairOf = (startup: ServerInput['startup']): readonly ServerInput[] =>
    ['one', 'two'].map((name) => ({
      ...own(name, 1),
      transport: 'stdio',
      startup,
      verdict: 'admitted',
      policy: defaultPolicy,
      stopWanted: false,
      startWanted: false,
      succeeds: false,
      hasStoredCatalog: false,
      mayDownload: false,
    }));

  it.each(['lazy', 'eager'] as const)('shares its states with it while both are %s', (startup) => {
    const sharing = sharingStarts(serverMachine, serverStart);
    const { root, refs } = startedBelow(sharing, pairOf(startup));
    const [one, two] = refs.map((ref) => ref.getSnapshot());
    expect(one.value).toBe(two.value);
    expect(two.context.name).toBe('two');
    root.stop();
  });

  it('waits in the queue for its own time', () => {
    const clock = new VirtualClock();
    const sharing = sharingStarts(serverMachine, serverStart);
    const { root, refs } = startedBelow(sharing, pairOf('eager'), clock);
    refs[0]?.send({ type: 'server.stop' });
    clock.advanceBy(defaultPolicy.connect.queueTimeoutMs);
    const states = refs.map((ref) => ref.getSnapshot().value.connection);
    expect(states).toEqual([{ parked: 'stopped' }, { parked: { backingOff: 'retrying' } }]);
    root.stop();
  });
});

it('runs the actions of every start if a machine does more than raise events', () => {
  let starts = 0;
  const alike = {};
  const counting = setup({ actions: { count: () => void (starts += 1) } }).createMachine({
    context: ({ input }) => ({ input }),
    entry: 'count',
    after: { 1_000: {} },
  });
  const sharing = sharingStarts(counting, { keyOf: () => [alike, ''], ownOf: () => ({}) });
  for (const input of [1, 2]) createActor(sharing, { input }).start().stop();
  expect(starts).toBe(2);
});
