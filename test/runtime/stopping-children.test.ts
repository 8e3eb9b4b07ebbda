/** A chart that throws, at any depth, and one that is stopped leave nothing running below them. */

import { describe, expect, it } from 'vitest';
import {
  type AnyActorLogic,
  type AnyActorRef,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
} from 'xstate';
import { stoppingChildren } from '../../src/runtime/root-actor.ts';

const charts = ['server', 'session', 'opening'];

/** Passes `break` on until it reaches the chart that is to throw. */
function chart(name: string, children: Readonly<Record<string, AnyActorLogic>>): AnyActorLogic {
  return stoppingChildren(
    createMachine({
      id: name,
      invoke: Object.entries(children).map(([id, src]) => ({ id, src })),
      on: {
        break: {
          actions: ({ event, self }) => {
            if (event['chart'] === name) throw new Error('a bug');
            const below = self.getSnapshot().children as Readonly<Record<string, AnyActorRef>>;
            for (const child of Object.values(below)) child.send(event);
          },
        },
      },
    }),
  );
}

/** A root over three charts, of which the last has a process and a connection. */
function start() {
  const open = new Set<string>();
  const process = fromCallback(({ receive, sendBack }) => {
    open.add('process');
    // It is in the middle of an event when the chart above it throws.
    receive((event) => sendBack({ ...event, type: 'break' }));
    return () => open.delete('process');
  });
  const connection = fromPromise(({ signal }) => {
    open.add('connection');
    return new Promise(() => signal.addEventListener('abort', () => open.delete('connection')));
  });
  const session = chart('session', { opening: chart('opening', { process, connection }) });
  const root = createMachine({
    initial: 'serving',
    states: {
      serving: {
        invoke: { id: 'server', src: chart('server', { session }), onError: 'broken' },
        on: { stop: 'stopped' },
      },
      broken: {},
      stopped: {},
    },
  });
  const actor = createActor(root).start();
  const refOf = (...path: readonly string[]): AnyActorRef =>
    path.reduce<AnyActorRef>((ref, id) => ref.getSnapshot().children[id] as AnyActorRef, actor);
  return { open, actor, refOf };
}

describe('stoppingChildren', () => {
  it.each(charts)('stops children at any depth when their chart throws: %s', (name) => {
    const { open, refOf } = start();
    const [above, thrower] = [refOf('server'), refOf(...charts.slice(0, charts.indexOf(name) + 1))];
    thrower.subscribe({ error: () => {} });
    expect([...open]).toEqual(['process', 'connection']);
    above.send({ type: 'break', chart: name });
    expect(thrower.getSnapshot()).toMatchObject({ status: 'error' });
    expect([...open]).toEqual([]);
  });

  it('stops all children when one of them makes the chart throw', () => {
    const { open, refOf } = start();
    refOf(...charts).subscribe({ error: () => {} });
    refOf(...charts, 'process').send({ type: 'go', chart: 'opening' });
    expect([...open]).toEqual([]);
  });

  it('stops the children when the chart is stopped', () => {
    const { open, actor } = start();
    actor.send({ type: 'stop' });
    expect([...open]).toEqual([]);
  });

  it('does not change the chart otherwise', () => {
    const machine = createMachine({ id: 'same', initial: 'on', states: { on: {} } });
    const made = stoppingChildren(machine);
    expect([made.id, made.config, made.root]).toEqual([machine.id, machine.config, machine.root]);
    expect(made.provide({})).toBeInstanceOf(machine.constructor);
  });
});
