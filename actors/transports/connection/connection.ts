/**
 * A session's view of its connection, whether to a process or an HTTP endpoint. A connection
 * opens once, is never reused, and leaves nothing behind.
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
  /** The connection is over, and not because we closed it. Called at most once. */
  ended(seen: Seen): void;
  /** A request or notification is about to leave. */
  sending(method: string): void;
  /** Notifications may have been lost on a connection that goes on. */
  missed(): void;
  /** A line for the log: a remark, or output of the server. */
  remark(line: string, stream?: LogStream): void;
}

export interface ConnectionSetup {
  readonly clock: Clock;
  readonly events: ConnectionEvents;
  /** Values that must not appear in anything that leaves the connection. */
  readonly secrets: readonly string[];
  /** Read when the connection closes, so that a changed policy counts. */
  readonly policy: () => ServerPolicy;
  /** Registers the process, if there is one. */
  readonly kept?: KeptProcess;
}

export interface Connection {
  readonly kind: TransportKind;
  readonly transport: Transport;
  /** The stages that every incoming message passes. */
  readonly stages: MessageStages;
  readonly pid: number | undefined;
  /** Facts about a failure that neither the error nor its HTTP status tells. */
  context(status?: number): Partial<Seen>;
  /** Facts about the server's end, for a loss that was found elsewhere. */
  evidence(): SessionEvidence;
  /**
   * Closes in an orderly way, or at once if the server is lost; resolves when nothing is left.
   * Never rejects.
   */
  close(isLost?: boolean): Promise<void>;
  /**
   * The server forgot the session, and each request in flight is about to fail with that: closes by
   * itself when all are answered, and soon in any case. Absent where all requests fail together.
   */
  drain?(): void;
  /**
   * The request on whose response stream this message came; undefined if it came another way.
   * Absent where all messages share one stream.
   */
  requestOf?(message: JSONRPCMessage): string | number | undefined;
  /** Releases everything at once, by force. */
  dispose(): void;
}

/** The largest message that any transport reads, in bytes; honest results are far smaller. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** Bound on unsent bytes: we would hold every call to a server that does not read. */
export const maxUnsentBytes = 64 * 1024 * 1024;

/** Rejects a message before any byte of it has left. */
export class NotSentError extends Error {
  override readonly name: string = 'NotSentError';
  readonly code = 'NOT_SENT';
}

/** Rejects a message that cannot be written as JSON, for example because it contains itself. */
export class UnwritableError extends NotSentError {
  override readonly name = 'UnwritableError';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}
