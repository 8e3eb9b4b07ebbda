/** The troupe's clock: real in production, virtual in tests. */
export interface Clock {
  /** Monotonic milliseconds; only differences are meaningful. */
  now(): number;
  /** Milliseconds since 1970, for display only. */
  wallNow(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** A timer holds 32 bits, in milliseconds: a longer wait would end at once instead of late. */
export const longestTimerMs = 2_147_483_647;
