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

/** Identifies the session that an actor works for. */
export interface SessionId {
  /** Id of the server actor that owns the session, for example `db.0`. */
  readonly actorId: string;
  /** The server's name in the settings. */
  readonly server: string;
  /** A hash of the settings that decide the connection. */
  readonly generation: string;
  /** Session number, counted from 1 within one server actor. */
  readonly session: number;
}

/**
 * The era that a server was found to speak, as plain JSON; with it, the next session needs no
 * probe.
 */
export type EraVerdict =
  | { readonly kind: 'legacy' }
  /** With the server's answer to the probe, as the SDK received it. */
  | { readonly kind: 'modern'; readonly discover: object };

/** The session chart's input. */
export interface SessionInput extends SessionId {
  readonly transport: TransportKind;
  /** The policy in the settings at the start; `policy.updated` replaces it. */
  readonly policy: ServerPolicy;
  /** Whether the server may be downloaded first, so that the handshake may take longer. */
  readonly isFirstRun: boolean;
  /** Seeds this session's own, repeatable jitter. */
  readonly seed: number;
}

/** What the server chart sends to its session. */
export type SessionCommand =
  /** Closes gracefully. The session ends within its policy's deadlines; repeated commands do nothing. */
  | { readonly type: 'session.close' }
  /** Ends the session as lost, for this reason. */
  | { readonly type: 'session.giveUp'; readonly failure: Failure }
  /** Lists the tools; during a list, lists them once more after it. */
  | { readonly type: 'session.list' }
  /** Fetches all lists of an open session again, even during a pause. */
  | { readonly type: 'session.refresh' }
  | { readonly type: 'policy.updated'; readonly policy: ServerPolicy }
  /** The machine slept; `spreadMs` is the window over which health checks are spread. */
  | { readonly type: 'server.woke'; readonly spreadMs: number };

/** `at` is the monotonic time of the injected clock, in milliseconds. */
// An alias: the charts' declarations expand it, so that it needs no name there.
type Stamp = { readonly at: number };

/** What a session reports to its server chart while it is alive. */
export type SessionFact =
  | (Stamp & {
      readonly type: 'session.opened';
      readonly era: 'legacy' | 'modern';
      readonly pid?: number;
    })
  | (Stamp & { readonly type: 'session.listed'; readonly toolCount: number })
  /** An open session's list failed; the session keeps the old one. */
  | { readonly type: 'session.listFailed'; readonly failure: Failure }
  | {
      readonly type: 'session.impaired';
      readonly reason: DegradedReason;
      readonly failure?: Failure;
    }
  | { readonly type: 'session.recovered'; readonly reason: DegradedReason }
  /** A health check failed; `failedChecks` is the number of consecutive failures. */
  | { readonly type: 'session.silent'; readonly failedChecks: number }
  /**
   * The session is lost and no longer serves, but its process has yet to end. Not sent when the end is
   * known at once, and not when the server chart asked for it.
   */
  | { readonly type: 'session.closing' };

/** The output of a session's chart: how the session ended. */
export interface SessionEnd extends Stamp {
  /**
   * Whether the session had listed its tools; if so, a failure is an outage and not a failed start.
   */
  readonly wasOpen: boolean;
  /** Why the session failed; null if it was asked to close. */
  readonly failure: Failure | null;
  /** Whether the server was disconnected because it sent too much for too long. */
  readonly isFlood: boolean;
  /** Details of the connection that may explain a failure. */
  readonly evidence: SessionEvidence;
}

/** How a connection was lost. */
type WireEnd = Stamp & {
  readonly failure: Failure;
  /** Whether no process is left to end. */
  readonly isGone: boolean;
  /** Whether the server dropped the session but still answers requests in flight. */
  readonly drains: boolean;
};

/** What the parts of a connection report to the session chart. */
export type WireFact =
  /** A request or notification is about to be sent. Reported until the session is open. */
  | { readonly type: 'wire.sent'; readonly method: string }
  /** The connection broke while its process is alive; `wire.ended` follows soon. */
  | { readonly type: 'wire.broke' }
  /** The connection is over, and not because the session closed it. */
  | (WireEnd & { readonly type: 'wire.ended' })
  /** A request showed that the session is lost. */
  | (WireEnd & { readonly type: 'wire.lost' })
  /**
   * The result of a health check: any message, even an error, proves that the server is alive;
   * `unknownMethod` means that it does not support the check.
   */
  | { readonly type: 'wire.probed'; readonly answer: ProbeAnswer; readonly failure?: Failure }
  /** Something suggests that a remote server may be gone, such as a stream that was cut. */
  | { readonly type: 'wire.doubted' }
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

/** What the session chart asks of the connection without waiting for a reply. */
export type WireCommand =
  /** Starts a health check, and abandons one that is still pending. */
  | { readonly type: 'wire.probe' }
  /**
   * Reports the connection as lost, because of the last health check; not if the server is silent while
   * calls are pending, which have their own deadlines.
   */
  | { readonly type: 'wire.abandon' }
  /** Reports which watched resources changed. */
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
      /** Whether the protocol era is unknown, so that the server is probed first. */
      readonly asksEra: boolean;
    };

export type LaunchOutcome = StepFailed | { readonly type: 'launched' };

/** The outcome of the handshake. */
export type ConnectOutcome =
  | (Stamp & {
      readonly type: 'connected';
      readonly era: 'legacy' | 'modern';
      readonly pid?: number;
      readonly offers: { readonly resources: boolean; readonly prompts: boolean };
    })
  | (StepFailed & {
      /** Whether the server answered, if only with an error. */
      readonly wasAnswered: boolean;
      /** Whether the address refused the way servers of the SSE transport do. */
      readonly mayBeOverSse: boolean;
    });

/** One of a catalog's lists. `resources` includes the templates. */
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
export interface SessionEvidence
  extends Pick<Failure, 'exitCode' | 'signal' | 'stderrTail' | 'explanation'> {
  /** Number of lines in its output that were not MCP messages. */
  readonly noiseCount?: number;
  /** Whether nothing was started yet, because a value that the settings refer to was missing. */
  readonly isWaitingForValues?: true;
}

/** When a call ends, and what moves that. */
export interface CallDeadline {
  /**
   * Monotonic time on the injected clock, in milliseconds, by which the server must answer, or report
   * progress if `renewal` is set.
   */
  readonly deadlineAt: number;
  /** How progress moves the deadline; absent if it does not. */
  readonly renewal?: ProgressRenewal | undefined;
  /**
   * Maximum total time, in milliseconds, by which open questions of this request move its deadline.
   * If absent, they do not.
   */
  readonly questionsMs?: number | undefined;
}

export interface SessionCallOptions extends CallDeadline {
  readonly signal?: AbortSignal | undefined;
  /** Answers the request's questions. */
  readonly party?: QuestionParty | undefined;
  /** Metadata sent with the request; absent for none. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * The round of a request, for a caller that handles a modern server's rounds itself. If absent,
   * they are handled here.
   */
  readonly round?: InputRound | undefined;
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
}

/** How progress moves the deadline of a running call. */
export interface ProgressRenewal {
  /** Time that each progress report grants, in milliseconds. */
  readonly silenceMs: number;
  /** The latest deadline that progress can grant; open questions move it too. */
  readonly untilAt: number;
}

/** A server's progress notification: how much of an optional total is done, in the server's own unit. */
export interface CallProgress {
  /** How much is done; grows with each notification. */
  readonly progress: number;
  /** How much there is to do, in the same unit. Default: unknown. */
  readonly total?: number;
  /** What is being done, for users. */
  readonly message?: string;
  /** What the server adds to it, without the protocol's own keys. */
  readonly _meta?: Readonly<Record<string, unknown>>;
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
   * False only if it is certain that the request never ran: no byte of it reached the server, or
   * the response's HTTP status is defined to mean that (`src/policies/calls/failure-verdict.ts`). An
   * error's message and code never prove it.
   */
  readonly written: boolean;
  /** The server answered the request, so it did run, although the answer is unusable. */
  readonly wasAnswered?: true;
  /** One sentence without secrets; for users, not stable. */
  readonly message: string;
  /** JSON-RPC error code, if the server responded with an error. */
  readonly rpcCode?: number;
  /** The error's further data, if it is an object and small. */
  readonly rpcData?: Readonly<Record<string, unknown>>;
  /** How long the server asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Why a question that the server asked during the call was not answered. */
  readonly unanswered?: string;
  /** Why a question was not answered that may have been about this call or about another one. */
  readonly perhapsUnanswered?: string;
}

/** A request other than a tool call, which takes the same path; `kind` is its key in the table of methods. */
export type SessionRequest =
  | { readonly kind: 'readResource'; readonly params: { readonly uri: string } }
  | {
      readonly kind: 'getPrompt';
      readonly params: {
        readonly name: string;
        readonly arguments?: Readonly<Record<string, string>>;
      };
    }
  | { readonly kind: 'complete'; readonly params: CompletionRequest };

/** A server's own name, version and capabilities, as the protocol defines them. */
export interface ServerProfile {
  /** The server's own name. */
  readonly name: string;
  /** The server's own version. */
  readonly version: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What the server is for. */
  readonly description?: string;
  /** Address of its web site. */
  readonly websiteUrl?: string;
  /** Icons with `src`, `mimeType` and `sizes`, as the protocol defines them. */
  readonly icons?: readonly Readonly<Record<string, unknown>>[];
  /** What it declared, as the protocol defines it. */
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** The interface of an open session for calls, which bypass the chart. */
export interface SessionHandle {
  readonly session: number;
  /** The server's profile; undefined if the server did not send it. */
  readonly profile: ServerProfile | undefined;
  /** Calls a tool. Never rejects: a failed call is a value. */
  callTool(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
  ): Promise<{ readonly result: ToolResult } | { readonly failure: CallFailure }>;
  /**
   * Sends a request. Never rejects, like `callTool`; the result is checked for the shape that its
   * method requires.
   */
  request(
    request: SessionRequest,
    options: SessionCallOptions,
  ): Promise<
    { readonly result: Readonly<Record<string, unknown>> } | { readonly failure: CallFailure }
  >;
  /** Reconciles the subscriptions with the resources that hosts watch. */
  reconcileWatched(): void;
  /** Reconciles the server's log level with the level that hosts request. */
  reconcileLogLevel(): void;
}
