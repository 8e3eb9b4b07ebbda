import { createActor } from 'xstate';
import { type PresentUse, retentionMachine } from '../../machines/retention.ts';
import { withActors } from '../../machines/xstate/with-actors.ts';
import { type Clock, startDeadline } from '../domain/clock.ts';

const chart = withActors(retentionMachine);

export type Retention = ReturnType<typeof retain>;

/**
 * Keeps something until it is released, or the retention chart gives it up.
 *
 * @param use - how it is used at present; called at once, and whenever its time may be up
 * @param onExpired - not called after a release
 */
export function retain(clock: Clock, use: () => PresentUse, onExpired: () => void) {
  const actor = createActor(chart, { clock: unheldClock(clock) });
  actor.on('use.asked', () => actor.send({ type: 'use.seen', ...use() }));
  actor.subscribe({
    complete: () => {
      if (actor.getSnapshot().matches('expired')) onExpired();
    },
  });
  actor.start();
  const send = (type: 'use.changed' | 'kept.released'): void => {
    if (actor.getSnapshot().status === 'active') actor.send({ type });
  };
  return {
    /** Whether the end of a use is to be reported. */
    get isInUse(): boolean {
      // Read after each call, and several times as fast as `matches`.
      const { value } = actor.getSnapshot();
      return typeof value === 'object' && value.kept === 'inUse';
    },
    useChanged: (): void => send('use.changed'),
    release: (): void => send('kept.released'),
  };
}

/** A chart's clock whose timers do not keep the process running, for what is only kept. */
export function unheldClock(clock: Clock) {
  return {
    setTimeout: (onReached: () => void, delayMs: number) =>
      startDeadline(clock, delayMs, onReached),
    clearTimeout: (stop: () => void) => stop(),
  };
}

/** The use of something that is kept for this time from now on, whatever happens. */
export function unusedSince(clock: Clock, keptMs: number): () => PresentUse {
  const since = clock.now();
  return () => ({ isInUse: false, unusedMs: clock.now() - since, keptMs });
}
