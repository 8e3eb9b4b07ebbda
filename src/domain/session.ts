/**
 * The contract between a server's chart and the session that does its I/O.
 * Commands go down, facts come up; every fact carries the session number and the
 * monotonic time at which its sender saw it.
 */

import type { CompletionRequest } from './catalog.ts';
import type { Failure } from './failure.ts';
import type { InputRound, QuestionParty } from './question.ts';
import type { DegradedReason } from './server-state.ts';
import type { ToolResult } from './tool.ts';

export interface SessionInput {
  /** Id of the server actor that owns the session, for example `db.0`. */
  readonly actorId: string;
  readonly server: string;
  readonly generation: string;
  /** Counted from 1 within one server actor. */
  readonly session: number;
}

export type SessionCommand =
  /** Opens the connection; nothing is opened before. */
  | { readonly type: 'session.open' }
  /**
   * Fetches the whole tool list, or fails after `listTimeoutMs` of the policy. A
   * list asked for during another runs once, after it.
   */
  | { readonly type: 'session.list' }
  /** Asks the server whether it lives; a question that is still out is given up. */
  | { readonly type: 'session.probe' }
  /** Closes in an orderly way; answered by `session.closed`. Repeats do nothing. */
  | { readonly type: 'session.close' }
  /** Closes at once by force; answered by `session.closed` like an orderly close. */
  | { readonly type: 'session.kill' }
  /** Lets go of everything at once, by force, without an answer. */
  | { readonly type: 'io.dispose' };

interface Stamp {
  readonly session: number;
  /** Monotonic milliseconds of the injected clock. */
  readonly at: number;
}

export type SessionFact =
  | (Stamp & {
      readonly type: 'session.opened';
      readonly era: 'legacy' | 'modern';
      readonly pid?: number;
    })
  | (Stamp & { readonly type: 'session.listed'; readonly toolCount: number })
  | (Stamp & { readonly type: 'session.listFailed'; readonly failure: Failure })
  /**
   * What became of a probe, as soon as it is known: an answer, even an error, was
   * sent by somebody alive; `unknownMethod` is the answer that it cannot be asked so.
   */
  | (Stamp & {
      readonly type: 'session.probed';
      readonly answer: 'alive' | 'unknownMethod' | 'none';
      /** Why there was none. */
      readonly failure?: Failure;
    })
  /** The server said that its tools changed; at most one a second. */
  | (Stamp & { readonly type: 'session.notified' })
  | (Stamp & {
      readonly type: 'session.impaired';
      readonly reason: DegradedReason;
      /** What is wrong, for people. */
      readonly failure?: Failure;
    })
  | (Stamp & { readonly type: 'session.recovered'; readonly reason: DegradedReason })
  /** The server sends faster than its budget allows: reading pauses repeatedly. */
  | (Stamp & { readonly type: 'session.paused' })
  /** Reading has not paused for a while. */
  | (Stamp & { readonly type: 'session.resumed' })
  /**
   * An open session broke off and no longer serves, but its process still has to end; `session.closed`
   * follows with the failure. At most one per session; none where the end is known at once.
   */
  | (Stamp & { readonly type: 'session.lost' })
  /**
   * Exactly one per session, last. Without a failure: closed because it was told
   * to; the evidence may then explain why it had to be told.
   */
  | (Stamp & {
      readonly type: 'session.closed';
      readonly failure?: Failure;
      readonly evidence?: SessionEvidence;
    });

/** What a session knows of its server that no failure of its own has told. */
export interface SessionEvidence extends Pick<Failure, 'exitCode' | 'signal' | 'stderrTail'> {
  /** How many lines of its output were no MCP. */
  readonly noiseCount?: number;
  /** Nothing was started yet: what its settings refer to was not known. */
  readonly isWaitingForValues?: true;
}

export interface SessionCallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds the server has to answer, or to tell of progress if that counts. */
  readonly timeoutMs: number;
  /** News of progress begins the wait anew; absent = it changes nothing. */
  readonly renewal?: ProgressRenewal;
  /**
   * For so many milliseconds in all its time stands still while questions of the server that
   * belong to this request wait for their answer. Absent = never.
   */
  readonly questionsMs?: number;
  /** Who answers them. */
  readonly party?: QuestionParty;
  /** Goes along as metadata of the request. Absent = nothing does. */
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
  /** The resources that hosts watch may differ: look again. */
  lookAtWatched(): void;
  /** The level of the log that hosts want may differ: look again. */
  lookAtLogLevel(): void;
}
