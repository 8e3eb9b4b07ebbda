/**
 * Authenticates pages. The token in a link is exchanged once for a session's secret, which the page sends
 * with every request. Only hashes of tokens and secrets are stored.
 */

import { createHash, randomBytes } from 'node:crypto';
import { TokenBucket } from '../../src/policies/token-bucket.ts';

// 256 bits: cannot be guessed, however many tries.
const secretBytes = 32;
// A user who requests more links no longer uses the oldest.
const mostTokens = 16;
// The browsers of one user, including windows left open.
const mostSessions = 64;
// More than a user clicks, and few enough to slow down a misbehaving page.
const actsPerSecond = 20;

export class PageSessions {
  readonly #now: () => number;
  /** Callbacks by token hash, called once the token is spent or displaced by newer ones. */
  readonly #tokens = new Map<string, () => void>();
  /** How many commands each session may still send, by hash of its secret. */
  readonly #sessions = new Map<string, TokenBucket>();

  /** @param now - milliseconds; only differences count */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Creates a token that can be exchanged once. */
  createToken(): string {
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
  exchange(token: string): string | undefined {
    if (!this.#spend(digest(token))) return undefined;
    const secret = newSecret();
    this.#sessions.set(digest(secret), new TokenBucket(actsPerSecond, actsPerSecond));
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > mostSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return secret;
  }

  has(secret: string): boolean {
    return this.#sessions.has(digest(secret));
  }

  /** Counts a command of a session; false when it has sent too many within a second. */
  mayAct(secret: string): boolean {
    return this.#sessions.get(digest(secret))?.tryTake(this.#now()) === true;
  }

  #spend(key: string): boolean {
    const callback = this.#tokens.get(key);
    this.#tokens.delete(key);
    callback?.();
    return callback !== undefined;
  }
}

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** Lookup by digest keeps the response time independent of the secret. */
function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
