/**
 * Bounds a server's connections, with separate limits for authenticated clients and for strangers.
 * Strangers can therefore only displace one another: clients with a token are served regardless of how
 * many strangers connect.
 */

import type { Socket } from 'node:net';

/** Maximum number of connections for each group: not yet authenticated, and authenticated. */
type ConnectionBounds = {
  readonly strangers: number;
  readonly known: number;
  /** How many of the known may belong to one user. Default: all. */
  readonly ofUser?: number;
};

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
  readonly #users = new WeakMap<Socket, string>();

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
   * it, or undefined when every slot is taken by a connection with a request in progress. A user with
   * too many connections displaces only their own.
   */
  begin(socket: Socket, user?: string): (() => void) | undefined {
    if (!this.#known.has(socket) && !this.#makeRoom(user)) return undefined;
    if (user !== undefined) this.#users.set(socket, user);
    this.#strangers.delete(socket);
    this.#count(socket, 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (this.#known.has(socket)) this.#count(socket, -1);
    };
  }

  #makeRoom(user: string | undefined): boolean {
    const { known, ofUser = known } = this.#bounds;
    const all = [...this.#known];
    const own = user === undefined ? [] : all.filter(([each]) => this.#users.get(each) === user);
    if (own.length < ofUser && all.length < known) return true;
    const isIdle = ([, requests]: readonly [Socket, number]): boolean => requests === 0;
    const idlest = own.find(isIdle) ?? (own.length < ofUser ? all.find(isIdle) : undefined);
    if (idlest === undefined) return false;
    this.#drop(idlest[0]);
    return true;
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
