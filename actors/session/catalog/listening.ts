/**
 * Listens for changes of a modern server, which announces them only on request. A stream that
 * ends is reopened, after waits that double. When the filter changes, a new stream opens before
 * the old one ends.
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
  /** The server has acknowledged the filter. */
  readonly onAgreed: (filter: SubscriptionFilter) => void;
  /** A stream was reopened; changes in between were not announced. */
  readonly onGap: () => void;
}

export class Listening {
  readonly #setup: ListeningSetup;
  #present: { readonly key: string; readonly stream: Stream } | undefined;

  constructor(setup: ListeningSetup) {
    this.#setup = setup;
  }

  /** Called when the filter may differ. */
  update(): void {
    const filter = this.#setup.filter();
    const key = JSON.stringify(filter);
    const before = this.#present;
    if (before?.key === key) return;
    this.#present = undefined;
    if (filter === undefined) before?.stream.stop();
    else {
      const stream = new Stream(this.#setup, filter, () => before?.stream.stop());
      this.#present = { key, stream };
    }
  }

  stop(): void {
    this.#present?.stream.stop();
  }
}

class Stream {
  readonly #setup: ListeningSetup;
  readonly #filter: SubscriptionFilter;
  readonly #controller = new AbortController();
  /** Ends the stream that this one replaces. */
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

  /** Resolves when the stream has ended. */
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
      // The next attempt follows after a longer wait.
    }
    if (this.#controller.signal.aborted) return;
    this.#onSettled();
    this.#hasGap ||= isAcknowledged;
  }
}
