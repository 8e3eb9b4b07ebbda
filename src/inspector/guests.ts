/**
 * Authenticates pages: an address's token is exchanged once for a session's secret, which the page
 * sends with every request. Only hashes of tokens and secrets are kept.
 */

import { createHash, randomBytes } from 'node:crypto';
import { TokenBucket } from '../policies/token-bucket.ts';

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
  /** Callbacks by token hash, called once the token is spent or displaced by newer ones. */
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

  /** Calls back once the token is no longer valid, which may be at once. */
  whenSpent(token: string, callback: () => void): void {
    const key = digest(token);
    if (this.#tokens.has(key)) this.#tokens.set(key, callback);
    else callback();
  }

  /** Invalidates every token. */
  close(): void {
    for (const key of [...this.#tokens.keys()]) this.#spend(key);
  }

  /** Exchanges a token for a new session's secret; undefined for an unknown or spent token. */
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
    const acts = new TokenBucket(actsPerSecond, actsPerSecond);
    return { mayAct: () => acts.tryTake(this.#now()) };
  }
}

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** Looked up by digest, so that the time it takes tells nothing of the secret. */
function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
