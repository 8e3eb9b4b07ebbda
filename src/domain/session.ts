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
  /** Gives the session up as lost, for this reason. */
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

/** How a session ended: the output of its chart. */
export interface SessionEnd extends Stamp {
  /** It had listed its tools: what went wrong is an outage, not a failed start. */
  readonly wasOpen: boolean;
  /** Null when it was asked to close. */
  readonly failure: Failure | null;
  /** The server was disconnected because it sent too much for too long. */
  readonly isFlood: boolean;
  /** What is left of the connection; may explain a failure that was found from outside. */
  readonly evidence: SessionEvidence;
}

/** How a connection was lost. */
type WireEnd = Stamp & {
  readonly failure: Failure;
  /** No process is left that has yet to end. */
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
  /** The server announced that a list changed, or may have announced it unheard. */
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
  /** Asks the server whether it is alive; a question that is still out is given up. */
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

/** What the settings of a server lead to. */
export type ResolveOutcome =
  | StepFailed
  | {
      readonly type: 'resolved';
      readonly hasProcess: boolean;
      /** The protocol era is unknown, so the server is asked first. */
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
      /** The process left when it was asked for its era. */
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

/** What a session knows of its server that no failure of its own has told. */
export interface SessionEvidence extends Pick<Failure, 'exitCode' | 'signal' | 'stderrTail'> {
  /** How many lines of its output were no MCP. */
  readonly noiseCount?: number;
  /** Nothing was started yet: what its settings refer to was not known. */
  readonly isWaitingForValues?: true;
}

export interface SessionCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds that the server has to answer, or to report progress if that counts. */
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
  /** The caller goes through the rounds of a modern server himself; absent = they are gone through here. */
  readonly round?: InputRound;
  readonly onProgress?: (progress: CallProgress) => void;
}

/** How news of progress moves the deadline of a running call. */
export interface ProgressRenewal {
  /** What the server has from each news on, in milliseconds. */
  readonly silenceMs: number;
  /** The end of all renewals, in milliseconds from the sending. */
  readonly untilMs: number;
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a failed call tells of itself: why, and whether its request was ever written. */
export interface CallFailure {
  /**
   * `invalidArguments`: they are no JSON, which is the caller's fault.
   * `unsupported`: the server does not offer such a thing at all.
   * `resultTooLarge`: the result was seen and not taken, so the request did run.
   * `inputRequired`: the server asked for input first and did not get it.
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

/** A request that is no call of a tool and takes the same way. */
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

/** Who a server says it is, and what it says it can do, in the words of the protocol. */
export interface ServerProfile {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** How the direct call path reaches an open session. */
export interface SessionHandle {
  readonly session: number;
  /** Undefined when the server did not say. */
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
  /** Reconciles the level of the server's log with the one that hosts want. */
  reconcileLogLevel(): void;
}
