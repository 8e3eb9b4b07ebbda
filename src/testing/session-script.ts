/** What a test sees of a scripted session, from its server's side. */

import type { SideLists } from '../domain/catalog.ts';
import type { Failure } from '../domain/failure.ts';
import type { LogLevel } from '../domain/log-level.ts';
import type { QuestionAnswer, QuestionBody } from '../domain/question.ts';
import type { DegradedReason } from '../domain/server-state.ts';
import type { CallFailure, CallProgress, ServerProfile, SessionId } from '../domain/session.ts';
import type { ListedTool, ToolResult } from '../domain/tool.ts';

/** The outcome of a scripted handshake. */
export interface ScriptedOpening {
  /** Default: `legacy`. */
  readonly era?: 'legacy' | 'modern';
  /** Id of the process that the status shows. Default: none. */
  readonly pid?: number;
  /** Default: the server does not identify itself. */
  readonly profile?: ServerProfile;
  /** The lists that the server is asked for besides its tools, until `offer`. Default: none. */
  readonly offers?: readonly ('resources' | 'prompts')[];
}

/** A call that waits for the test to answer it. */
export interface ScriptedCall {
  /** The tool's name, or another request's method: `resources/read`. */
  readonly tool: string;
  /** The arguments, or the parameters of the method. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Whether it has a result, failed or was given up. */
  readonly isSettled: boolean;
  /** Settles the call with the tool's or the method's result. */
  answer(result: ToolResult | Readonly<Record<string, unknown>>): void;
  /** Settles the call with a failure. */
  fail(failure: CallFailure): void;
  /** Reports progress of the call. */
  progress(progress: CallProgress): void;
}

/** The commands that the session chart sends to its connection. */
export type ScriptedCommand =
  | 'session.open'
  | 'session.list'
  | 'session.probe'
  | 'session.abandon'
  | 'session.close'
  | 'session.kill';

/** One session from its server's side: the commands it received, and methods that make it act. */
export interface SessionScript {
  /** Which session it is. */
  readonly input: SessionId;
  /** Received commands, oldest first. */
  readonly commands: readonly ScriptedCommand[];
  /** Received calls, oldest first. */
  readonly calls: readonly ScriptedCall[];
  /** How far the session is. */
  readonly state: 'idle' | 'opening' | 'open' | 'closing' | 'over';
  /** Completes the handshake. */
  open(options?: ScriptedOpening): void;
  /** Answers the list of tools, and the instructions if there are any. */
  list(tools: readonly ListedTool[], said?: { readonly instructions?: string }): void;
  /** Lists resources, templates and prompts. */
  offer(lists: Partial<SideLists>): void;
  /** Reports that a watched resource changed. */
  update(uri: string): void;
  /** Sends a log line. */
  say(params: Readonly<Record<string, unknown>>): void;
  /** The resources that the host watched when last read. */
  readonly watched: readonly string[];
  /** The lowest log level that the host had requested when last read. */
  readonly logLevel: LogLevel | undefined;
  /** Fails the list of tools. */
  failList(failure: Failure): void;
  /** Reports the result of a health check; default: an answer. */
  probed(answer?: 'alive' | 'unknownMethod' | 'none', failure?: Failure): void;
  /**
   * Reports a hint that the remote server may be gone. If it then stays silent, or its health check
   * fails, `session.abandon` ends the session, unless a call keeps a silent server busy.
   */
  doubt(): void;
  /** Reports that the tools changed. */
  notify(): void;
  /**
   * Asks the host a question, for a call in progress if given. Resolves with the answer; undefined
   * when there is no handler or the call has settled. Throws when the session is not open.
   */
  ask(body: QuestionBody, call?: ScriptedCall): Promise<QuestionAnswer | undefined>;
  /** Reports that the server sends faster than it is read. */
  pause(): void;
  /** Reports that the session is degraded for this reason. */
  impair(reason: DegradedReason): void;
  /** Reports that this reason is gone. */
  recover(reason: DegradedReason): void;
  /** Breaks the connection while its process still runs; call `fail` to end the session. */
  breakOff(): void;
  /** Ends the session: its calls fail, and the connection is lost. */
  fail(failure: Failure): void;
  /** Completes the orderly close. */
  closed(): void;
}

/** The sessions of one test. */
export interface ScriptedSessions {
  /** Every session that was started, oldest first. */
  readonly scripts: readonly SessionScript[];
  /** The latest session of a server; throws when there was none. */
  of(server: string): SessionScript;
  /** Called for every session when it starts; a test can drive the session from here. */
  onStart: ((script: SessionScript) => void) | undefined;
  /** Called after every command that a session received. */
  onCommand: ((script: SessionScript, command: { type: ScriptedCommand }) => void) | undefined;
  /** Called for every call that a session received. */
  onCall: ((script: SessionScript, call: ScriptedCall) => void) | undefined;
}
