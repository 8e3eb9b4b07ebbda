import { type Clock, longestTimerMs } from '../domain/clock.ts';

// Fifty milliseconds: below that, a machine is just busy.
const lateMs = 50;
// The first turn reads what has come; the second is for what reading it has set off.
const drainTurns = 2;

const wholeDelay = (delayMs: number): number => Math.min(delayMs, longestTimerMs);

/** The time of the machine, with timers that call back as soon as they can. */
export const promptClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, wholeDelay(delayMs)),
  clearTimeout: (handle) => {
    clearTimeout(handle as NodeJS.Timeout);
  },
};

/** The turns that late timers give to others, by timer. */
const draining = new WeakMap<object, NodeJS.Immediate>();

/**
 * The time of the machine: monotonic for decisions, wall time for display.
 *
 * A timer that comes late, because something held the event loop, first lets in what
 * has arrived meanwhile. Else a deadline would fail a request whose answer has been
 * waiting in the pipe all along: timers run before anything is read.
 */
export const realClock: Clock = {
  ...promptClock,
  setTimeout: (callback, delayMs) => {
    const waitMs = wholeDelay(delayMs);
    const dueAt = performance.now() + waitMs;
    const timer = setTimeout(() => {
      if (performance.now() - dueAt < lateMs) callback();
      else afterTurns(drainTurns);
    }, waitMs);
    const afterTurns = (count: number): void => {
      const turn = setImmediate(() => {
        if (count > 1) afterTurns(count - 1);
        else callback();
      });
      draining.set(timer, turn);
    };
    return timer;
  },
  clearTimeout: (handle) => {
    promptClock.clearTimeout(handle);
    const turn = typeof handle === 'object' && handle !== null ? draining.get(handle) : undefined;
    if (turn !== undefined) clearImmediate(turn);
  },
};
