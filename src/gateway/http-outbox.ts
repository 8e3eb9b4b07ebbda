/**
 * What was answered and is not taken yet. A client that reads more slowly than its servers speak is
 * let go rather than kept in memory: each may hold so much, and all of them together.
 */

import type { ServerResponse } from 'node:http';
import type { Clock } from '../domain/clock.ts';

/** Whether an answer ends by itself, or when its client or we end it. */
export type Sending = 'answers' | 'streams';

export interface OutboxLimits {
  /** Of one answer. The longest result fits twice. */
  readonly unsentBytes: number;
  /** Of all answers. */
  readonly unsentTotalBytes: number;
}

export const outboxLimits: OutboxLimits = {
  unsentBytes: 33_554_432,
  unsentTotalBytes: 134_217_728,
};

// An answer on its way at the end; a client that does not read is not waited for.
const sendMs = 250;
// Who keeps up has less than this waiting, and nothing need be added up for it.
const laggingShare = 64;

export class Outbox {
  readonly #clock: Clock;
  readonly #limits: OutboxLimits;
  readonly #onUnread: () => void;
  readonly #sending: Readonly<Record<Sending, Set<ServerResponse>>> = {
    answers: new Set(),
    streams: new Set(),
  };

  constructor(clock: Clock, limits: OutboxLimits, onUnread: () => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#onUnread = onUnread;
  }

  /** Knows of an answer until its client has it, or is gone. */
  add(response: ServerResponse, which: Sending): void {
    this.#sending[which].add(response);
    response.once('close', () => this.#sending[which].delete(response));
  }

  /** Keeps the bounds after something was written; who holds most has to go. */
  bound(response: ServerResponse): void {
    const { unsentBytes, unsentTotalBytes } = this.#limits;
    if (response.destroyed) return;
    if (response.writableLength > unsentBytes) return this.#letGo(response);
    if (response.writableLength <= unsentBytes / laggingShare) return;
    const fullestFirst = [...this.#sending.answers, ...this.#sending.streams]
      .filter(({ destroyed }) => !destroyed)
      .toSorted((a, b) => b.writableLength - a.writableLength);
    let total = fullestFirst.reduce((sum, { writableLength }) => sum + writableLength, 0);
    for (const each of fullestFirst) {
      if (total <= unsentTotalBytes) return;
      total -= each.writableLength;
      this.#letGo(each);
    }
  }

  /** Settles when all of these are with their clients, or soon. */
  async sent(which: Sending): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimeout(resolve, sendMs);
      const gone = [...this.#sending[which]].map(
        (response) => new Promise((end) => void response.once('close', end)),
      );
      void Promise.all(gone).then(() => {
        this.#clock.clearTimeout(timer);
        resolve();
      });
    });
  }

  #letGo(response: ServerResponse): void {
    this.#onUnread();
    response.destroy();
  }
}
