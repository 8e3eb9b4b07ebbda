/**
 * Looks at all processes, of which there may be thousands, without holding up the
 * rest of this process: a step at a time, and one look at a time. Whoever asks gets
 * the first look that began after the question; all that ask meanwhile share it.
 */

import { listProcesses } from './identity.ts';

// A process takes about 25 µs on a busy machine, so a step takes less than a millisecond.
const processesPerStep = 32;

/** @param read - what matters of one process; undefined or an exception leaves it out */
export function createLook<Found>(
  read: (pid: number) => Found | undefined,
): () => Promise<readonly Found[]> {
  let before: Promise<unknown> = Promise.resolve();
  let next: Promise<readonly Found[]> | undefined;
  return () => {
    if (next === undefined) {
      next = before.then(breathe).then(() => {
        next = undefined;
        return lookAtAll(read);
      });
      before = next;
    }
    return next;
  };
}

async function lookAtAll<Found>(
  read: (pid: number) => Found | undefined,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  const pids = listProcesses();
  for (let from = 0; from < pids.length; from += processesPerStep) {
    if (from > 0) await breathe();
    for (const pid of pids.slice(from, from + processesPerStep)) {
      const one = readOrNothing(read, pid);
      if (one !== undefined) found.push(one);
    }
  }
  return found;
}

/** Processes come and go, and those of other users are closed to us. */
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

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
