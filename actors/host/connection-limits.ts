/**
 * Bounds a server's connections, with separate limits for authenticated clients and for strangers.
 * Strangers can therefore only displace one another: clients with a token are served regardless of how
 * many strangers connect.
 */

import type { Socket } from 'node:net';

/** Maximum number of connections for each group: not yet authenticated, and authenticated. */
type ConnectionBounds = { readonly strangers: number; readonly known: number };

// Enough for every client on one machine to connect at the same moment; each leaves the pool with
// its first request.
export const usualStrangers = 64;

export class ConnectionLimits {
  readonly #bounds: ConnectionBounds;
  /**
   * Unauthenticated connections, oldest first. Ordering by last activity instead would let a client
   * keep a slot forever by sending one byte a second.
   */
  readonly #strangers = new Set<Socket>();
  /** Requests in progress per connection, least recently used first. */
  readonly #known = new Map<Socket, number>();

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  /** Adds a new connection as a stranger; evicts the oldest stranger when there are too many. */
  add(socket: Socket): void {
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#known.delete(socket);
    });
    if (this.#strangers.size <= this.#bounds.strangers) return;
    const [oldest] = this.#strangers;
    if (oldest !== undefined) this.#drop(oldest);
  }

  isKnown(socket: Socket): boolean {
    return this.#known.has(socket);
  }

  /**
   * Marks the start of an authenticated request on this connection. Returns a function that ends
   * it, or undefined when every slot is taken by a connection with a request in progress.
   */
  begin(socket: Socket): (() => void) | undefined {
    if (!this.#known.has(socket) && this.#known.size >= this.#bounds.known) {
      const [idlest] = [...this.#known].find(([, requests]) => requests === 0) ?? [];
      if (idlest === undefined) return undefined;
      this.#drop(idlest);
    }
    this.#strangers.delete(socket);
    this.#count(socket, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (this.#known.has(socket)) this.#count(socket, -1);
    };
  }

  #count(socket: Socket, change: 1 | -1): void {
    const requests = (this.#known.get(socket) ?? 0) + change;
    this.#known.delete(socket);
    this.#known.set(socket, requests);
  }

  #drop(socket: Socket): void {
    this.#strangers.delete(socket);
    this.#known.delete(socket);
    socket.destroy();
  }
}
