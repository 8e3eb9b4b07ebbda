/** The troupe's clock: real in production, virtual in tests. */
export interface Clock {
  /** Monotonic milliseconds; only differences are meaningful. */
  now(): number;
  /** Milliseconds since 1970, for display only. */
  wallNow(): number;
  /** Calls back once, after the delay. */
  setTimeout(callback: () => void, delayMs: number): unknown;
  /** Cancels a timeout; does nothing if it has fired. */
  clearTimeout(handle: unknown): void;
}

/** A timer holds 32 bits, in milliseconds: a longer wait would end at once instead of late. */
export const longestTimerMs = 2_147_483_647;

/** Calls back once after the delay, unless the returned function is called first. */
export function startDeadline(
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
  delayMs: number,
  onReached: () => void,
): () => void {
  const timer = clock.setTimeout(onReached, delayMs);
  // The awaited socket is what keeps the process alive, if anything should.
  (timer as Partial<NodeJS.Timeout> | undefined)?.unref?.();
  return () => clock.clearTimeout(timer);
}
