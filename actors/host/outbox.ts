/**
 * Bounds what is written to readers that may stop reading: hosts, clients, pages and pipes.
 *
 * A reader that lags loses notes first: unsolicited messages are dropped and counted. A reader that
 * leaves too much unread is disconnected. When all readers together leave too much unread, the one
 * with the most unread bytes is disconnected. Memory is therefore bounded by {@link OutboxLimits}
 * plus the message being written.
 */

import type { Writable } from 'node:stream';
import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from './time-limit.ts';

/** `answers` end by themselves; `streams` end when the client or we end them. */
export type Sending = 'answers' | 'streams';

export const outboxLimits = {
  /**
   * Unsent bytes beyond which notes to a reader are dropped: thousands of log lines. A reader that
   * lags by more is not following them.
   */
  noteBytes: 1_048_576,
  /** Unsent bytes beyond which a reader is disconnected. The longest result fits twice. */
  unsentBytes: 33_554_432,
  /** Unsent bytes of all readers together beyond which the slowest reader is disconnected. */
  unsentTotalBytes: 134_217_728,
};

export type OutboxLimits = Readonly<typeof outboxLimits>;

interface OutboxEvents {
  /** Called when a note is dropped. */
  readonly dropped?: () => void;
  /** Called when a reader is disconnected. */
  readonly unread?: () => void;
}

// Time for pending answers when we close; a client that does not read gets no more.
const sendMs = 250;
// A reader that keeps up holds less than this share, so the total need not be summed for it.
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
   * @param disconnect - ends a reader that leaves too much unread. Default: destroys the stream
   */
  add(
    stream: Writable,
    sending: Sending = 'answers',
    disconnect: () => void = () => stream.destroy(),
  ): void {
    this.#readers.set(stream, { sending, disconnect });
    stream.once('close', () => this.#readers.delete(stream));
  }

  /** Whether notes to this reader are being dropped. */
  lags(stream: Writable): boolean {
    return stream.writableLength > this.#limits.noteBytes;
  }

  /** Writes data that the reader waits for. */
  write(stream: Writable, data: string | Uint8Array): void {
    if (stream.destroyed || stream.writableEnded) return;
    stream.write(data);
    this.bound(stream);
  }

  /** Writes data that the reader can miss; returns false when it was dropped. */
  note(stream: Writable, data: string | Uint8Array): boolean {
    if (this.lags(stream)) {
      this.#events.dropped?.();
      return false;
    }
    this.write(stream, data);
    return true;
  }

  /** Enforces the bounds after data was written to a stream directly. */
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

  /** Resolves once all of these were sent or disconnected, or after a quarter of a second. */
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
