import { describe, expect, it } from 'vitest';
import {
  type AnyStateMachine,
  and,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  not,
  raise,
  setup,
  spawnChild,
  stateIn,
} from 'xstate';
import { lintChart } from '../../src/testing/lint-chart.ts';
import { sampleServerMachine } from '../support/sample-server.ts';

const bare = setup({});

/** Makes a machine that the types would refuse. */
function unchecked(config: object): AnyStateMachine {
  return createMachine(config as never);
}

describe('the chart linter', () => {
  it('finds nothing in a sound chart', () => {
    expect(lintChart(sampleServerMachine, { needsMaxIterations: true })).toEqual([]);
  });

  it('finds unimplemented actions, guards, actors and delays', () => {
    const machine = unchecked({
      initial: 'a',
      states: {
        a: {
          entry: 'enter',
          exit: { type: 'leave' },
          invoke: { src: 'session', id: 'session', onError: 'b' },
          after: { pause: 'b' },
          on: {
            go: {
              target: 'b',
              guard: and(['isGood', not('isBad')]),
              actions: 'move',
            },
          },
        },
        b: { on: { back: 'a' } },
      },
    });
    expect(lintChart(machine)).toEqual([
      'a, entry: action enter is not implemented',
      'a, exit: action leave is not implemented',
      'a, invoke: actor session is not implemented',
      'a -- go [isGood and not isBad] --> b: action move is not implemented',
      'a -- go [isGood and not isBad] --> b: guard isGood is not implemented',
      'a -- go [isGood and not isBad] --> b: guard isBad is not implemented',
      'a -- after pause --> b: delay pause is not implemented',
    ]);
  });

  it('finds unimplemented names that actions and guards refer to', () => {
    const machine = setup({
      actions: {
        later: raise({ type: 'go' }, { delay: 'pause' as never }),
        spawnIt: spawnChild('worker' as never, { id: 'worker' } as never),
      },
      guards: { isFine: and(['isGood']) as never },
    }).createMachine({
      entry: ['later', 'spawnIt'],
      on: { 'xstate.error.actor.worker': {}, go: { guard: 'isFine' } },
    });
    expect(lintChart(machine)).toEqual([
      'action later: delay pause is not implemented',
      'action spawnIt: actor worker is not implemented',
      'guard isFine: guard isGood is not implemented',
    ]);
  });

  it('finds actions, guards and actors without a name', () => {
    const machine = unchecked({
      initial: 'a',
      states: {
        a: {
          entry: () => undefined,
          invoke: { src: fromCallback(() => undefined), id: 'session', onError: 'b' },
          on: { go: { target: 'b', guard: () => true }, come: { actions: raise({ type: 'go' }) } },
        },
        b: { on: { back: { target: 'a', guard: stateIn('b') } } },
      },
    });
    expect(lintChart(machine)).toEqual([
      'a, entry: inline action; give it a name in setup',
      'a, invoke: inline actor; give it a name in setup',
      'a -- go [?] --> b: inline guard; give it a name in setup',
      'a -- come --> (stays): inline action; give it a name in setup',
    ]);
  });

  it('finds a child whose failure has no handler or only a guarded one', () => {
    const machine = setup({
      actors: { session: fromCallback(() => undefined), login: fromPromise(async () => 1) },
      actions: { spawnLogin: spawnChild('login') },
      guards: { isCalm: () => true },
    }).createMachine({
      entry: 'spawnLogin',
      invoke: [
        { src: 'session', id: 'safe', onError: {} },
        { src: 'session', id: 'alone' },
        { src: 'session', id: 'doubtful', onError: { guard: 'isCalm' } },
      ],
    });
    expect(lintChart(machine)).toEqual([
      '(machine): a failure of invoked alone has no unguarded handler',
      '(machine): a failure of invoked doubtful has no unguarded handler',
      'action spawnLogin: a failure of the spawned child has no unguarded handler at the root',
    ]);
  });

  it('accepts a failure handler on an enclosing state, including a wildcard', () => {
    const machine = setup({ actors: { session: fromCallback(() => undefined) } }).createMachine({
      initial: 'a',
      on: { 'xstate.error.actor.*': '.b' },
      states: { a: { invoke: { src: 'session', id: 'session' } }, b: { on: { back: 'a' } } },
    });
    expect(lintChart(machine)).toEqual([]);
  });

  it('finds a state without an exit, unless it is final or an ancestor has one', () => {
    const machine = bare.createMachine({
      initial: 'a',
      states: {
        a: { on: { go: 'trap', end: 'end', nest: 'nest' } },
        trap: { on: { spin: 'trap', noise: {} } },
        nest: { initial: 'inner', states: { inner: {} }, on: { out: 'a' } },
        end: { type: 'final' },
      },
    });
    expect(lintChart(machine)).toEqual([
      'trap: no transition leads out of it, and it is not final',
    ]);
  });

  it('finds a wildcard below the root', () => {
    const machine = bare.createMachine({
      initial: 'a',
      on: { '*': '.b' },
      states: { a: { on: { '*': 'b' } }, b: { on: { back: 'a' } } },
    });
    expect(lintChart(machine)).toEqual(["a: '*' hides the events that states around it handle"]);
  });

  it("finds transitions that leave their region, including through the region's root", () => {
    const machine = bare.createMachine({
      id: 'm',
      type: 'parallel',
      on: { reset: '.left.a', resetAll: { target: ['.left.a', '.right.c'] } },
      states: {
        left: {
          initial: 'a',
          states: {
            a: { on: { go: 'b', stray: '#m.right.c', again: '#m.left' } },
            b: { on: { back: 'a' } },
          },
        },
        right: { initial: 'c', states: { c: { on: { go: 'd' } }, d: { on: { back: 'c' } } } },
      },
    });
    expect(lintChart(machine)).toEqual([
      'm -- reset --> left.a: restarts also right',
      'left.a -- stray --> right.c: leaves its region left, so all regions restart',
      'left.a -- again --> left: leaves its region left, so all regions restart',
    ]);
  });

  it('agrees with XState on which transitions leave a region', () => {
    const machine = bare.createMachine({
      id: 'm',
      type: 'parallel',
      states: {
        left: { initial: 'a', states: { a: { on: { again: '#m.left' } } } },
        right: { initial: 'c', states: { c: { on: { go: 'd' } }, d: { on: { back: 'c' } } } },
      },
    });
    const actor = createActor(machine).start();
    actor.send({ type: 'go' });
    actor.send({ type: 'again' });
    expect(actor.getSnapshot().value).toEqual({ left: 'a', right: 'c' });
  });

  it('finds delays that timers cannot hold', () => {
    const machine = setup({ delays: { aeon: 2 ** 31 } }).createMachine({
      initial: 'a',
      states: { a: { after: { [2 ** 31]: 'b' } }, b: { after: { aeon: 'a' } } },
    });
    expect(lintChart(machine)).toEqual([
      'a -- after 2147483648 ms --> b: 2147483648 ms is longer than timers can hold',
      'delay aeon: 2147483648 ms is longer than timers can hold',
    ]);
  });

  it('requires a microstep limit if configured', () => {
    expect(lintChart(bare.createMachine({ id: 'm' }), { needsMaxIterations: true })).toEqual([
      'm: options.maxIterations is not set',
    ]);
  });

  it('ignores accepted problems and reports those that do not occur', () => {
    const machine = bare.createMachine({ initial: 'a', states: { a: {} } });
    const problem = 'a: no transition leads out of it, and it is not final';
    expect(lintChart(machine, { accepted: [problem, 'b: gone'] })).toEqual([
      'accepted, but does not occur: b: gone',
    ]);
  });
});
