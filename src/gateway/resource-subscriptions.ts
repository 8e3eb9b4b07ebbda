/**
 * Resources that modern clients watch through a stream. While a stream is open, the gateway stays subscribed to
 * its resources, even when their servers reconnect.
 */

import { isRecord } from '../domain/data/is-record.ts';
import type { Gateway } from './gateway.ts';

// The runtime's own limit for a server.
const maxWatched = 256;

type Ask = Pick<Gateway, 'troupe' | 'offers'>;

/** Subscribes to these resources until the returned function is called. */
export function watchAll({ troupe, offers }: Ask, addresses: readonly string[]): () => void {
  const ends = [...new Set(addresses)].slice(0, maxWatched).flatMap((address) => {
    try {
      const { server, name } = offers.resourceAt(address);
      return [troupe.subscribe(server, name)];
    } catch {
      // A resource that cannot be watched is skipped.
      return [];
    }
  });
  return () => {
    for (const end of ends) end();
  };
}

/** The resource URIs in a request to listen. */
export function addressesIn(params: unknown): readonly string[] {
  const wanted = isRecord(params) ? params['notifications'] : undefined;
  const addresses = isRecord(wanted) ? wanted['resourceSubscriptions'] : undefined;
  return Array.isArray(addresses) ? addresses.filter((each) => typeof each === 'string') : [];
}

interface Stream {
  readonly addresses: ReadonlySet<string>;
  readonly end: () => void;
}

/** The streams of one connection. */
export class Listening {
  readonly #gateway: Ask;
  readonly #streams = new Map<unknown, Stream>();

  constructor(gateway: Ask) {
    this.#gateway = gateway;
  }

  has(address: string): boolean {
    return [...this.#streams.values()].some(({ addresses }) => addresses.has(address));
  }

  begin(id: unknown, addresses: readonly string[]): void {
    const before = this.#streams.get(id);
    // Subscribe first, so that resources in both streams stay watched without a gap.
    const end = watchAll(this.#gateway, addresses);
    this.#streams.set(id, { addresses: new Set(addresses), end });
    before?.end();
  }

  end(id: unknown): void {
    this.#streams.get(id)?.end();
    this.#streams.delete(id);
  }

  close(): void {
    for (const id of [...this.#streams.keys()]) this.end(id);
  }
}
