import { type Clock, longestTimerMs } from '../domain/clock.ts';

// Fifty milliseconds: below that, a machine is just busy.
const lateMs = 50;
// The first turn reads the input; the second handles what the input caused.
const drainTurns = 2;

const wholeDelay = (delayMs: number): number => Math.min(delayMs, longestTimerMs);

/** The machine's time, with plain timers. */
export const promptClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, wholeDelay(delayMs)),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

/** Pending turns of the event loop that a late timer waits for, by timer. */
const draining = new WeakMap<object, NodeJS.Immediate>();

/**
 * The machine's time: monotonic for decisions, wall time for display.
 *
 * A timer that is late because the event loop was blocked first waits until pending input has been
 * read. Otherwise a deadline could fail a request whose response is already in the pipe, because
 * timers run before input is read.
 */
export const realClock: Clock = {
  ...promptClock,
  setTimeout: (callback, delayMs) => {
    const waitMs = wholeDelay(delayMs);
    const dueAt = performance.now() + waitMs;
    const timer = setTimeout(() => {
      if (performance.now() - dueAt < lateMs) callback();
      else drain(timer, drainTurns, callback);
    }, waitMs);
    return timer;
  },
  clearTimeout: (handle) => {
    promptClock.clearTimeout(handle);
    const turn = typeof handle === 'object' && handle !== null ? draining.get(handle) : undefined;
    if (turn !== undefined) clearImmediate(turn);
  },
};

function drain(timer: NodeJS.Timeout, turns: number, callback: () => void): void {
  const turn = setImmediate(() => {
    if (turns > 1) drain(timer, turns - 1, callback);
    else callback();
  });
  draining.set(timer, turn);
}
