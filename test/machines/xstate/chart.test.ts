/** Compiled charts, compared with what XState computes for the same chart. */

import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  Actor,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  assign,
  cancel,
  createActor,
  type EventObject,
  emit,
  enqueueActions,
  fromTransition,
  type InspectionEvent,
  not,
  raise,
  sendTo,
  setup,
  stateIn,
} from 'xstate';
import { compiled } from '../../../machines/xstate/chart.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import { GroupedMap } from '../../../src/policies/grouped-map.ts';

import { comparing } from './comparing.ts';
import { withActors as withOwnSteps } from './own-steps.ts';

const eventTypes = ['a', 'a.b', 'ab', 'boom', 'xstate.error.actor.other'] as const;

/** A state before it has an id. */
interface Sketch {
  readonly kind: 'atomic' | 'final' | 'compound' | 'parallel';
  readonly tags: readonly string[];
  readonly entry: readonly object[];
  readonly exit: readonly object[];
  readonly invokes: boolean;
  readonly on: Readonly<Record<string, readonly Move[]>>;
  readonly always: readonly Move[];
  readonly within: readonly Sketch[];
}

interface Move {
  /** Number of the target, modulo the number of states. */
  readonly to: number | undefined;
  readonly reenter: boolean;
  readonly guard: object;
  readonly actions: readonly object[];
}

const callChild = sendTo('child', { type: 'boom' });
const actions = fc.array(
  fc.constantFrom<object>(
    { type: 'log' },
    { type: 'log' },
    { type: 'add', params: { by: 2 } },
    { type: 'add', params: ({ event }: { event: EventObject }) => ({ by: event.type.length }) },
    raise({ type: 'a.b' }),
    enqueueActions(({ enqueue, context }) => {
      enqueue({ type: 'log' });
      if ((context as { count: number }).count % 2 === 0) enqueue.assign({ isEven: true });
    }),
    callChild,
  ),
  { maxLength: 2 },
);
const move = fc.record({
  to: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
  reenter: fc.boolean(),
  guard: fc.constantFrom<object>({ type: 'isEarly' }, { type: 'isBelow', params: { most: 5 } }),
  actions,
});
const moves = fc.array(move, { minLength: 1, maxLength: 2 });
const common = {
  tags: fc.subarray(['x', 'y']),
  entry: actions,
  exit: actions,
  invokes: fc.boolean(),
  on: fc.dictionary(fc.constantFrom(...eventTypes, 'a.*', '*'), moves, { maxKeys: 3 }),
  always: fc.array(move, { maxLength: 1 }),
};
const { state: sketch } = fc.letrec<{ state: Sketch }>((tie) => ({
  state: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    fc.record({
      ...common,
      kind: fc.constantFrom('atomic' as const, 'final' as const),
      within: fc.constant([]),
    }),
    fc.record({
      ...common,
      kind: fc.constantFrom('compound' as const, 'parallel' as const),
      within: fc.array(tie('state'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}));

const logged: unknown[] = [];

const sample = setup({
  types: {
    context: {} as { readonly count: number },
    input: {} as object,
  },
  actors: {
    echo: fromTransition((state: { readonly count: number }) => ({ count: state.count + 1 }), {
      count: 0,
    }),
    child: fromTransition((state, { type }) => {
      if (type === 'boom') throw new Error('boom');
      return state;
    }, {}),
  },
  actions: {
    log: ({ context, event }) => logged.push([event.type, { ...context }]),
    add: assign(({ context }, { by }: { readonly by: number }) => ({ count: context.count + by })),
  },
  guards: {
    isEarly: ({ context }) => context.count < 15,
    isBelow: ({ context }, { most }: { readonly most: number }) => context.count < most,
    isLate: not('isEarly'),
    // XState follows the name, which its types do not allow.
    isNamed: 'isEarly' as never,
    throws: () => {
      throw new Error('no guard');
    },
  },
});

function sampleChart(config: object): AnyStateMachine {
  return sample.createMachine({
    context: ({ input }: { readonly input: object }) => ({ count: 0, ...input }),
    output: ({ context, event }: { readonly context: object; readonly event: object }) => ({
      ...context,
      ...event,
    }),
    ...config,
  } as never) as unknown as AnyStateMachine;
}

/** A chart of generated states. */
function chartOf(root: Sketch): AnyStateMachine {
  const sizeOf = ({ within }: Sketch): number =>
    within.reduce((sum, each) => sum + sizeOf(each), 1);
  const size = sizeOf(root);
  let count = 0;
  const moveOf = ({ to, actions: more, ...rest }: Move) => ({
    ...rest,
    ...(to !== undefined && { target: `#s${to % size}` }),
    // Guards end a chart that would move forever.
    actions: [{ type: 'add', params: { by: 1 } }, ...more],
  });
  const configOf = ({ kind, on, always, invokes, within, ...rest }: Sketch): object => ({
    ...rest,
    id: `s${(count += 1) - 1}`,
    ...(kind !== 'compound' && { type: kind }),
    ...(kind !== 'final' && {
      ...(invokes && { invoke: { src: 'child', id: 'child' } }),
      on: Object.fromEntries(Object.entries(on).map(([type, list]) => [type, list.map(moveOf)])),
      always: always.map(moveOf),
    }),
    ...(kind === 'compound' && { initial: 'c0' }),
    ...(within.length > 0 && {
      states: Object.fromEntries(within.map((each, index) => [`c${index}`, configOf(each)])),
    }),
  });
  return sampleChart(configOf(root));
}

const namesOf = (states: readonly AnyStateNode[] | undefined) => states?.map(({ id }) => id);
const idOf = (value: unknown): unknown => (value instanceof Actor ? value.id : value);

function plain(event: InspectionEvent): unknown {
  const actor = idOf(event.actorRef);
  if (event.type === '@xstate.event') return [actor, event.event];
  if (event.type === '@xstate.action') {
    const { type, params } = event.action;
    const parts = Object.entries(params ?? {}).map(([name, value]) => [name, idOf(value)]);
    return [actor, type, params instanceof Actor ? params.id : parts];
  }
  if (event.type !== '@xstate.microstep') return [actor, event.type];
  const moved = event._transitions.map(({ source, target }) => [source.id, namesOf(target)]);
  const { value, status } = event.snapshot as AnyMachineSnapshot;
  return [actor, moved, value, status];
}

/** Everything that an actor with this chart is and does. */
function runOf(chart: AnyStateMachine, events: readonly string[], input: object = {}) {
  logged.length = 0;
  const seen: unknown[] = [];
  const errors: string[] = [];
  const inspect = (event: InspectionEvent): void => void seen.push(plain(event));
  const actor = createActor(chart, { inspect, input, id: 'root' });
  actor.subscribe({ error: (error) => errors.push(String(error)) });
  const look = (): void => {
    const snapshot = actor.getSnapshot();
    const { value, status, output, tags, context, children, historyValue } = snapshot;
    const states = namesOf(snapshot._nodes);
    const facts = [value, status, output, tags, context, historyValue, states];
    seen.push(structuredClone(facts), Object.keys(children));
  };
  actor.start();
  look();
  for (const type of events) {
    if (actor.getSnapshot().status !== 'active') break;
    actor.send({ type, error: type });
    look();
  }
  if (actor.getSnapshot().status === 'active') actor.stop();
  look();
  return { seen, errors, logged: [...logged] };
}

function expectAlike(chart: AnyStateMachine, events: readonly string[], input?: object): void {
  expect(runOf(compiled(chart), events, input)).toEqual(runOf(chart, events, input));
}

describe('a compiled chart', () => {
  it('matches XState for generated charts', () => {
    // XState warns about events sent to a stopped child.
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const events = fc.array(fc.constantFrom(...eventTypes), { maxLength: 8 });
    fc.assert(
      fc.property(sketch, events, (root, sent) => expectAlike(chartOf(root), sent)),
      { numRuns: 600 },
    );
    vi.restoreAllMocks();
  });

  it.each<readonly [string, object]>([
    ['no context', { context: undefined, output: undefined }],
    ['a context that is not computed', { context: { count: 3 }, output: 'over' }],
    [
      'a context that throws',
      {
        context: () => {
          throw new Error('no context');
        },
      },
    ],
    ['a guard that throws', { on: { a: { guard: 'throws', target: '#end' } } }],
    [
      'an eventless guard that throws',
      { states: { one: { always: { guard: 'throws' } }, end: { id: 'end' } } },
    ],
    ['a guard of XState', { on: { a: { guard: not('isEarly') } } }],
    ['a guard that is named after another', { on: { a: { guard: 'isLate' } } }],
    [
      'a guard that is the name of another',
      { always: { guard: 'isNamed', actions: { type: 'add', params: { by: 5 } } } },
    ],
    ['a guard that does not exist', { on: { a: { guard: 'nowhere' } } }],
    ['an inline guard', { on: { a: { guard: () => true, target: '#end' } } }],
    ['an action without a name', { on: { a: { actions: [() => {}] } } }],
    [
      'an eventless transition after a raised event',
      {
        states: {
          one: { on: { a: { actions: raise({ type: 'a.b' }) }, 'a.b': 'two' } },
          two: { always: 'end' },
          end: { id: 'end', type: 'final' },
        },
      },
    ],
    ['an eventless transition that changes nothing', { always: { actions: 'log' } }],
    [
      'an assignment of single fields',
      {
        entry: assign({
          count: ({ context }) => (context as { readonly count: number }).count + 1,
        }),
      },
    ],
    ['an action that does not exist', { on: { a: { actions: 'nowhere' } } }],
    [
      'a forbidden transition',
      { states: { one: { on: { a: undefined } }, end: { id: 'end', type: 'final' } } },
    ],
  ])('matches XState with %s', (_name, config) => {
    const chart = sampleChart({
      initial: 'one',
      states: { one: {}, end: { id: 'end', type: 'final' } },
      on: { a: '#end' },
      ...config,
    });
    expectAlike(chart, ['ab', 'a']);
  });

  it('continues from an XState snapshot', () => {
    const chart = sampleChart({ initial: 'one', states: { one: { on: { a: 'two' } }, two: {} } });
    const inert = createInertScope();
    const { scope } = inert;
    const snapshot = chart.getInitialSnapshot(scope, {});
    inert.begin(snapshot);
    const next = compiled(chart).transition(snapshot, { type: 'a' }, scope);
    expect(next.value).toBe('two');
    expect(chart.transition(next, { type: 'b' }, scope).value).toBe('two');
  });

  it.each<readonly [string, object]>([
    ['a history state', { initial: 'one', states: { one: {}, past: { type: 'history' } } }],
    ['initial actions', { initial: { target: 'one', actions: 'log' }, states: { one: {} } }],
    ['output below the root', { initial: 'one', states: { one: { type: 'final', output: 1 } } }],
  ])('rejects %s', (_name, config) => {
    expect(() => compiled(sampleChart({ id: 'chart', ...config }))).toThrow(
      /^State chart.* uses history, initial actions or output/u,
    );
  });

  it('matches XState for a chart with every kind of child, timer and action', () => {
    const chart = sampleChart({
      id: 'chart',
      type: 'parallel',
      states: {
        work: {
          initial: 'idle',
          states: {
            idle: {
              entry: [sendTo('echo', { type: 'hello' }), emit({ type: 'idle' }), 'log'],
              invoke: [
                { src: 'echo', id: 'echo', systemId: 'echo', onSnapshot: { actions: 'log' } },
                { src: 'child', id: 'failing', onError: { target: 'broken', actions: 'log' } },
              ],
              after: { 1_000: 'late' },
              on: { a: { actions: sendTo('failing', { type: 'boom' }) }, b: '#chart.rest.on' },
            },
            broken: { entry: cancel('reminder'), on: { c: { target: 'idle', reenter: true } } },
            late: { always: { guard: stateIn('#chart.rest.on'), target: 'idle' } },
          },
        },
        rest: {
          initial: 'off',
          states: {
            off: {
              entry: raise({ type: 'reminded' }, { id: 'reminder', delay: 500 }),
              on: { d: '#chart.work.late' },
            },
            on: {
              entry: enqueueActions(({ enqueue }) => enqueue.spawnChild('echo', { id: 'more' })),
            },
          },
        },
      },
      on: { e: { target: ['#chart.work.broken', '#chart.rest.on'] } },
    });
    for (const events of ['acb', 'bda', 'ece', 'fc']) expectAlike(chart, events.split(''));
  });

  it('restores a persisted snapshot with its own actors', () => {
    const source = sampleChart({
      initial: 'one',
      states: { one: { invoke: { src: 'late', id: 'late' } } },
    });
    const chart = compiled(source, { late: fromTransition(() => 1, 0) } as never);
    const saved = createActor(chart, { input: {} }).start().getPersistedSnapshot();
    const restored = createActor(chart, { input: {}, snapshot: saved }).start();
    expect(Object.keys(restored.getSnapshot().children)).toEqual(['late']);
  });

  it('handles any number of types of events', () => {
    const chart = sampleChart({ on: { '*': { actions: { type: 'add', params: { by: 1 } } } } });
    expectAlike(
      chart,
      Array.from({ length: 1_100 }, (_, at) => `b.${at % 600}`),
    );
  });

  it('rejects spawn in an assignment', () => {
    const starting = sampleChart({ entry: assign(({ spawn }) => ({ ref: spawn('child') })) });
    expect(runOf(compiled(starting), []).errors).toEqual([
      'Error: Compiled charts do not support spawn in an assignment; use spawnChild.',
    ]);
  });

  it('fails after maxIterations microsteps', () => {
    const looping = { options: { maxIterations: 5 }, always: { actions: assign({ count: 1 }) } };
    const chart = sampleChart({ id: 'chart', ...looping });
    expect(runOf(chart, []).errors).toHaveLength(1);
    expect(runOf(compiled(chart), []).errors).toEqual([
      'Error: Chart chart did not settle within 5 microsteps.',
    ]);
    const resting = sampleChart({
      ...looping,
      always: {
        guard: { type: 'isBelow', params: { most: 4 } },
        actions: { type: 'add', params: { by: 1 } },
      },
    });
    expectAlike(resting, []);
  });

  it('fails on an unknown eventless guard', () => {
    const chart = compiled(sampleChart({ id: 'chart', always: { guard: 'nowhere' } }));
    expect(runOf(chart, []).errors).toEqual(['Error: Chart chart has no guard nowhere.']);
  });
});

it("charts run on XState's own steps in the second run of the suite, otherwise on cached ones", () => {
  const isSecondRun = process.env['MODE'] === 'xstate-production';
  expect(withActors).toBe(isSecondRun ? withOwnSteps : compiled);
});

it('a comparison notices a difference in a map, in another field and in an effect', () => {
  let count = 0;
  const { scope } = createInertScope();
  const differing = (config: object): void => {
    const chart = comparing(sampleChart(config));
    chart.transition(chart.getInitialSnapshot(scope, {}), { type: 'a' }, scope);
  };
  const next = (): number => (count += 1);
  const inMap = assign({ count: () => GroupedMap.of([['x', next()]]) as never });
  expect(() => differing({ on: { a: { actions: inMap } } })).toThrow("XState's context is");
  const inField = assign(() => ({ [`field${next()}`]: 1 }));
  expect(() => differing({ on: { a: { actions: inField } } })).toThrow("XState's context is");
  const inEffect = raise(() => ({ type: `b${next()}` }));
  expect(() => differing({ on: { a: { actions: inEffect } } })).toThrow("XState's effects is");
});
