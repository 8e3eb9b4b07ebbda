/** Sessions that start their processes at the same moment. */

import { expect, it } from 'vitest';

import { Opening } from '../../../actors/session/opening-steps.ts';
import type { SessionPorts } from '../../../actors/session/ports.ts';
import type { StdioSpec } from '../../../src/domain/server-spec.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { silentEvents } from '../../fixtures/silent-input.ts';

it('start one process in each turn of the event loop', async () => {
  let startCount = 0;
  const startsByTurn: number[] = [];
  const kept = {
    // Called just before a process starts.
    prepare: () => {
      startCount += 1;
      setImmediate(() => {
        startsByTurn.push(startCount);
        startCount = 0;
      });
      return {};
    },
    started: () => Promise.resolve(),
    ending: () => Promise.resolve(),
    descendants: () => Promise.resolve([]),
    gone: () => {},
  };
  const ports: Pick<SessionPorts, 'clock' | 'env' | 'eras' | 'processes'> = {
    clock: realClock,
    env: process.env,
    eras: { get: () => ({ kind: 'legacy' }), set: () => {}, forget: () => {} },
    processes: { expect: () => kept },
  };
  const spec: StdioSpec = {
    type: 'stdio',
    command: 'sleep',
    args: ['600'],
    env: {},
    cwd: '/tmp',
    era: 'auto',
  };
  const { signal } = new AbortController();
  const openings = Array.from({ length: 4 }, (_, index) => {
    const id = { actorId: `s${index}.0`, server: `s${index}`, generation: 'g', session: 1 };
    const events = { ...silentEvents, hear: () => {}, lost: () => {} };
    return new Opening({ id, ports: ports as SessionPorts, events, questions: undefined });
  });
  try {
    await Promise.all(
      openings.map(async (opening) => {
        await opening.resolve({ spec, policy: defaultPolicy }, signal);
        await opening.launch(false, signal);
      }),
    );
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(startsByTurn).toEqual([1, 1, 1, 1]);
  } finally {
    for (const opening of openings) opening.dispose();
  }
});
