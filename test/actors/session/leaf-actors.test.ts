/** The leaf actors of a session chart when their I/O throws. */

import { describe, expect, it, vi } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { createSessionActors, type SessionIo } from '../../../actors/session/leaf-actors.ts';
import { refreshMachine } from '../../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../../machines/session/session.ts';
import { withActors } from '../../../machines/xstate/with-actors.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import {
  connected,
  launched,
  listed,
  resolved,
  smallSession,
} from '../../machines/session/small-session.ts';
import { turn } from '../../support/turn.ts';

/** Runs a session whose connection never closes by itself. */
function run(broken: Partial<SessionIo>) {
  const clock = new VirtualClock();
  const dispose = vi.fn();
  const io: SessionIo = {
    resolve: async () => resolved(),
    launch: async () => launched,
    connect: async () => connected(),
    list: async () => listed(),
    close: () => new Promise(() => {}),
    probe() {},
    abandon() {},
    publish() {},
    kill() {},
    dispose,
    ...broken,
  };
  const leaves = createSessionActors(() => io);
  const { listItems } = leaves;
  const refresh = withActors(refreshMachine, { listItems });
  const src = withActors(sessionMachine, { ...leaves, refresh });
  const server = createActor(
    createMachine({ invoke: { id: 'session', src, input: smallSession(), onDone: {} } }),
    { clock },
  );
  server.start();
  return { clock, dispose, server, session: server.getSnapshot().children['session'] };
}

describe("a session's I/O", () => {
  it('is disposed of when it throws on a command and its close hangs', async () => {
    const { dispose, server } = run({
      publish() {
        throw new Error('a fault');
      },
    });
    await turn();
    expect(dispose).toHaveBeenCalled();
    server.stop();
  });

  it('is disposed of when killing it throws', async () => {
    const { clock, dispose, server, session } = run({
      kill() {
        throw new Error('a fault');
      },
    });
    await turn();
    session?.send({ type: 'session.close' });
    clock.advanceBy(3_500);
    expect(dispose).toHaveBeenCalled();
    server.stop();
  });
});
