/**
 * What a session needs of the thing that carries it, whether a process or an
 * HTTP endpoint. A connection opens once, is never reused, and leaves nothing
 * behind.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import type { ServerPolicy } from '../../../src/domain/policy.ts';
import type { LogStream } from '../../../src/domain/server-log.ts';
import type { TransportKind } from '../../../src/domain/server-spec.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import type { FailureDescription } from '../../../src/policies/failures/classify.ts';
import type { KeptProcess } from '../../processes/keeper.ts';
import type { InputEvents } from './input-budget.ts';
import type { MessageStages } from './stages.ts';

/** A description without the phase, which only the session knows. */
export type Seen = Omit<FailureDescription, 'phase'>;

export interface ConnectionEvents extends InputEvents {
  /**
   * An open connection broke off while its process lives; `ended` follows soon with the reason. Not
   * sent when `ended` comes at once.
   */
  broke(): void;
  /** The connection is over, and not because we closed it. Comes at most once. */
  ended(seen: Seen): void;
  /** A request or notification is about to leave. */
  sending(method: string): void;
  /** What the server said unasked may have been lost; of a connection that lasts. */
  missed(): void;
  /** A line for people: a remark, or what the server wrote to a stream of its own. */
  remark(line: string, stream?: LogStream): void;
}

export interface ConnectionSetup {
  readonly clock: Clock;
  readonly events: ConnectionEvents;
  /** Values that must not appear in anything that leaves the connection. */
  readonly secrets: readonly string[];
  /** Asked for when the connection closes, so that a changed policy counts. */
  readonly policy: () => ServerPolicy;
  /** Keeps account of the process, if there is one; absent = nobody does. */
  readonly kept?: KeptProcess;
}

export interface Connection {
  readonly kind: TransportKind;
  readonly transport: Transport;
  /** The stages that every incoming message passes. */
  readonly stages: MessageStages;
  readonly pid: number | undefined;
  /** What the connection knows of a failure besides the error itself and its HTTP status. */
  context(status?: number): Partial<Seen>;
  /** What the peer left behind, for a loss that others found out. */
  evidence(): SessionEvidence;
  /**
   * Closes in an orderly way; resolves when nothing is left. Never rejects. To a
   * peer that is lost no goodbye is said.
   */
  close(isLost?: boolean): Promise<void>;
  /**
   * The server forgot the session, which each request in flight is about to be told: closes by
   * itself when all are answered, soon in any case. Absent where a loss is one for all.
   */
  drain?(): void;
  /**
   * The request on whose response stream this message came; undefined when it came by another way.
   * Absent where all messages come by one way.
   */
  requestOf?(message: JSONRPCMessage): string | number | undefined;
  /** Lets go of everything at once, by force. */
  dispose(): void;
}

/** The largest message that any transport reads, in bytes; an honest result is far below. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** A server that does not read would make us hold every call in memory. */
export const maxUnsentBytes = 64 * 1024 * 1024;

/** Rejects a message of which no byte has left. */
export class NotSentError extends Error {
  override readonly name: string = 'NotSentError';
  readonly code = 'NOT_SENT';
}

/** Rejects a message that is no JSON, for example because it holds itself. */
export class UnwritableError extends NotSentError {
  override readonly name = 'UnwritableError';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
