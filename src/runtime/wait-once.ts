import type { Clock } from '../domain/clock.ts';

/** The deadline and the signal that also end a wait. */
export interface WaitBounds {
  readonly clock: Clock;
  /** Monotonic time in milliseconds; Infinity for no deadline. */
  readonly deadlineAt: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waits for one wake-up, the deadline or the caller's abort, whichever comes first. Leaves no timer
 * or listener behind. The wake function may be called at once.
 *
 * @param subscribe - receives the wake function and returns the unsubscribe function
 */
export function waitOnce(
  { clock, deadlineAt, signal }: WaitBounds,
  subscribe: (wake: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve) => {
    const leftovers: (() => void)[] = [];
    let isOver = false;
    const wake = (): void => {
      if (isOver) return;
      isOver = true;
      for (const undo of leftovers) undo();
      resolve();
    };
    const unsubscribe = subscribe(wake);
    if (isOver) {
      unsubscribe();
      return;
    }
    leftovers.push(unsubscribe);
    if (deadlineAt !== Number.POSITIVE_INFINITY) {
      const timer = clock.setTimeout(wake, Math.max(0, deadlineAt - clock.now()));
      leftovers.push(() => clock.clearTimeout(timer));
    }
    signal?.addEventListener('abort', wake, { once: true });
    leftovers.push(() => signal?.removeEventListener('abort', wake));
    if (signal?.aborted === true) wake();
  });
}
