/** What all transports share: the SDK's callbacks, the message stages, and one end. */

import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';

import type { TransportKind } from '../../../src/domain/server-spec.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { type Connection, type ConnectionSetup, type Seen, UnwritableError } from './connection.ts';
import { MessageStages } from './stages.ts';

export abstract class BaseTransport implements Transport, Connection {
  abstract readonly kind: TransportKind;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  readonly stages: MessageStages;
  protected readonly setup: ConnectionSetup;
  protected isOver = false;
  #hasRemarked = false;

  constructor(setup: ConnectionSetup) {
    this.setup = setup;
    this.stages = new MessageStages({
      clock: setup.clock,
      events: setup.events,
      send: (message) => this.send(message),
      lose: (seen) => this.lose(seen),
    });
  }

  abstract start(): Promise<void>;
  abstract send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>;
  abstract close(isLost?: boolean): Promise<void>;
  abstract dispose(): void;

  get transport(): Transport {
    return this as Transport;
  }

  get pid(): number | undefined {
    return undefined;
  }

  context(_status?: number): Partial<Seen> {
    return {};
  }

  evidence(): SessionEvidence {
    return {};
  }

  /** Notes a message that is about to leave. */
  protected noteSent(message: JSONRPCMessage): void {
    this.stages.sent(message);
    if ('method' in message) this.setup.events.sending(message.method);
  }

  /** Logs a remark about the server, once per connection. */
  protected remarkOnce(remark: string): void {
    if (this.#hasRemarked) return;
    this.#hasRemarked = true;
    this.setup.events.remark(remark);
  }

  /** The connection is lost: reports why, then lets the SDK fail all pending requests. */
  protected lose(seen: Seen): void {
    if (this.isOver) return;
    this.setup.events.ended(seen);
    this.over();
  }

  /** Lets the SDK fail all pending requests; what arrives later is dropped. */
  protected over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.stages.stop();
    this.onclose?.();
  }
}

/** Writes a message as JSON; throws an {@link UnwritableError} if it cannot be. */
export function serialize(message: JSONRPCMessage): string {
  try {
    return JSON.stringify(message);
  } catch (error) {
    throw new UnwritableError(error);
  }
}
