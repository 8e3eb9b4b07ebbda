/**
 * Listens for changes on a modern server, which announces them only on request. A stream that ends
 * is reopened after a delay that doubles each time. When the filter changes, a new stream opens
 * before the old one ends.
 */

import type { SubscriptionFilter } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import type { Client } from '../../../src/protocol/mcp-client.ts';
import { Reopening } from '../../transports/http/reopening.ts';

const acknowledgeMs = 30_000;

interface ListeningSetup {
  readonly client: Client;
  readonly clock: Clock;
  /** The changes to listen for; undefined if none. */
  readonly filter: () => SubscriptionFilter | undefined;
  /** Called when the server has acknowledged the filter. */
  readonly onAgreed: (filter: SubscriptionFilter) => void;
  /** Called when a stream was reopened; changes in between were not announced. */
  readonly onGap: () => void;
}

export class Listening {
  readonly #setup: ListeningSetup;
  #present: { readonly key: string; readonly stop: () => void } | undefined;

  constructor(setup: ListeningSetup) {
    this.#setup = setup;
  }

  /** Called when the filter may have changed. */
  update(): void {
    const filter = this.#setup.filter();
    const key = JSON.stringify(filter);
    const before = this.#present;
    if (before?.key === key) return;
    this.#present = undefined;
    if (filter === undefined) before?.stop();
    else this.#present = { key, stop: openStream(this.#setup, filter, () => before?.stop()) };
  }

  stop(): void {
    this.#present?.stop();
  }
}

/**
 * Keeps a stream open until the returned function is called. `onSettled` ends the stream that this
 * one replaces.
 */
function openStream(
  { client, clock, onAgreed, onGap }: ListeningSetup,
  filter: SubscriptionFilter,
  onSettled: () => void,
): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const reopening = new Reopening(clock);
  let hasGap = false;

  /** Resolves once the stream has ended. */
  const listen = async (): Promise<void> => {
    let isAcknowledged = false;
    try {
      const { ended } = await client.listen(filter, signal, { clock, ms: acknowledgeMs });
      isAcknowledged = true;
      onSettled();
      if (!signal.aborted) {
        onAgreed(filter);
        if (hasGap) onGap();
        hasGap = false;
      }
      await ended;
    } catch {
      // The next attempt follows after a longer wait.
    }
    if (signal.aborted) return;
    onSettled();
    hasGap ||= isAcknowledged;
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await listen();
      if (!signal.aborted) await reopening.afterLoss(signal);
    }
  };

  void follow();
  return () => {
    controller.abort();
    onSettled();
  };
}
