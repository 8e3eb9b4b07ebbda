import { describe, expect, it } from 'vitest';
import {
  assign,
  createActor,
  emit,
  fromCallback,
  fromPromise,
  sendTo,
  setup,
  toPromise,
} from 'xstate';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { sampleServerMachine } from '../support/sample-server.ts';

describe('a trace', () => {
  it('shows events with sender and receiver, entered states, and times', () => {
    const clock = new VirtualClock();
    const trace = recordTrace({ clock });
    const root = setup({
      actors: {
        server: sampleServerMachine.provide({
          actors: {
            session: fromCallback(({ receive, sendBack }) => {
              receive(({ type }) => {
                if (type === 'session.close') sendBack({ type: 'session.closed', isLost: false });
              });
            }),
          },
        }),
      },
      actions: { announce: emit({ type: 'tools.changed' }) },
    }).createMachine({
      id: 'troupe',
      invoke: { src: 'server', id: 'db', input: { attemptsLimit: 2 }, onError: {} },
      initial: 'running',
      states: { running: { on: { 'server.changed': { actions: 'announce' } } } },
    });
    const actor = createActor(root, { clock, inspect: trace.inspect }).start();
    const db = actor.getSnapshot().children['db'];
    db?.send({ type: 'server.demanded' });
    clock.advanceBy(10);
    db?.send({ type: 'session.opened' });
    db?.send({ type: 'call.failed' });
    trace.note('# stopping');
    actor.stop();
    expect(trace.toString().split('\n')).toEqual([
      '     0 ms  troupe starts',
      '           troupe: running',
      '           troupe starts db',
      '           db: connection.dormant + circuit.closed',
      '           host -> db: server.demanded',
      '           db: connection.engaged.connecting',
      '           db starts db/session',
      '           db -> db/session: session.open',
      '    10 ms  host -> db: session.opened',
      '           db: connection.engaged.ready',
      '           db -> troupe: server.changed',
      '           troupe emits tools.changed',
      '           host -> db: call.failed',
      '           # stopping',
      '           db/session is stopped',
      '           db is stopped',
      '           troupe is stopped',
      '',
    ]);
  });

  it('shows timers, ends, failures and ignored events', async () => {
    const clock = new VirtualClock();
    const trace = recordTrace({ clock });
    const machine = setup({
      actors: { question: fromPromise(async () => Promise.reject(new Error('no answer'))) },
      delays: { pause: 1_500 },
    }).createMachine({
      id: 'asker',
      initial: 'asking',
      states: {
        asking: { invoke: { src: 'question', id: 'question', onError: 'resting' } },
        resting: { after: { pause: 'over' } },
        over: { type: 'final' },
      },
    });
    const actor = createActor(machine, { clock, inspect: trace.inspect }).start();
    actor.send({ type: 'nonsense' });
    await clock.advanceAndSettle(2_000);
    expect(trace.toString().split('\n')).toEqual([
      '     0 ms  asker starts',
      '           asker: asking',
      '           asker starts question',
      '           host -> asker: nonsense',
      '           asker ignores nonsense',
      '           question: its promise was settled (reject)',
      '           question failed: no answer',
      '           asker: resting',
      ' 1,500 ms  asker: after pause',
      '           asker: over',
      '           asker is done',
      '',
    ]);
  });

  it("shows an event's payload only as requested by the test", () => {
    const trace = recordTrace({ describe: (event) => ('n' in event ? `n=${event['n']}` : '') });
    const machine = setup({ types: { events: {} as { type: 'go'; n: number } } }).createMachine({
      id: 'counter',
      on: { go: {} },
    });
    createActor(machine, { inspect: trace.inspect }).start().send({ type: 'go', n: 3 });
    expect(trace.toString()).toContain('host -> counter: go n=3\n');
  });

  it('shows selected context values whenever they change', () => {
    const trace = recordTrace({ describeContext: ({ count }) => ({ count }) });
    const counterSetup = setup({
      types: { context: {} as { count: number; name: string } },
      actions: { add: assign({ count: ({ context }) => context.count + 1 }) },
    });
    const machine = counterSetup.createMachine({
      id: 'counter',
      context: { count: 0, name: 'secret' },
      initial: 'low',
      states: {
        low: { on: { add: { actions: 'add' }, rise: { actions: 'add', target: 'high' } } },
        high: { on: { fall: 'low' } },
      },
    });
    const actor = createActor(machine, { inspect: trace.inspect }).start();
    for (const type of ['add', 'rise', 'fall'] as const) actor.send({ type });
    expect(trace.toString().split('\n')).toEqual([
      'counter starts',
      'counter: low (count 0)',
      'host -> counter: add',
      'counter: (count 1)',
      'host -> counter: rise',
      'counter: high (count 2)',
      'host -> counter: fall',
      'counter: low',
      '',
    ]);
  });

  it('omits starts and ends of quiet actors, but not what they send', async () => {
    const trace = recordTrace({ isQuiet: (actor) => actor !== 'asker' });
    const machine = setup({
      actors: {
        question: fromPromise(async () => 'yes'),
        line: fromCallback(({ receive, sendBack }) => {
          receive(() => sendBack({ type: 'line.answered' }));
        }),
      },
    }).createMachine({
      id: 'asker',
      initial: 'asking',
      invoke: { src: 'line', id: 'line' },
      states: {
        asking: {
          invoke: { src: 'question', id: 'question', onDone: 'calling' },
        },
        calling: {
          entry: sendTo('line', { type: 'line.rung' }),
          on: { 'line.answered': 'over' },
        },
        over: { type: 'final' },
      },
    });
    const actor = createActor(machine, { inspect: trace.inspect }).start();
    await toPromise(actor);
    expect(trace.toString().split('\n')).toEqual([
      'asker starts',
      'asker: asking',
      'asker: calling',
      'asker -> line: line.rung',
      'line -> asker: line.answered',
      'asker: over',
      'asker is done',
      '',
    ]);
  });

  it('survives its own exception, which would otherwise break the actor', () => {
    const trace = recordTrace({
      describe: () => {
        throw new Error('bad words');
      },
    });
    const machine = setup({}).createMachine({
      initial: 'a',
      states: { a: { on: { go: 'b' } }, b: {} },
    });
    const actor = createActor(machine, { inspect: trace.inspect }).start();
    actor.send({ type: 'go' });
    expect(actor.getSnapshot().value).toBe('b');
    expect(trace.toString()).toContain('(the trace failed: Error: bad words)');
  });

  it('counts the lines beyond its limit', () => {
    const trace = recordTrace({ limit: 1 });
    trace.note('one');
    trace.note('two');
    expect(trace.toString()).toBe('one\n(and 1 lines more)\n');
    trace.clear();
    expect(trace.toString()).toBe('');
  });
});
