/**
 * Who was let in: a token of an address is exchanged once for the secret of a session, which the
 * page sends with every request. Neither is kept, only what they hash to.
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
  /** What to do when the token is spent, or is not the newest of so many any more. */
  readonly #tokens = new Map<string, () => void>();
  readonly #sessions = new Map<string, Guest>();

  /** @param now - milliseconds; only differences count */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A token that lets one browser in, once. */
  invite(): string {
    const token = newSecret();
    this.#tokens.set(digest(token), () => undefined);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > mostTokens && oldest !== undefined) this.#spend(oldest);
    return token;
  }

  /** Calls back once the token is good for nothing, which may be now. */
  whenSpent(token: string, callback: () => void): void {
    const key = digest(token);
    if (this.#tokens.has(key)) this.#tokens.set(key, callback);
    else callback();
  }

  /** No token is good for anything any more. */
  close(): void {
    for (const key of [...this.#tokens.keys()]) this.#spend(key);
  }

  /** The secret of the session that the token gives; undefined when it is none, or was taken. */
  admit(token: string): string | undefined {
    if (!this.#spend(digest(token))) return undefined;
    const secret = newSecret();
    this.#sessions.set(digest(secret), this.#newGuest());
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > mostSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return secret;
  }

  guest(secret: string): Guest | undefined {
    return this.#sessions.get(digest(secret));
  }

  #spend(key: string): boolean {
    const callback = this.#tokens.get(key);
    this.#tokens.delete(key);
    callback?.();
    return callback !== undefined;
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

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** Looked up by digest, so that the time it takes tells nothing of the secret. */
function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
