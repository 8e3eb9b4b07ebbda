import { describe, expect, it } from 'vitest';
import {
  assign,
  enqueueActions,
  fromCallback,
  fromPromise,
  raise,
  sendParent,
  sendTo,
  setup,
  spawnChild,
} from 'xstate';
import { describeProblem, explore } from '../../src/testing/explore.ts';
import { sampleServerMachine } from '../support/sample-server.ts';

const started: string[] = [];

describe('the explorer', () => {
  it('visits every state and takes every transition of a chart with regions, timers and children', () => {
    const found = explore(sampleServerMachine, {
      inputs: [{ attemptsLimit: 2 }],
      events: {
        'session.closed': [
          { type: 'session.closed', isLost: true },
          { type: 'session.closed', isLost: false },
        ],
      },
      goals: { 'the end': (snapshot) => snapshot.status === 'done' },
    });
    expect(found.problems.map(describeProblem)).toEqual([]);
    expect(found.uncovered).toEqual([]);
    expect(found.unvisited).toEqual([]);
    expect(found.states).toBeGreaterThan(10);
  });

  it('reports transitions that its events cannot reach', () => {
    const found = explore(sampleServerMachine, {
      inputs: [{ attemptsLimit: 0 }],
      events: { 'session.closed': [{ type: 'session.closed', isLost: false }] },
    });
    expect(found.uncovered).toContain(
      'connection.backingOff -- after backoff --> connection.engaged',
    );
    expect(found.unvisited).toContain('connection.backingOff');
  });

  it('keeps invoked children in the snapshot, reaches them by name, and starts nothing', () => {
    started.length = 0;
    const machine = setup({
      actors: {
        session: fromCallback(() => void started.push('session')),
        question: fromPromise(async () => started.push('question')),
      },
      actions: {
        openSession: sendTo('session', { type: 'open' }),
        tellParent: sendParent({ type: 'opened' }),
        spawnQuestion: spawnChild('question', { id: 'question', systemId: 'question' }),
      },
    }).createMachine({
      initial: 'parked',
      states: {
        parked: { on: { go: 'engaged' } },
        engaged: {
          invoke: { src: 'session', id: 'session', onError: 'parked' },
          entry: ['openSession', 'tellParent', 'spawnQuestion'],
          on: { again: { actions: 'openSession' }, 'xstate.done.actor.question': 'parked' },
        },
      },
    });
    const childrenByState = new Map<string, string[]>();
    const found = explore(machine, {
      inputs: [undefined],
      key: (snapshot) => JSON.stringify(snapshot.value),
      invariants: (snapshot) => {
        childrenByState.set(snapshot.value, Object.keys(snapshot.children).toSorted());
        return [];
      },
    });
    expect(found.problems).toEqual([]);
    expect(found.uncovered).toEqual([]);
    expect(childrenByState.get('engaged')).toEqual(['question', 'session']);
    expect(started).toEqual([]);
  });

  it('reports a command to a missing child with the shortest path to it', () => {
    const machine = setup({
      actions: { openSession: sendTo('session', { type: 'open' }) },
    }).createMachine({
      initial: 'parked',
      states: {
        parked: { on: { go: 'almost', wander: 'detour' } },
        detour: { on: { back: 'parked', go: 'almost' } },
        almost: { on: { open: { actions: 'openSession' } } },
      },
    });
    const { problems } = explore(machine, { inputs: [undefined] });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.problem).toContain("Unable to send event to actor 'session'");
    expect(problems[0]?.path.map(({ type }) => type)).toEqual(['go', 'open']);
  });

  it('reports a chart that ends in an error, and broken invariants', () => {
    const machine = setup({
      types: { context: {} as { count: number } },
      actors: { question: fromPromise(async () => 1) },
      actions: { count: assign({ count: ({ context }) => context.count + 1 }) },
    }).createMachine({
      context: { count: 0 },
      initial: 'asking',
      states: {
        asking: {
          invoke: { src: 'question', id: 'question' },
          on: { more: { actions: 'count' }, 'xstate.error.actor.question': { guard: () => false } },
        },
      },
    });
    const { problems } = explore(machine, {
      inputs: [undefined],
      invariants: ({ context }) => (context.count > 2 ? ['counts too far'] : []),
    });
    expect(problems.map(({ problem, path }) => [problem, path.length])).toEqual([
      ['the chart fails: Error: question failed', 1],
      ['counts too far', 3],
    ]);
  });

  it("reports each step's effects and whether its event was handled", () => {
    const machine = setup({
      actions: { tellParent: sendParent({ type: 'news' }) },
    }).createMachine({
      initial: 'a',
      states: {
        a: { on: { go: { target: 'b', actions: 'tellParent' }, vain: { guard: () => false } } },
        b: {},
      },
    });
    const steps: string[] = [];
    explore(machine, {
      inputs: [undefined],
      stepInvariants: ({ event, effects, isHandled }) => {
        steps.push(`${event.type} ${isHandled} ${effects.map(({ type }) => type).join()}`);
        return [];
      },
    });
    expect(steps).toEqual(['go true xstate.sendTo', 'vain false ']);
  });

  it('does not send events that the chart raises itself', () => {
    const machine = setup({
      actions: {
        finish: raise({ type: 'finished' }),
        finishLater: enqueueActions(({ enqueue }) => enqueue.raise({ type: 'finished.later' })),
      },
    }).createMachine({
      initial: 'a',
      states: {
        a: {
          entry: 'finish',
          on: { finished: 'b', 'finished.later': 'wrong' },
        },
        b: { on: { finished: 'wrong', 'finished.later': 'c', go: { actions: 'finishLater' } } },
        c: { type: 'final' },
        wrong: {},
      },
    });
    const found = explore(machine, { inputs: [undefined], internal: ['finished.later'] });
    expect(found.unvisited).toEqual(['wrong']);
  });

  it('reports a state from which a goal is unreachable', () => {
    const machine = setup({}).createMachine({
      initial: 'a',
      states: {
        a: { on: { go: 'end', stray: 'trap' } },
        trap: { on: { spin: 'trap' } },
        end: { type: 'final' },
      },
    });
    const { problems } = explore(machine, {
      inputs: [undefined],
      goals: { 'the end': ({ status }) => status === 'done' },
    });
    expect(problems.map(({ problem, path }) => [problem, path.map(({ type }) => type)])).toEqual([
      ['no way to the end from 1 states, of which this is one', ['stray']],
    ]);
  });

  it('reports that it stopped at its limit', () => {
    const machine = setup({
      types: { context: {} as { count: number } },
      actions: { count: assign({ count: ({ context }) => context.count + 1 }) },
    }).createMachine({ context: { count: 0 }, on: { more: { actions: 'count' } } });
    const { problems, states } = explore(machine, { inputs: [undefined], limit: 10 });
    expect(problems.map(({ problem }) => problem)).toEqual([
      'the search stopped at its limit of 10 states',
    ]);
    expect(states).toBe(10);
  });
});
