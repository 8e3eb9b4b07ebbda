import { pause } from './pause.ts';

// Longer than anything that a row waits for while all goes well.
const patienceMs = 12_000;
const askAgainMs = 5;

/** Waits for a value that is there and not false; names in its error what never came. */
export async function until<Value>(
  look: () => Value | undefined | false,
  what: string,
  limitMs = patienceMs,
): Promise<Value> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms in vain for ${what}`);
    await pause(askAgainMs);
  }
}
