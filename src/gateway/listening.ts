/**
 * Single resources that modern clients listen for. They name them when they begin to listen; while
 * they do, the server of each is asked to tell of it, whatever becomes of its connection.
 */

import { isRecord } from '../policies/is-record.ts';
import type { Gateway } from './gateway.ts';

// As many as a server of the runtime can be asked for.
const maxWatched = 256;

type Ask = Pick<Gateway, 'troupe' | 'view'>;

/** Has the servers of these resources tell of them, until the function that is returned is called. */
export function watchAll({ troupe, view }: Ask, addresses: readonly string[]): () => void {
  const ends = [...new Set(addresses)].slice(0, maxWatched).flatMap((address) => {
    try {
      const { server, name } = view.resourceAt(address);
      return [troupe.subscribe(server, name)];
    } catch {
      // What cannot be watched is not announced either; the others are.
      return [];
    }
  });
  return () => {
    for (const end of ends) end();
  };
}

/** The addresses in what a client wants to be told of. */
export function addressesIn(params: unknown): readonly string[] {
  const wanted = isRecord(params) ? params['notifications'] : undefined;
  const addresses = isRecord(wanted) ? wanted['resourceSubscriptions'] : undefined;
  return Array.isArray(addresses) ? addresses.filter((each) => typeof each === 'string') : [];
}

interface Stream {
  readonly addresses: ReadonlySet<string>;
  readonly end: () => void;
}

/** What one connection listens for, in streams that begin and end one by one. */
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
    // The new one first: what both are about is watched without a gap.
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
