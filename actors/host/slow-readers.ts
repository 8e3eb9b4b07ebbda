/**
 * Bounds the data queued for readers that may stop reading: hosts, clients, pages and pipes.
 *
 * A slow reader loses notifications first: unsolicited messages are dropped and counted. A reader
 * with too much unread data is disconnected. When all readers together have too much unread data,
 * the one with the most is disconnected. Memory is therefore bounded by {@link OutboxLimits} plus
 * the message being written.
 */

import type { Writable } from 'node:stream';
import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from './time-limit.ts';

/** `answers` end by themselves; `streams` end when the client or we end them. */
export type Sending = 'answers' | 'streams';

export const outboxLimits = {
  /**
   * Unsent bytes beyond which a reader's notifications are dropped: thousands of log lines. A
   * reader that lags further behind is not following them.
   */
  noteBytes: 1_048_576,
  /** Unsent bytes beyond which a reader is disconnected; twice the longest result. */
  unsentBytes: 33_554_432,
  /** Unsent bytes across all readers beyond which the slowest reader is disconnected. */
  unsentTotalBytes: 134_217_728,
};

export type OutboxLimits = Readonly<typeof outboxLimits>;

interface OutboxEvents {
  /** Called when a notification is dropped. */
  readonly dropped?: () => void;
  /** Called when a reader is disconnected. */
  readonly unread?: () => void;
}

// Time for pending responses when we close; a client that does not read gets no longer.
const sendMs = 250;
// A reader that keeps up stays below this share, so the total need not be computed for it.
const laggingShare = 64;

interface Reader {
  readonly sending: Sending;
  readonly disconnect: () => void;
}

export class Outbox {
  readonly #limits: OutboxLimits;
  readonly #events: OutboxEvents;
  readonly #readers = new Map<Writable, Reader>();

  constructor(limits: OutboxLimits = outboxLimits, events: OutboxEvents = {}) {
    this.#limits = limits;
    this.#events = events;
  }

  /**
   * Bounds a stream until it closes.
   * @param disconnect - ends a reader with too much unread data. Default: destroys the stream
   */
  add(
    stream: Writable,
    sending: Sending = 'answers',
    disconnect: () => void = () => stream.destroy(),
  ): void {
    this.#readers.set(stream, { sending, disconnect });
    stream.once('close', () => this.#readers.delete(stream));
  }

  /** Bounds a stream no longer. */
  release(stream: Writable): void {
    this.#readers.delete(stream);
  }

  /** Whether notifications to this reader are being dropped. */
  lags(stream: Writable): boolean {
    return stream.writableLength > this.#limits.noteBytes;
  }

  /** Writes data that the reader is waiting for. */
  write(stream: Writable, data: string | Uint8Array): void {
    if (stream.destroyed || stream.writableEnded) return;
    stream.write(data);
    this.bound(stream);
  }

  /** Writes data that the reader can do without; returns false if it was dropped. */
  note(stream: Writable, data: string | Uint8Array): boolean {
    if (this.lags(stream)) {
      this.#events.dropped?.();
      return false;
    }
    this.write(stream, data);
    return true;
  }

  /** Enforces the limits after data was written to a stream directly. */
  bound(stream: Writable): void {
    const { unsentBytes, unsentTotalBytes } = this.#limits;
    const reader = this.#readers.get(stream);
    if (reader === undefined || stream.destroyed) return;
    if (stream.writableLength > unsentBytes) return this.#disconnect(stream, reader);
    if (stream.writableLength <= unsentBytes / laggingShare) return;
    const fullestFirst = [...this.#readers].toSorted(
      ([a], [b]) => b.writableLength - a.writableLength,
    );
    let total = fullestFirst.reduce((sum, [{ writableLength }]) => sum + writableLength, 0);
    for (const [each, its] of fullestFirst) {
      if (total <= unsentTotalBytes) return;
      total -= each.writableLength;
      this.#disconnect(each, its);
    }
  }

  /** Resolves once all of these are sent or disconnected, or after a quarter of a second. */
  async sent(sending: Sending, clock: Clock): Promise<void> {
    const gone = [...this.#readers]
      .filter(([, reader]) => reader.sending === sending)
      .map(([stream]) => new Promise((end) => void stream.once('close', end)));
    await withinTime(clock, sendMs, Promise.all(gone));
  }

  #disconnect(stream: Writable, { disconnect }: Reader): void {
    this.#readers.delete(stream);
    this.#events.unread?.();
    disconnect();
  }
}
