/**
 * Who was let in: a token of an address is taken once and gives a session, which the
 * browser brings back as a cookie. Neither is kept, only what they hash to.
 */

import { createHash, randomBytes } from 'node:crypto';

// 256 bits: nobody guesses it, however fast we answer.
const secretBytes = 32;
// Whoever asks for addresses again and again uses none of the old ones.
const mostTokens = 16;
// Browsers of one person, and those that were left open.
const mostSessions = 64;
// More clicks than a person makes, and few enough to stop a page that has gone wild.
const actsPerSecond = 20;

/** One browser. */
export interface Guest {
  /** Takes part of what the guest may do in a second; false when nothing is left of it. */
  mayAct(): boolean;
}

export class Guests {
  readonly #now: () => number;
  readonly #tokens = new Set<string>();
  readonly #sessions = new Map<string, Guest>();

  /** @param now - milliseconds; only differences count */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A token that lets one browser in, once. */
  invite(): string {
    const token = newSecret();
    this.#tokens.add(digest(token));
    dropOldest(this.#tokens, mostTokens);
    return token;
  }

  /** The secret of the session that the token gives; undefined when it is none, or was taken. */
  admit(token: string): string | undefined {
    if (!this.#tokens.delete(digest(token))) return undefined;
    const secret = newSecret();
    this.#sessions.set(digest(secret), this.#newGuest());
    dropOldest(this.#sessions, mostSessions);
    return secret;
  }

  guest(secret: string): Guest | undefined {
    return this.#sessions.get(digest(secret));
  }

  #newGuest(): Guest {
    let left = actsPerSecond;
    let countedAt = this.#now();
    return {
      mayAct: () => {
        const now = this.#now();
        left = Math.min(actsPerSecond, left + ((now - countedAt) / 1_000) * actsPerSecond);
        countedAt = now;
        if (left < 1) return false;
        left -= 1;
        return true;
      },
    };
  }
}

function dropOldest(
  kept: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean },
  most: number,
): void {
  const oldest = kept.keys().next();
  if (kept.size > most && oldest.done !== true) kept.delete(oldest.value);
}

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** Looked up by digest, so that the time it takes tells nothing of the secret. */
function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
