/** One client's end of a connection that several clients share. */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { NotSentError } from '../../../src/protocol/errors.ts';
import { Connection, type ConnectionSetup, type Seen } from '../connection/connection.ts';

/**
 * Gives up the lease; resolves when the process has ended, if it ends with this lease.
 *
 * @param how - `lost`: the process is of no use to another client. `killed`: it ends by force
 */
export type Release = (how: 'orderly' | 'lost' | 'killed') => Promise<void>;

/** The connection behind it, which other clients use too. */
interface Shared {
  readonly pid: number | undefined;
  launch(): Promise<void>;
  start(): Promise<void>;
  send(holder: LeasedConnection, message: JSONRPCMessage): Promise<void>;
  contextFor(holder: LeasedConnection): Partial<Seen>;
  evidenceFor(holder: LeasedConnection): SessionEvidence;
}

export class LeasedConnection extends Connection {
  readonly kind = 'stdio';
  /** The requests of the handshake that it has had answered, or has sent itself. */
  readonly greeted = new Set<string>();
  readonly #shared: Shared;
  readonly #release: Release;

  constructor(setup: ConnectionSetup, shared: Shared, release: Release) {
    super(setup);
    this.#shared = shared;
    this.#release = release;
  }

  get events(): ConnectionSetup['events'] {
    return this.setup.events;
  }

  get policy(): ConnectionSetup['policy'] {
    return this.setup.policy;
  }

  override get pid(): number | undefined {
    return this.#shared.pid;
  }

  /** Starts the process, unless it is running. */
  launch(): Promise<void> {
    return this.#shared.launch();
  }

  start(): Promise<void> {
    return this.#shared.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.isOver) return Promise.reject(new NotSentError('Not connected'));
    if ('method' in message) this.setup.events.sending(message.method);
    return this.#shared.send(this, message);
  }

  /** Takes a message from the server, which has passed the stages up to the budget. */
  deliver(message: JSONRPCMessage): void {
    if (!this.isOver) this.stages.relay(message, this.onmessage);
  }

  override context(): Partial<Seen> {
    return this.#shared.contextFor(this);
  }

  override evidence(): SessionEvidence {
    return this.#shared.evidenceFor(this);
  }

  /** Ends this client's use of the connection, for a reason that is not its own. */
  override lose(seen: Seen): void {
    super.lose(seen);
  }

  close(isLost = false): Promise<void> {
    this.over();
    return this.#release(isLost ? 'lost' : 'orderly');
  }

  dispose(): void {
    this.over();
    void this.#release('killed');
  }
}
