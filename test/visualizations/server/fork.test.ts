import { describe, expect, it } from 'vitest';
import type { AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate';
import type { PicturedActor } from '../../../src/domain/host/inspection.ts';
import type { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { ServerFork } from '../../../visualizations/server/fork.ts';
import type { ServerSnapshot } from '../../machines/server/small-server.ts';
import { entry, failure, settingsOf, startStory } from '../../machines/story.ts';
import { Random } from '../../runtime/simulation/random.ts';

const actorId = 'db.0';

/** What a recorder keeps of one server: the events that came from outside its chart, and its timers. */
function follow() {
  const events: { readonly t: number; readonly event: AnyEventObject }[] = [];
  const timers = new Map<string, PicturedActor['timers'][number]>();
  let clock: VirtualClock | undefined;
  const inspect = (inspected: InspectionEvent): void => {
    const ref = inspected.actorRef as AnyActorRef;
    if (ref.id !== actorId || clock === undefined) return;
    if (inspected.type === '@xstate.event') {
      const { event, sourceRef } = inspected;
      timers.delete(event.type);
      if (sourceRef !== ref) events.push({ t: clock.now(), event });
    } else if (inspected.type === '@xstate.action') {
      const { id, delay, sendId } = (inspected.action.params ?? {}) as {
        readonly id?: string;
        readonly delay?: number;
        readonly sendId?: string;
      };
      if (inspected.action.type === 'xstate.cancel') timers.delete(String(sendId));
      if (inspected.action.type === 'xstate.raise' && id !== undefined && delay !== undefined) {
        timers.set(id, { id, ms: delay, armedAt: clock.now() });
      }
    }
  };
  return { events, timers, inspect, begin: (its: VirtualClock) => void (clock = its) };
}

function leavesOf(snapshot: ServerSnapshot): readonly string[] {
  return snapshot._nodes
    .filter(({ states }) => Object.keys(states).length === 0)
    .map(({ path }) => path.join('.'));
}

type Timers = PicturedActor['timers'];

/** A fork as it is made of what a recorder has kept. */
function forkOf(
  snapshot: ServerSnapshot,
  timers: Iterable<Timers[number]>,
  when: { readonly t: number; readonly clockStart: number },
): ServerFork {
  const { clockStart } = when;
  return new ServerFork({
    fork: 'f1',
    from: 1,
    ...when,
    context: structuredClone(snapshot.context),
    actor: {
      actor: 'x:1',
      id: actorId,
      parent: 'x:0',
      machine: 'server',
      server: 'db',
      life: 'active',
      leaves: leavesOf(snapshot),
      timers: [...timers].map((each) => ({ ...each, armedAt: each.armedAt - clockStart })),
    },
  });
}

const commands = ['server.start', 'server.stop', 'server.restart', 'server.reconnect'] as const;
const kinds = ['crashed', 'transport', 'cleanExit', 'unavailable'] as const;

/** Lives through a random story, and forks the server somewhere in it. */
function liveAndFork(seed: number) {
  const random = new Random(seed);
  const seen = follow();
  const story = startStory({ inspect: seen.inspect });
  seen.begin(story.clock);
  story.oblige();
  story.load(settingsOf([entry('db')]));
  const turns = 14;
  const forkTurn = random.int(1, turns - 2);
  let fork: ServerFork | undefined;
  let from = 0;
  const living = () => story.sessions.scripts.findLast(({ state }) => state === 'open');
  for (let turn = 0; turn < turns; turn += 1) {
    if (turn === forkTurn) {
      const snapshot = story.snapshotOf(actorId);
      from = seen.events.length;
      fork = forkOf(snapshot, seen.timers.values(), { t: story.clock.now() - 5, clockStart: 5 });
    }
    const kind = random.weighted([
      [4, 'wait'],
      [4, 'loss'],
      [2, 'command'],
      [1, 'call'],
    ]);
    if (kind === 'wait') story.clock.advanceBy(random.pick([1, 100, 500, 2_000, 40_000, 700_000]));
    else if (kind === 'loss') living()?.fail(failure(random.pick(kinds)));
    else if (kind === 'command') story.send({ type: random.pick(commands), server: 'db' });
    else story.send({ type: 'system.woke' });
  }
  if (fork === undefined) throw new Error('no fork was made');
  return { story, fork, events: seen.events.slice(from), end: story.clock.now() - 5 };
}

describe('a fork of a server', () => {
  const seeds = Array.from({ length: 60 }, (_, seed) => seed + 1);

  it("reaches the original's states when it gets the original's events", () => {
    let injected = 0;
    for (const seed of seeds) {
      const { story, fork, events, end } = liveAndFork(seed);
      for (const { t, event } of events) {
        fork.advance(t - 5 - fork.view().t);
        fork.inject(event);
        injected += 1;
      }
      fork.advance(end - fork.view().t);
      const real = story.snapshotOf(actorId);
      expect([seed, fork.view().state.leaves]).toEqual([seed, leavesOf(real)]);
      expect([seed, fork.context()]).toEqual([seed, real.context]);
    }
    expect(injected).toBeGreaterThan(seeds.length);
  });
});

/** A fork of a server that is in these states, with what it knows. */
function forkAt(script: (story: ReturnType<typeof startStory>) => void): ServerFork {
  const seen = follow();
  const story = startStory({ inspect: seen.inspect });
  seen.begin(story.clock);
  story.load(settingsOf([entry('db')]));
  script(story);
  const snapshot = story.snapshotOf(actorId);
  return forkOf(snapshot, seen.timers.values(), { t: story.clock.now(), clockStart: 0 });
}

const backingOff = () =>
  forkAt((story) => {
    story.serve('db');
    story.sessions.of('db').fail(failure('crashed'));
  });

describe('a fork of a server that is backing off', () => {
  it('records each event, the transitions taken, the events sent and the new state', () => {
    const fork = backingOff();
    fork.advance(10_000);
    const { records, state, t } = fork.view();
    expect(state.leaves).toContain('connection.engaged.queued');
    expect(t).toBe(10_000);
    const told = records.map(({ kind }) => kind);
    expect(told.slice(0, 3)).toEqual(['timerEnd', 'event', 'step']);
    expect(records).toContainEqual(
      expect.objectContaining({ kind: 'event', from: 'x:1', to: 'x:0', type: 'slot.requested' }),
    );
    expect(records).toContainEqual(
      expect.objectContaining({
        kind: 'step',
        edges: ['server.connection.parked.backingOff.retrying#2'],
      }),
    );
    expect(records.at(-1)).toMatchObject({ kind: 'state', life: 'active', leaves: state.leaves });
    expect(records.map(({ n }) => n)).toEqual(records.map((_, place) => place + 1));
    expect(state.timers.map(({ delay }) => delay)).toEqual(['queueDeadline']);
  });

  it('lists the events that its state handles, each with an example', () => {
    const fork = backingOff();
    const types = fork.view().events.map(({ type }) => type);
    expect(types).toContain('server.restart');
    expect(types).toContain('server.demanded');
    expect(types).not.toContain('session.opened');
    expect(types).not.toContain('server.gaveUp');
    fork.inject({ type: 'server.stop' });
    expect(fork.view().state.leaves).toContain('connection.parked.stopped');
    expect(fork.view().state.timers).toEqual([]);
  });

  it('records an unhandled event and keeps its state', () => {
    const fork = backingOff();
    const before = fork.view().state;
    fork.inject({ type: 'slot.granted' });
    expect(fork.view().records.at(-1)).toMatchObject({ kind: 'ignored', type: 'slot.granted' });
    expect(fork.view().state).toEqual(before);
  });

  it.each([
    [
      'an unknown event',
      { type: 'no.such' },
      /servers never get the event "no.such"; send one of /,
    ],
    [
      'an event that only the chart raises',
      { type: 'server.gaveUp' },
      /servers never get the event/,
    ],
    ['a timer', { type: 'xstate.after.x' }, /servers never get the event/],
    ['an object prototype name', { type: 'constructor' }, /servers never get the event/],
    ['an event without a type', {}, /servers never get the event "undefined"/],
  ])('refuses %s and keeps its state', (_, event, message) => {
    const fork = backingOff();
    expect(() => fork.inject(event)).toThrow(message);
    expect(fork.view().records).toEqual([]);
  });

  it.each([
    ['policy', { type: 'spec.updated', policy: null }],
    ['policy', { type: 'spec.updated', policy: { restart: {} } }],
    ['spreadMs', { type: 'server.woke', spreadMs: 'soon' }],
  ])('refuses a %s with the wrong type and keeps its state', (key, event) => {
    const fork = backingOff();
    const before = fork.view().state;
    expect(() => fork.inject(event)).toThrow(
      new RegExp(`^${key} of ${event.type} must look like .*$`),
    );
    expect(fork.view().state).toEqual(before);
    expect(fork.view().records).toEqual([]);
  });

  it('rejects a payload that the chart cannot handle and keeps its state', () => {
    const fork = backingOff();
    const { policy } = fork.context();
    const broken = { ...policy, restart: null };
    fork.inject({ type: 'spec.updated', policy: broken });
    expect(() => fork.advance(100_000)).toThrow(/the chart cannot handle this /);
    fork.inject({ type: 'spec.updated', policy });
    fork.inject({ type: 'server.stop' });
    fork.inject({ type: 'xstate.done.actor.session' });
    expect(fork.view().state.leaves).toContain('connection.parked.stopped');
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 86_400_001])(
    'refuses to advance by %s ms',
    (ms) => {
      expect(() => backingOff().advance(ms)).toThrow(/advanceMs must be from 0 to 86400000/);
    },
  );

  it('advances by a whole day', () => {
    const fork = backingOff();
    fork.inject({ type: 'server.stop' });
    fork.advance(86_400_000);
    expect(fork.view().t).toBe(86_400_000);
  });
});
