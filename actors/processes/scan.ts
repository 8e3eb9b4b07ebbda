/**
 * Scans all processes, of which there may be thousands, in steps, so that the event loop stays
 * free. One scan runs at a time; a request gets the next scan that begins after it and shares it
 * with the others.
 */

import { listProcesses } from './identity.ts';

// A process takes about 25 µs on a busy machine, so a step takes less than a millisecond.
const processesPerStep = 32;

/** @param read - reads one process; undefined or an exception leaves it out */
export function createScan<Found>(
  read: (pid: number) => Found | undefined,
): () => Promise<readonly Found[]> {
  let before: Promise<unknown> = Promise.resolve();
  let next: Promise<readonly Found[]> | undefined;
  return () => {
    if (next === undefined) {
      next = before.then(nextTurn).then(() => {
        next = undefined;
        return scanAll(read);
      });
      before = next;
    }
    return next;
  };
}

async function scanAll<Found>(read: (pid: number) => Found | undefined): Promise<readonly Found[]> {
  const found: Found[] = [];
  const pids = listProcesses();
  for (let from = 0; from < pids.length; from += processesPerStep) {
    if (from > 0) await nextTurn();
    for (const pid of pids.slice(from, from + processesPerStep)) {
      const one = readOrNothing(read, pid);
      if (one !== undefined) found.push(one);
    }
  }
  return found;
}

/** Undefined if the process has exited or cannot be read. */
function readOrNothing<Found>(
  read: (pid: number) => Found | undefined,
  pid: number,
): Found | undefined {
  try {
    return read(pid);
  } catch {
    return undefined;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
