import { setTimeout as pause } from 'node:timers/promises';

// Longer than any wait of a row that succeeds, on a machine that is ten times as slow.
const patienceMs = 60_000;
const askAgainMs = 5;

/** Resolves with the first value that is neither undefined nor false. */
export async function until<Value>(
  look: () => Value | undefined | false,
  what: string,
  limitMs = patienceMs,
): Promise<Value> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`);
    await pause(askAgainMs);
  }
}
