/**
 * Keeps one list of a session up to date. Wishes during a list or shortly after
 * it cause one more; lists never overlap, so an older one never replaces a newer
 * one; a list that failed is fetched again, ever more rarely.
 */

import type { Clock } from '../../../src/domain/clock.ts';

// Between the end of a list and the next one that is asked for.
const pauseMs = 1_000;
// As long as a list may take: a server that cannot list is not asked harder.
const firstRetryMs = 30_000;
const longestRetryMs = 300_000;

export interface Relisting {
  /** The list is outdated, or was never fetched. */
  wish(): void;
  stop(): void;
}

/** `load` says whether it went well, and never rejects. */
export function createRelisting(clock: Clock, load: () => Promise<boolean>): Relisting {
  let state: 'idle' | 'loading' | 'resting' | 'retrying' | 'stopped' = 'idle';
  let isWanted = false;
  let retryMs = firstRetryMs;
  let timer: unknown;

  const rest = (as: 'resting' | 'retrying', ms: number): void => {
    state = as;
    timer = clock.setTimeout(() => {
      state = 'idle';
      if (isWanted) void run();
    }, ms);
  };
  const run = async (): Promise<void> => {
    state = 'loading';
    isWanted = false;
    const isDone = await load();
    if (hasStopped()) return;
    const wasToldMeanwhile = isWanted;
    isWanted ||= !isDone;
    if (isDone || wasToldMeanwhile) rest('resting', pauseMs);
    else rest('retrying', retryMs);
    retryMs = isDone ? firstRetryMs : Math.min(retryMs * 2, longestRetryMs);
  };
  // After an `await` the state may have changed, which the type checker does not see.
  const hasStopped = (): boolean => state === 'stopped';

  return {
    wish() {
      if (state === 'idle') void run();
      else if (state === 'retrying') {
        // Something happened over there: worth a try before its time.
        clock.clearTimeout(timer);
        rest('resting', pauseMs);
      } else isWanted = true;
    },
    stop() {
      state = 'stopped';
      clock.clearTimeout(timer);
    },
  };
}
