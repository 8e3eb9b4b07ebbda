import { createActor } from 'xstate';
import { throttleMachine } from '../../machines/throttle.ts';
import type { Clock } from '../domain/clock.ts';

export type Throttle = ReturnType<typeof createThrottle>;

/** Passes signals on to `fire` when the throttle chart decides so, and none once it is stopped. */
export function createThrottle(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  pauseMs: number,
  fire: () => void,
) {
  const actor = createActor(throttleMachine, { clock, input: { pauseMs } });
  actor.on('signal.passed', fire);
  actor.start();
  return {
    trigger(): void {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'signal.raised' });
    },
    stop(): void {
      actor.stop();
    },
  };
}
