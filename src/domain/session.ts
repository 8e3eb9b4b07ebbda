/**
 * The contracts of a session: between the server chart and the session chart, between the session chart
 * and the actors that do its I/O, and between an open session and the call path.
 */

import type { CompletionRequest } from './catalog.ts';
import type { Failure } from './failure.ts';
import type { ServerPolicy } from './policy.ts';
import type { InputRound, QuestionParty } from './question.ts';
import type { TransportKind } from './server-spec.ts';
import type { DegradedReason } from './server-state.ts';
import type { ToolResult } from './tool.ts';

/** Which session an actor works for. */
export interface SessionId {
  /** Id of the server actor that owns the session, for example `db.0`. */
  readonly actorId: string;
  readonly server: string;
  readonly generation: string;
  /** Counted from 1 within one server actor. */
  readonly session: number;
}

/** What the session chart starts with. */
export interface SessionInput extends SessionId {
  readonly transport: TransportKind;
  /** Of the settings at the start; `policy.updated` replaces it. */
  readonly policy: ServerPolicy;
  /** Makes the jitter of this session its own, and repeatable. */
  readonly seed: number;
}

/** What the server chart sends to its session. */
export type SessionCommand =
  /** Closes in an orderly way. The session ends within the deadlines of its policy; repeats do nothing. */
  | { readonly type: 'session.close' }
  /** Ends the session as lost, for this reason. */
  | { readonly type: 'session.giveUp'; readonly failure: Failure }
  /** Lists the tools; during a list, once more after it. */
  | { readonly type: 'session.list' }
  | { readonly type: 'policy.updated'; readonly policy: ServerPolicy }
  /** The machine slept; `spreadMs` is the window over which health checks are spread. */
  | { readonly type: 'server.woke'; readonly spreadMs: number };

/** `at` is the monotonic time of the injected clock, in milliseconds. */
// An alias: the declarations of the charts write it out, so that it needs no name there.
type Stamp = { readonly at: number };

/** What a session reports to its server chart while it lives. */
export type SessionFact =
  | (Stamp & {
      readonly type: 'session.opened';
      readonly era: 'legacy' | 'modern';
      readonly pid?: number;
    })
  | (Stamp & { readonly type: 'session.listed'; readonly toolCount: number })
  /** A list of an open session failed; the session goes on with the old one. */
  | { readonly type: 'session.listFailed'; readonly failure: Failure }
  | {
      readonly type: 'session.impaired';
      readonly reason: DegradedReason;
      readonly failure?: Failure;
    }
  | { readonly type: 'session.recovered'; readonly reason: DegradedReason }
  /** A health check failed; `failedChecks` have failed in a row. */
  | { readonly type: 'session.silent'; readonly failedChecks: number }
  /**
   * The session is lost and no longer serves, but its process has yet to end. Not sent when the end is
   * known at once, and not when the server chart asked for it.
   */
  | { readonly type: 'session.closing' };

/** The output of a session's chart: how the session ended. */
export interface SessionEnd extends Stamp {
  /** The session had listed its tools, so a failure is an outage and not a failed start. */
  readonly wasOpen: boolean;
  /** Null when it was asked to close. */
  readonly failure: Failure | null;
  /** The server was disconnected because it sent too much for too long. */
  readonly isFlood: boolean;
  /** Details of the connection that may explain a failure. */
  readonly evidence: SessionEvidence;
}

/** How a connection was lost. */
type WireEnd = Stamp & {
  readonly failure: Failure;
  /** No process is left to end. */
  readonly isGone: boolean;
  /** The server forgot the session; requests in flight are still answered. */
  readonly drains: boolean;
};

/** What the parts of a connection report to the session chart. */
export type WireFact =
  /** A request or notification is about to leave. Reported until the session is open. */
  | { readonly type: 'wire.sent'; readonly method: string }
  /** The connection broke off while its process lives; `wire.ended` follows soon. */
  | { readonly type: 'wire.broke' }
  /** The connection is over, and not because the session closed it. */
  | (WireEnd & { readonly type: 'wire.ended' })
  /** A request showed that the session is lost. */
  | (WireEnd & { readonly type: 'wire.lost' })
  /**
   * The result of a health check: any answer, even an error, proves that the server is alive;
   * `unknownMethod` means that it does not support the check.
   */
  | { readonly type: 'wire.probed'; readonly answer: ProbeAnswer; readonly failure?: Failure }
  /** The server announced that a list changed, or such an announcement may have been missed. */
  | { readonly type: 'tools.changed' | 'resources.changed' | 'prompts.changed' }
  /** The server announced that a watched resource changed. */
  | { readonly type: 'resource.updated' }
  /** Something limits what the session can do, for example input beyond the server's budget. */
  | {
      readonly type: 'wire.impaired';
      readonly reason: DegradedReason;
      readonly failure?: Failure;
    }
  | { readonly type: 'wire.recovered'; readonly reason: DegradedReason }
  /** The connection is being ended by force, as requested. */
  | ({ readonly type: 'wire.killed' } & Stamp)
  /** The server sends faster than its budget allows: reading pauses repeatedly. */
  | { readonly type: 'wire.paused' }
  /** Reading has not paused for a while. */
  | { readonly type: 'wire.resumed' };

export type ProbeAnswer = 'alive' | 'unknownMethod' | 'none';

/** What the session chart asks of the connection without waiting for an answer. */
export type WireCommand =
  /** Starts a health check, and abandons one that is still pending. */
  | { readonly type: 'wire.probe' }
  /** Passes on which watched resources changed. */
  | { readonly type: 'wire.publish' }
  /** Ends the connection by force. */
  | { readonly type: 'wire.kill' };

/** A step of the start that failed. */
export interface StepFailed extends Stamp {
  readonly type: 'failed';
  readonly failure: Failure;
}

/** The result of resolving a server's settings. */
export type ResolveOutcome =
  | StepFailed
  | {
      readonly type: 'resolved';
      readonly hasProcess: boolean;
      /** The protocol era is unknown, so the server is probed first. */
      readonly asksEra: boolean;
    };

export type LaunchOutcome = StepFailed | { readonly type: 'launched' };

/** How the handshake went. */
export type ConnectOutcome =
  | (Stamp & {
      readonly type: 'connected';
      readonly era: 'legacy' | 'modern';
      readonly pid?: number;
      readonly offers: { readonly resources: boolean; readonly prompts: boolean };
    })
  | (StepFailed & {
      /** The process exited during the probe for its era. */
      readonly hasLeft: boolean;
      /** The address refused as servers of the SSE transport do. */
      readonly mayBeOverSse: boolean;
    });

/** Which list of a catalog. `resources` includes the templates. */
export type ListName = 'tools' | 'resources' | 'prompts';

export type ListOutcome =
  | (Stamp & {
      readonly type: 'listed';
      readonly count: number;
      /** What is missing from the list. */
      readonly gap: Failure | null;
    })
  | { readonly type: 'failed'; readonly failure: Failure };

/** What the refresh of a list reports to the session chart, after each list. */
export interface RefreshFact {
  readonly type: 'list.settled';
  readonly list: ListName;
  readonly outcome: ListOutcome;
}

/** How a connection was left. */
export interface CloseOutcome extends Stamp {
  readonly evidence: SessionEvidence;
}

/** Details of a session's server that its failure does not include. */
export interface SessionEvidence extends Pick<Failure, 'exitCode' | 'signal' | 'stderrTail'> {
  /** Number of lines in its output that were not MCP messages. */
  readonly noiseCount?: number;
  /** Nothing was started yet, because a value that its settings refer to was missing. */
  readonly isWaitingForValues?: true;
}

export interface SessionCallOptions {
  readonly signal?: AbortSignal;
  /** Time in which the server must answer, or report progress if `renewal` is set. */
  readonly timeoutMs: number;
  /** How progress restarts the wait; absent = it does not. */
  readonly renewal?: ProgressRenewal;
  /**
   * Total time, in milliseconds, for which the timeout is paused while this request's questions await
   * an answer. Absent = never paused.
   */
  readonly questionsMs?: number;
  /** Answers those questions. */
  readonly party?: QuestionParty;
  /** Metadata sent with the request. Absent = none. */
  readonly meta?: Readonly<Record<string, string>>;
  /** The caller handles the rounds of a modern server itself. Absent = they are handled here. */
  readonly round?: InputRound;
  readonly onProgress?: (progress: CallProgress) => void;
}

/** How progress extends the deadline of a running call. */
export interface ProgressRenewal {
  /** Time that each progress report grants, in milliseconds. */
  readonly silenceMs: number;
  /** Maximum total time, in milliseconds after the request was sent. */
  readonly untilMs: number;
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A failed call: the reason, and whether its request was written. */
export interface CallFailure {
  /**
   * `invalidArguments`: the arguments are not JSON, which is the caller's fault.
   * `unsupported`: the server does not support the request.
   * `resultTooLarge`: the result arrived and was discarded, so the request did run.
   * `inputRequired`: the server requested input first and got none.
   */
  readonly reason:
    | 'crashed'
    | 'streamLost'
    | 'timeout'
    | 'cancelled'
    | 'serverError'
    | 'badResponse'
    | 'resultTooLarge'
    | 'invalidArguments'
    | 'unsupported'
    | 'inputRequired'
    | 'notSent'
    | 'sessionMissing'
    | 'authRequired'
    | 'rateLimited'
    | 'unavailable'
    | 'addressBlocked'
    | 'redirectBlocked';
  /**
   * False only when it is certain that the request never ran: no byte of it
   * reached the server, or the HTTP status of the answer is defined to mean that
   * (`src/policies/calls/verdict.ts`). The text and the code of an error never prove it.
   */
  readonly written: boolean;
  readonly message: string;
  /** JSON-RPC error code, when the server answered with an error. */
  readonly rpcCode?: number;
  /** What else the error held, when it is an object and small. */
  readonly rpcData?: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number;
}

/** A request other than a tool call, which takes the same path. */
export type SessionRequest =
  | { readonly method: 'resources/read'; readonly params: { readonly uri: string } }
  | {
      readonly method: 'prompts/get';
      readonly params: {
        readonly name: string;
        readonly arguments?: Readonly<Record<string, string>>;
      };
    }
  | { readonly method: 'completion/complete'; readonly params: CompletionRequest };

/** A server's own name, version and capabilities, as the protocol defines them. */
export interface ServerProfile {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** The interface of an open session for calls, which bypass the chart. */
export interface SessionHandle {
  readonly session: number;
  /** Undefined when the server did not send it. */
  readonly profile: ServerProfile | undefined;
  /** Never rejects: a failed call is a value. */
  callTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
  ): Promise<{ readonly result: ToolResult } | { readonly failure: CallFailure }>;
  /** Never rejects, like `callTool`; the result is checked for the shape of its method. */
  request(
    request: SessionRequest,
    options: SessionCallOptions,
  ): Promise<
    { readonly result: Readonly<Record<string, unknown>> } | { readonly failure: CallFailure }
  >;
  /** Reconciles the subscriptions with the resources that hosts watch. */
  reconcileWatched(): void;
  /** Reconciles the level of the server's log with the level that hosts request. */
  reconcileLogLevel(): void;
}
