/**
 * A session's connection, whether to a process or an HTTP endpoint: the client's callbacks, the
 * message stages, and a single end. A connection opens once, is never reused, and leaves nothing
 * behind.
 */

import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';

import type { Authenticator } from '../../../src/domain/authorization.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import type { ServerPolicy } from '../../../src/domain/policy.ts';
import type { LogStream } from '../../../src/domain/server-log.ts';
import type { TransportKind } from '../../../src/domain/server-spec.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import type { FailureDescription } from '../../../src/policies/failures/classify.ts';
import type { KeptProcess } from '../../processes/started-processes.ts';
import type { InputEvents } from './input-budget.ts';
import { MessageStages } from './stages.ts';

/** A failure's description without the phase, which the session adds. */
export type Seen = Omit<FailureDescription, 'phase'>;

export interface ConnectionEvents extends InputEvents {
  /**
   * Called when an open connection breaks off while its process is still alive; `ended` follows
   * soon with the reason. Not called when `ended` follows at once.
   */
  broke(): void;
  /** Called when something suggests that the remote server may be gone. */
  doubted(): void;
  /** Called at most once, when the connection has ended without the session closing it. */
  ended(seen: Seen): void;
  /** Called just before a request or notification is sent. */
  sending(method: string): void;
  /** Called when notifications may have been lost on a connection that stays open. */
  missed(): void;
  /** Called with a line for the log: a remark, or server output. */
  remark(line: string, stream?: LogStream): void;
}

export interface ConnectionSetup {
  readonly clock: Clock;
  readonly events: ConnectionEvents;
  /** Values that must not appear in anything that leaves the connection. */
  readonly secrets: readonly string[];
  /** Read when the connection closes, so that a changed policy takes effect. */
  readonly policy: () => ServerPolicy;
  /** Registers the process, if there is one. */
  readonly kept?: KeptProcess;
  /** Authorizes requests to a remote server. Default: none is authorized. */
  readonly authenticator?: Authenticator;
}

export abstract class Connection implements Transport {
  abstract readonly kind: TransportKind;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** The stages that every incoming message passes. */
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
  /**
   * Closes gracefully, or at once if the server is lost; resolves when nothing is left. Never
   * rejects.
   */
  abstract close(isLost?: boolean): Promise<void>;
  /** Releases everything at once, by force. */
  abstract dispose(): void;
  /**
   * Called when the server has forgotten the session and each request in flight is about to fail
   * for that reason: closes by itself once all have settled, and soon in any case. Absent where all
   * requests fail together.
   */
  drain?(): void;
  /**
   * Gives up a request by ending its own stream, which tells a modern server to stop. Absent where
   * requests have no streams of their own.
   */
  abandon?(id: string | number): void;
  /**
   * Returns the request on whose response stream this message arrived; undefined if it arrived
   * another way. Absent where all messages share one stream.
   */
  requestOf?(message: JSONRPCMessage): string | number | undefined;

  get transport(): Transport {
    return this as Transport;
  }

  get pid(): number | undefined {
    return undefined;
  }

  /**
   * The number of unanswered requests that may keep the server busy. Only counted over HTTP, with or
   * without SSE: the end of a process or a WebSocket is noticed without a check.
   */
  get workCount(): number {
    return 0;
  }

  /** Returns facts about a failure that neither the error nor its HTTP status contains. */
  context(_status?: number): Partial<Seen> {
    return {};
  }

  /** Returns facts about the server's end, for a loss that was detected elsewhere. */
  evidence(): SessionEvidence {
    return {};
  }

  /** Records a message that is about to be sent. */
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

  /** Reports why the connection was lost, and then ends it. */
  protected lose(seen: Seen): void {
    if (this.isOver) return;
    this.setup.events.ended(seen);
    this.over();
  }

  /** Makes the client fail all pending requests; messages that arrive later are dropped. */
  protected over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.stages.budget.stop();
    this.onclose?.();
  }
}

/** The largest message that any transport reads, in bytes; honest results are far smaller. */
export const maxMessageBytes = 16 * 1024 * 1024;
/**
 * Limit on unsent bytes; without it, calls to a server that does not read would accumulate in
 * memory.
 */
export const maxUnsentBytes = 64 * 1024 * 1024;
