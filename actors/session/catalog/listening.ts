/**
 * Listens for changes of a modern server, which tells only those who asked. A
 * stream that ends is opened again, after waits that double; one that is to
 * carry something else is replaced, the new one before the old one ends.
 */

import type { Client, McpSubscription, SubscriptionFilter } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import { Reopening } from '../../transports/http/reopening.ts';

const acknowledgeMs = 30_000;

export interface ListeningSetup {
  readonly client: Client;
  readonly clock: Clock;
  /** What to listen for; undefined = nothing. */
  readonly filter: () => SubscriptionFilter | undefined;
  /** The server has agreed to tell. */
  readonly onAgreed: (filter: SubscriptionFilter) => void;
  /** A stream had ended and there is one again: what changed between them is not told. */
  readonly onGap: () => void;
}

export interface Listening {
  /** What to listen for may differ. */
  look(): void;
  stop(): void;
}

export function createListening(setup: ListeningSetup): Listening {
  let present: { readonly key: string; readonly stream: Stream } | undefined;
  const look = (): void => {
    const filter = setup.filter();
    const key = JSON.stringify(filter);
    const before = present;
    if (before?.key === key) return;
    present = undefined;
    if (filter === undefined) {
      before?.stream.stop();
      return;
    }
    present = { key, stream: new Stream(setup, filter, () => before?.stream.stop()) };
  };
  return {
    look,
    stop() {
      present?.stream.stop();
    },
  };
}

class Stream {
  readonly #setup: ListeningSetup;
  readonly #filter: SubscriptionFilter;
  readonly #controller = new AbortController();
  /** Ends what this stream replaces. */
  readonly #onSettled: () => void;
  readonly #reopening: Reopening;
  #hasGap = false;

  constructor(setup: ListeningSetup, filter: SubscriptionFilter, onSettled: () => void) {
    this.#setup = setup;
    this.#filter = filter;
    this.#onSettled = onSettled;
    this.#reopening = new Reopening(setup.clock);
    void this.#follow();
  }

  stop(): void {
    this.#controller.abort();
    this.#onSettled();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#controller;
    while (!signal.aborted) {
      await this.#listen();
      if (!signal.aborted) await this.#reopening.afterLoss(signal);
    }
  }

  /** Resolves at the end of the stream. */
  async #listen(): Promise<void> {
    const { client, onAgreed, onGap } = this.#setup;
    let isAcknowledged = false;
    try {
      const subscription: McpSubscription = await client.listen(this.#filter, {
        timeout: acknowledgeMs,
        signal: this.#controller.signal,
      });
      isAcknowledged = true;
      this.#onSettled();
      if (!this.#controller.signal.aborted) {
        onAgreed(this.#filter);
        if (this.#hasGap) onGap();
        this.#hasGap = false;
      }
      await subscription.closed;
    } catch {
      // A server that cannot be listened to is asked again, ever more rarely.
    }
    if (this.#controller.signal.aborted) return;
    this.#onSettled();
    this.#hasGap ||= isAcknowledged;
  }
}
