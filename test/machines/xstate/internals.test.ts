/**
 * The contract with XState beyond its public API. When an upgrade breaks a test
 * here, change `machines/xstate/internals.ts`; nothing else reads these fields.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  assign,
  cancel,
  createActor,
  emit,
  enqueueActions,
  fromCallback,
  fromPromise,
  type InspectionEvent,
  raise,
  sendParent,
  sendTo,
  setup,
  stopChild,
} from 'xstate';
import {
  activeStates,
  activeStatesIfAny,
  builtInAction,
  createInertScope,
  type Effect,
  indexTimers,
  machineIdOf,
  observeSystem,
  parentOf,
  parentTargetId,
  scheduledBy,
  spawnApart,
  transitionsOfStep,
} from '../../../machines/xstate/internals.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const started: string[] = [];
const child = fromCallback<{ type: 'greet' }>(() => {
  started.push('child');
});

/** A chart with one of each: regions, a timer, a child, and every built-in action that is read. */
const sample = setup({
  types: {
    context: {} as { count: number },
    events: {} as { type: 'go' | 'count' | 'nothing' },
    emitted: {} as { type: 'went' },
  },
  actors: { child },
  actions: {
    custom: (_args, { word }: { readonly word: string }) => {
      started.push(word);
    },
    greet: sendTo('child', { type: 'greet' }),
    report: sendParent({ type: 'child.went' }),
    say: emit({ type: 'went' }),
    stop: stopChild('child'),
    forget: cancel('reminder'),
    count: assign({ count: ({ context }) => context.count + 1 }),
  },
  delays: { patience: 1_000 },
}).createMachine({
  id: 'sample',
  context: { count: 0 },
  type: 'parallel',
  states: {
    work: {
      initial: 'idle',
      states: {
        idle: {
          after: { patience: 'late' },
          on: {
            go: {
              target: 'late',
              actions: [
                { type: 'custom', params: { word: 'hello' } },
                'greet',
                'report',
                'say',
                'forget',
                'stop',
              ],
            },
            count: { actions: 'count' },
          },
        },
        late: {},
      },
    },
    health: { invoke: { src: 'child', id: 'child' } },
  },
});

const idle = sample.root.states['work']?.states['idle'];

/** Runs the sample below a parent, and collects what inspection shows of it. */
function startSample() {
  const seen: InspectionEvent[] = [];
  const clock = new VirtualClock();
  const parentMachine = setup({ actors: { sample } }).createMachine({
    id: 'parent',
    invoke: { src: 'sample', id: 'sample' },
  });
  const root = createActor(parentMachine, { clock, inspect: (event) => seen.push(event) });
  root.start();
  const ref = root.getSnapshot().children['sample'] as unknown as AnyActorRef;
  const steps = () =>
    seen.flatMap((event) =>
      event.type === '@xstate.microstep' && event.actorRef === ref ? [event] : [],
    );
  const actions = () =>
    seen.flatMap((event) =>
      event.type === '@xstate.action' && event.actorRef === ref ? [event.action] : [],
    );
  return { root, ref, clock, steps, actions };
}

function builtIns(actions: readonly Effect[]) {
  return actions.flatMap((action) => builtInAction(action) ?? []);
}

const timerId = 'xstate.after.patience.sample.work.idle';

describe("XState's internals", () => {
  it('index timers by actor; they fire, are cancelled and end with their actor', () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    const waiter = setup({}).createMachine({
      initial: 'waiting',
      states: {
        waiting: { after: { 10: 'over' }, on: { stay: 'resting' } },
        over: { entry: () => fired.push('child') },
        resting: {},
      },
    });
    const machine = setup({ actors: { waiter } }).createMachine({
      invoke: [
        { src: 'waiter', id: 'one' },
        { src: 'waiter', id: 'two' },
      ],
      after: { 20: { actions: () => fired.push('parent') } },
      on: { say: { actions: raise({ type: 'said' }, { delay: 5 }) } },
    });
    const root = createActor(machine, { clock });
    indexTimers(root, clock);
    root.start();
    root.send({ type: 'say' });
    const { one, two } = root.getSnapshot().children;
    const startedAt = clock.wallNow();
    expect(scheduledBy(root)).toMatchObject([
      { delay: 20, startedAt },
      { delay: 5, startedAt },
    ]);
    one?.send({ type: 'stay' });
    expect([one, two].map((ref) => scheduledBy(ref as AnyActorRef).length)).toEqual([0, 1]);
    clock.advanceBy(10);
    expect(fired).toEqual(['child']);
    root.stop();
    expect(scheduledBy(root)).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it('observe a system and its children ahead of its inspectors', () => {
    const seen: string[] = [];
    const machine = setup({ actors: { child: sample } }).createMachine({
      invoke: { id: 'child', src: 'child' },
      on: { say: { actions: sendTo('child', { type: 'count' }) } },
    });
    const noted =
      (who: string) =>
      ({ type, ...event }: { readonly type: string; readonly event?: unknown }): void => {
        const { type: name } = (event.event ?? {}) as { readonly type?: string };
        if (type === '@xstate.microstep' && name !== 'xstate.init') seen.push(`${who} ${name}`);
      };
    const root = createActor(machine, { inspect: noted('inspector') });
    observeSystem(root, noted('observer'));
    root.start();
    root.send({ type: 'say' });
    expect(seen).toEqual(['observer say', 'inspector say', 'observer count', 'inspector count']);
    const { child: observed } = root.getSnapshot().children;
    expect(observed).toMatchObject({ id: 'child' });
    expect((observed as unknown as { readonly options: object }).options).toStrictEqual({});
  });

  it('let an action spawn children into the context that start after the transition', () => {
    const log: string[] = [];
    const server = setup({}).createMachine({
      entry: [() => log.push('child starts'), sendParent({ type: 'hello' })],
      on: { end: '.over', '*': { actions: () => log.push('child gets it') } },
      initial: 'here',
      states: { here: {}, over: { type: 'final' } },
    });
    const parent = setup({
      types: { context: {} as { readonly refs: readonly AnyActorRef[] } },
      actors: { server },
    }).createMachine({
      context: { refs: [] },
      on: {
        spawn: {
          actions: [
            enqueueActions(({ enqueue }) => {
              enqueue(spawnApart('server', [{ id: 'one', input: {} }], (refs) => assign({ refs })));
            }),
            sendTo(({ context }) => context.refs[0] as AnyActorRef, { type: 'work' }),
            () => log.push('transition ends'),
          ],
        },
        hello: { actions: () => log.push('parent hears') },
        'xstate.done.actor.one': { actions: () => log.push('child is done') },
        stop: { actions: stopChild(({ context }) => context.refs[0] as AnyActorRef) },
      },
    });
    const root = createActor(parent).start();
    root.send({ type: 'spawn' });
    const [one] = root.getSnapshot().context.refs;
    expect(log).toEqual(['transition ends', 'child starts', 'child gets it', 'parent hears']);
    expect(root.getSnapshot().children).toEqual({});
    one?.send({ type: 'end' });
    expect(log.at(-1)).toBe('child is done');
    root.send({ type: 'spawn' });
    const [two] = root.getSnapshot().context.refs;
    root.send({ type: 'stop' });
    expect(two?.getSnapshot().status).toBe('stopped');
  });

  it('list the active states of a snapshot as nodes of its machine, with their ancestors', () => {
    const snapshot = createActor(sample).getSnapshot();
    const paths = activeStates(snapshot).map((node) => node.path.join('.'));
    expect(paths.sort()).toEqual(['', 'health', 'work', 'work.idle']);
    expect(activeStates(snapshot)).toContain(idle);
  });

  it('list active states only for charts', () => {
    expect(activeStatesIfAny(createActor(sample).getSnapshot())).toHaveLength(4);
    expect(activeStatesIfAny(createActor(fromPromise(async () => 1)).getSnapshot())).toBe(
      undefined,
    );
    expect(activeStatesIfAny(undefined)).toBe(undefined);
  });

  it('list the transitions that a step took', () => {
    const { ref, steps } = startSample();
    const before = steps().length;
    ref.send({ type: 'count' });
    ref.send({ type: 'nothing' });
    ref.send({ type: 'go' });
    const taken = steps().slice(before).map(transitionsOfStep);
    expect(taken).toEqual([idle?.transitions.get('count'), [], idle?.transitions.get('go')]);
  });

  it("name an actor's parent and machine", () => {
    const { root, ref } = startSample();
    expect(parentOf(root)).toBe(undefined);
    expect(parentOf(ref)).toBe(root);
    expect(machineIdOf(root)).toBe('parent');
    expect(machineIdOf(ref)).toBe('sample');
    const inner = (ref.getSnapshot() as AnyMachineSnapshot).children['child'] as AnyActorRef;
    expect(parentOf(inner)).toBe(ref);
    expect(machineIdOf(inner)).toBe(undefined);
  });

  it("list an actor's timers until they fire, with wall-clock times", () => {
    const { root, ref, clock } = startSample();
    expect(scheduledBy(root)).toEqual([]);
    const [timer] = scheduledBy(ref);
    expect(timer).toMatchObject({ id: timerId, delay: 1_000, event: { type: timerId } });
    expect(Math.abs(Date.now() - (timer?.startedAt ?? 0))).toBeLessThan(60_000);
    clock.advanceBy(1_000);
    expect(scheduledBy(ref)).toEqual([]);
  });

  it('show built-in actions with their parameters in inspection', () => {
    const { ref, actions } = startSample();
    const inner = (ref.getSnapshot() as AnyMachineSnapshot).children['child'];
    const timers = builtIns(actions()).filter(({ type }) => type === 'xstate.raise');
    expect(timers).toMatchObject([
      { params: { event: { type: timerId }, id: timerId, delay: 1_000 } },
    ]);
    const before = actions().length;
    ref.send({ type: 'go' });
    const shown = actions().slice(before);
    expect(shown.filter((action) => builtInAction(action) === undefined)).toEqual([
      { type: 'custom', params: { word: 'hello' } },
    ]);
    expect(builtIns(shown)).toMatchObject([
      { type: 'xstate.cancel', params: { sendId: timerId } },
      { type: 'xstate.sendTo', params: { event: { type: 'greet' }, targetId: 'child' } },
      {
        type: 'xstate.sendTo',
        params: { event: { type: 'child.went' }, targetId: parentTargetId },
      },
      { type: 'xstate.emit', params: { event: { type: 'went' } } },
      { type: 'xstate.cancel', params: { sendId: 'reminder' } },
      { type: 'xstate.stopChild', params: { id: 'child' } },
    ]);
    const stopped = builtIns(shown).find(({ type }) => type === 'xstate.stopChild');
    expect(stopped?.params).toBe(inner);
  });
});

describe('an inert scope', () => {
  it('computes a chart without executing, starting or scheduling anything', () => {
    started.length = 0;
    const inert = createInertScope();
    const { scope, observed } = inert;
    inert.begin(undefined);
    const first = sample.getInitialSnapshot(scope);
    expect(first.value).toEqual({ work: 'idle', health: {} });
    expect(first.children.child?.getSnapshot().status).toBe('active');
    expect(observed.effects.map(({ type }) => type)).toEqual(['xstate.raise', 'xstate.spawnChild']);

    inert.begin(first);
    observed.effects.length = 0;
    observed.transitions.length = 0;
    const next = sample.transition(first, { type: 'go' }, scope);
    expect(next.value).toEqual({ work: 'late', health: {} });
    expect(next.children).toEqual({});
    expect(observed.transitions).toEqual(idle?.transitions.get('go'));
    expect(observed.effects.map(({ type }) => type)).toEqual([
      'xstate.cancel',
      'custom',
      'xstate.sendTo',
      'xstate.sendTo',
      'xstate.emit',
      'xstate.cancel',
      'xstate.stopChild',
    ]);
    expect(started).toEqual([]);
    // The earlier snapshot can be continued another way, as a search does.
    expect(sample.transition(first, { type: 'count' }, scope).context).toEqual({ count: 1 });
  });

  it('provides actions with their snapshot and a parent for every system id', () => {
    const seen: unknown[] = [];
    const curious = setup({}).createMachine({
      on: {
        look: {
          actions: assign(({ self, system }) => {
            seen.push(self.getSnapshot(), parentOf(self as AnyActorRef), system.get('anyone'));
            return {};
          }),
        },
      },
    });
    const inert = createInertScope();
    const first = curious.getInitialSnapshot(inert.scope);
    inert.begin(first);
    curious.transition(first, { type: 'look' }, inert.scope);
    const [own, parent, other] = seen;
    expect(own).toBe(first);
    expect(parent).toMatchObject({ id: 'parent' });
    expect(other).toBe(parent);
  });
});

describe("XState's private fields", () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const filesIn = (folder: string): readonly string[] =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.join(folder, file),
    );
  const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8');

  it('are read by no other shipped file', () => {
    const builds = filesIn('node_modules/xstate/dist').filter((file) => file.endsWith('.cjs.js'));
    const fields = builds.flatMap((file) =>
      [...textOf(file).matchAll(/(?<=\.)_[a-z]\w*|\b_[a-z]\w*(?=:)/giu)].map(([field]) => field),
    );
    const names = [...new Set(fields)];
    expect(names).toEqual(expect.arrayContaining(['_nodes', '_parent', '_transitions']));

    // The logic of a running actor is as private, whatever its name.
    const privateField = new RegExp(`\\b(?:${names.join('|')})\\b|\\.logic\\b`, 'u');
    const readers = ['src', 'machines', 'actors']
      .flatMap(filesIn)
      .filter((file) => file.endsWith('.ts') && privateField.test(textOf(file)));
    expect(readers).toEqual([path.join('machines', 'xstate', 'internals.ts')]);
  });
});
