/** The time for countdowns: the troupe's while it is live, otherwise that of the shown moment. */

import { useEffect, useReducer } from 'preact/hooks';
import { current } from './store.ts';

// How far the charts' clock is ahead of this page's; little, because both run on one machine.
let aheadMs = 0;

/** Sets the clock by a record that just arrived. */
export function heard(t: number): void {
  aheadMs = t - sinceStart();
}

/** Now, in the journal's milliseconds. */
export function now(): number {
  const { link, route, world } = current();
  if (route.at !== undefined || link === 'replay' || link === 'ended') return world.t;
  return sinceStart() + aheadMs;
}

/** An ISO time in the journal's milliseconds. */
export function momentOf(iso: string): number {
  return Date.parse(iso) - startedAt();
}

/** The wall time of a moment of the journal, as this machine writes times. */
export function wallTime(t: number): string {
  return new Date(startedAt() + t).toLocaleTimeString(undefined, { hour12: false });
}

function sinceStart(): number {
  return Date.now() - startedAt();
}

function startedAt(): number {
  const { session } = current();
  return session === undefined ? Date.now() : Date.parse(session.startedAt);
}

const tickers = new Set<() => void>();
const tickMs = 100;
let interval: number | undefined;

/** Redraws a view ten times a second while something in it counts. */
export function useTicks(isCounting: boolean): void {
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  useEffect(() => {
    if (!isCounting) return undefined;
    const tick = (): void => redraw(undefined);
    tickers.add(tick);
    interval ??= window.setInterval(() => {
      for (const each of [...tickers]) each();
    }, tickMs);
    return () => {
      tickers.delete(tick);
      if (tickers.size > 0) return;
      window.clearInterval(interval);
      interval = undefined;
    };
  }, [isCounting]);
}
