/**
 * Sessions that do what a test says, and nothing by themselves. They keep the
 * contract of the real session actor (`actors/session/session.ts`), and the same suite
 * holds them to it: ports are called in the same order, one `session.closed`
 * ends a session, nothing is sent after it was disposed of, and every call
 * settles.
 */

import { fromCallback } from 'xstate';

import { CallDeadline, timeOf } from '../../actors/session/calls/deadline.ts';
import type { SessionPorts } from '../../actors/session/ports.ts';
import type { SideLists } from '../domain/catalog.ts';
import type { Failure } from '../domain/failure.ts';
import type { LogLevel } from '../domain/log-level.ts';
import type { QuestionAnswer, QuestionBody, QuestionParty } from '../domain/question.ts';
import type { DegradedReason } from '../domain/server-state.ts';
import type {
  CallFailure,
  CallProgress,
  ServerProfile,
  SessionCallOptions,
  SessionCommand,
  SessionFact,
  SessionInput,
} from '../domain/session.ts';
import type { ListedTool, ToolResult } from '../domain/tool.ts';

/** What of the real ports a scripted session needs. */
export type ScriptedSessionPorts = Pick<
  SessionPorts,
  'clock' | 'registry' | 'catalogs' | 'watched' | 'logLevel' | 'notified' | 'questions'
>;

/** A call that waits for the test to answer it. */
export interface ScriptedCall {
  /** The tool, or the method of what is no call of a tool: `resources/read`. */
  readonly tool: string;
  /** The arguments, or the parameters of the method. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly isSettled: boolean;
  /** With the result of a tool, or of the method. */
  answer(result: ToolResult | Readonly<Record<string, unknown>>): void;
  fail(failure: CallFailure): void;
  progress(progress: CallProgress): void;
}

/** How a scripted handshake went. */
export interface ScriptedOpening {
  /** Default: `legacy`. */
  readonly era?: 'legacy' | 'modern';
  readonly pid?: number;
  /** Default: the server does not say who it is. */
  readonly profile?: ServerProfile;
}

/** One session as its server: what it was told, and what it shall do next. */
export interface SessionScript {
  readonly input: SessionInput;
  /** Every command it was sent, oldest first. */
  readonly commands: readonly SessionCommand['type'][];
  /** Every call it was given, oldest first. */
  readonly calls: readonly ScriptedCall[];
  readonly state: 'idle' | 'opening' | 'open' | 'closing' | 'over';
  /** The handshake is done. */
  open(options?: ScriptedOpening): void;
  list(tools: readonly ListedTool[], said?: { readonly instructions?: string }): void;
  /** Lists what comes after the tools. */
  offer(lists: Partial<SideLists>): void;
  /** Tells that a watched resource changed. */
  update(uri: string): void;
  /** Sends a line of its log. */
  say(params: Readonly<Record<string, unknown>>): void;
  /** The resources that the host watches, when it last looked. */
  readonly watched: readonly string[];
  /** From which level on its log is wanted, when it was last told. */
  readonly logLevel: LogLevel | undefined;
  failList(failure: Failure): void;
  /** Tells what became of the question whether it lives; default: an answer. */
  probed(answer?: 'alive' | 'unknownMethod' | 'none', failure?: Failure): void;
  /** Tells that the tools changed. */
  notify(): void;
  /**
   * Asks something, of a call in flight if one is named. Settles with the answer: undefined when
   * nobody can give one, or nobody waits for it any more. Refused when the session is not open.
   */
  ask(body: QuestionBody, call?: ScriptedCall): Promise<QuestionAnswer | undefined>;
  /** Tells that the server sends faster than it may be read. */
  pause(): void;
  impair(reason: DegradedReason): void;
  recover(reason: DegradedReason): void;
  /** The connection broke off, and its process has yet to end: `fail` says when it has. */
  breakOff(): void;
  /** The connection is lost: calls in flight settle, the session is over. */
  fail(failure: Failure): void;
  /** The orderly close that was asked for is done. */
  closed(): void;
}

/** The sessions of one test. */
export interface ScriptedSessions {
  /** Every session that was started, oldest first. */
  readonly scripts: readonly SessionScript[];
  /** The latest session of a server; throws when there was none. */
  of(server: string): SessionScript;
  /** Called for every session as it starts: a place to drive it from. */
  onStart: ((script: SessionScript) => void) | undefined;
  /** Called after every command that a session received. */
  onCommand: ((script: SessionScript, command: SessionCommand) => void) | undefined;
  /** Called for every call that a session took. */
  onCall: ((script: SessionScript, call: ScriptedCall) => void) | undefined;
}

/** Where the sessions of one test come from; hosts get them without the logic, which is ours. */
export interface ScriptedSessionSource extends ScriptedSessions {
  /** The actor logic, to be provided in place of the real one. */
  createLogic(ports: ScriptedSessionPorts): ReturnType<typeof createScriptedLogic>;
}

export function createScriptedSessions(): ScriptedSessionSource {
  const scripts: SessionScript[] = [];
  const sessions: ScriptedSessionSource = {
    scripts,
    onStart: undefined,
    onCommand: undefined,
    onCall: undefined,
    of(server) {
      const script = scripts.findLast(({ input }) => input.server === server);
      if (script === undefined) throw new Error(`No session of "${server}" was started.`);
      return script;
    },
    createLogic: (ports) => createScriptedLogic(ports, sessions, scripts),
  };
  return sessions;
}

function createScriptedLogic(
  ports: ScriptedSessionPorts,
  sessions: ScriptedSessions,
  scripts: SessionScript[],
) {
  return fromCallback<SessionCommand, SessionInput>(({ input, sendBack, receive }) => {
    const script = new Script(input, ports, sendBack, (call) => sessions.onCall?.(script, call));
    scripts.push(script);
    sessions.onStart?.(script);
    receive((command) => {
      script.receive(command);
      sessions.onCommand?.(script, command);
    });
    return () => script.dispose();
  });
}

const lost: CallFailure = {
  reason: 'crashed',
  written: true,
  message: 'The session ended before the answer.',
};

function cutOff(server: string): CallFailure {
  return { reason: 'cancelled', written: true, message: `${server} was stopped during the call.` };
}

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;
type Answer = { readonly result: object } | { readonly failure: CallFailure };
type Outcome = { readonly result: ToolResult } | { readonly failure: CallFailure };
type RequestOutcome =
  | { readonly result: Readonly<Record<string, unknown>> }
  | { readonly failure: CallFailure };

class Script implements SessionScript {
  readonly input: SessionInput;
  readonly commands: SessionCommand['type'][] = [];
  readonly calls: Call[] = [];
  state: SessionScript['state'] = 'idle';
  watched: readonly string[] = [];
  logLevel: LogLevel | undefined;
  readonly #ports: ScriptedSessionPorts;
  readonly #sendBack: (fact: SessionFact) => void;
  readonly #onCall: (call: ScriptedCall) => void;
  /** Questions that belong to no call. */
  readonly #wanted = new Set<AbortController>();
  #isListing = false;
  #isListWanted = false;

  constructor(
    input: SessionInput,
    ports: ScriptedSessionPorts,
    sendBack: (fact: SessionFact) => void,
    onCall: (call: ScriptedCall) => void,
  ) {
    this.input = input;
    this.#ports = ports;
    this.#sendBack = sendBack;
    this.#onCall = onCall;
  }

  receive({ type }: SessionCommand): void {
    this.commands.push(type);
    if (type === 'io.dispose') this.dispose();
    if (type === 'session.open' && this.state === 'idle') this.state = 'opening';
    if (type === 'session.list' && this.state === 'open') this.#wantList();
    if (type === 'session.close' || type === 'session.kill') this.#startClosing();
  }

  open({ profile, ...options }: ScriptedOpening = {}): void {
    this.#expect('opening');
    this.state = 'open';
    const { actorId, session } = this.input;
    this.#ports.registry.opened(actorId, {
      session,
      profile,
      // The test answers with what fits the request.
      callTool: (tool, args, callOptions) =>
        this.#call(tool, args, callOptions) as Promise<Outcome>,
      request: ({ method, params }, callOptions) =>
        this.#call(method, { ...params }, callOptions) as Promise<RequestOutcome>,
      lookAtWatched: () => this.#lookAtWatched(),
      lookAtLogLevel: () => this.#lookAtLogLevel(),
    });
    this.#lookAtWatched();
    this.#lookAtLogLevel();
    this.#send({ type: 'session.opened', era: 'legacy', ...options });
  }

  list(tools: readonly ListedTool[], said: { readonly instructions?: string } = {}): void {
    this.#expect('open');
    this.#ports.catalogs.put(this.input, tools, said);
    this.#send({ type: 'session.listed', toolCount: tools.length });
    this.#listed();
  }

  offer(lists: Partial<SideLists>): void {
    this.#expect('open');
    this.#ports.catalogs.putSide(this.input, lists);
  }

  update(uri: string): void {
    this.#expect('open');
    this.#ports.watched.changed(this.input.server, [uri]);
  }

  say(params: Readonly<Record<string, unknown>>): void {
    this.#expect('open');
    this.#ports.notified?.(this.input.server, 'notifications/message', params);
  }

  #lookAtLogLevel(): void {
    this.logLevel = this.#ports.logLevel?.() ?? this.logLevel;
  }

  #lookAtWatched(): void {
    this.watched = this.#ports.watched.of(this.input.server);
  }

  failList(failure: Failure): void {
    this.#expect('open');
    this.#send({ type: 'session.listFailed', failure });
    this.#listed();
  }

  probed(answer: 'alive' | 'unknownMethod' | 'none' = 'alive', failure?: Failure): void {
    this.#expect('open');
    this.#send({ type: 'session.probed', answer, ...(failure !== undefined && { failure }) });
  }

  notify(): void {
    this.#expect('open');
    this.#send({ type: 'session.notified' });
  }

  pause(): void {
    this.#expect('open');
    this.#send({ type: 'session.paused' });
  }

  async ask(body: QuestionBody, of?: ScriptedCall): Promise<QuestionAnswer | undefined> {
    this.#expect('open');
    const { questions } = this.#ports;
    const call = this.calls.find((each) => each === of);
    if (questions === undefined || call?.isSettled === true) return undefined;
    const controller = new AbortController();
    const wanted = call?.wanted ?? this.#wanted;
    wanted.add(controller);
    call?.deadline.hold();
    try {
      return await questions.ask(this.input.server, body, call?.party, controller.signal);
    } finally {
      call?.deadline.release();
      wanted.delete(controller);
    }
  }

  impair(reason: DegradedReason): void {
    this.#expect('open');
    this.#send({ type: 'session.impaired', reason });
  }

  recover(reason: DegradedReason): void {
    this.#expect('open');
    this.#send({ type: 'session.recovered', reason });
  }

  breakOff(): void {
    this.#expect('open');
    this.#send({ type: 'session.lost' });
  }

  fail(failure: Failure): void {
    this.#expect('opening', 'open');
    this.#withdraw(lost);
    this.#end(failure);
  }

  closed(): void {
    this.#expect('closing');
    this.#end();
  }

  dispose(): void {
    if (this.state === 'over') return;
    this.#withdraw();
    this.state = 'over';
  }

  #startClosing(): void {
    if (this.state === 'closing' || this.state === 'over') return;
    const wasIdle = this.state === 'idle';
    this.#withdraw();
    this.state = 'closing';
    // Nothing was opened, so there is nothing to wait for.
    if (wasIdle) this.#end();
  }

  #end(failure?: Failure): void {
    this.#send({ type: 'session.closed', ...(failure !== undefined && { failure }) });
    this.state = 'over';
  }

  #withdraw(failure: CallFailure = cutOff(this.input.server)): void {
    if (this.state !== 'open') return;
    this.#ports.registry.closed(this.input.actorId, this.input.session);
    for (const call of this.calls) call.fail(failure);
    for (const controller of this.#wanted) controller.abort();
  }

  #wantList(): void {
    if (this.#isListing) this.#isListWanted = true;
    this.#isListing = true;
  }

  #listed(): void {
    this.#isListing = this.#isListWanted;
    this.#isListWanted = false;
  }

  #call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
  ): Promise<Answer> {
    if (options.signal?.aborted === true) return Promise.resolve({ failure: cancelled(false) });
    if (this.state !== 'open') {
      return Promise.resolve({
        failure: { reason: 'notSent', written: false, message: 'The session is closed.' },
      });
    }
    const call = new Call(tool, args, options, this.#ports.clock);
    this.calls.push(call);
    this.#onCall(call);
    return call.outcome;
  }

  #send(fact: Body<SessionFact>): void {
    this.#sendBack({
      ...fact,
      session: this.input.session,
      at: this.#ports.clock.now(),
    } as SessionFact);
  }

  #expect(...states: SessionScript['state'][]): void {
    if (states.includes(this.state)) return;
    const { server, session } = this.input;
    throw new Error(
      `Session ${session} of "${server}" is ${this.state}, not ${states.join(' or ')}.`,
    );
  }
}

class Call implements ScriptedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outcome: Promise<Answer>;
  isSettled = false;
  /** Questions that belong to this call. */
  readonly wanted = new Set<AbortController>();
  readonly deadline: CallDeadline;
  readonly #options: SessionCallOptions;
  #resolve: (outcome: Answer) => void = () => {};
  readonly #release: () => void;

  constructor(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
    clock: SessionPorts['clock'],
  ) {
    this.tool = tool;
    this.args = args;
    this.#options = options;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const onAbort = (): void => this.fail(cancelled(true));
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const late = (): void =>
      this.fail({ reason: 'timeout', written: true, message: 'Request timed out' });
    this.deadline = new CallDeadline(clock, timeOf(options), late);
    this.#release = () => {
      options.signal?.removeEventListener('abort', onAbort);
      this.deadline.stop();
    };
  }

  get party(): QuestionParty | undefined {
    return this.#options.party;
  }

  answer(result: ToolResult | Readonly<Record<string, unknown>>): void {
    this.#settle({ result });
  }

  fail(failure: CallFailure): void {
    this.#settle({ failure });
  }

  progress(progress: CallProgress): void {
    if (this.isSettled) return;
    this.deadline.renew();
    this.#options.onProgress?.(progress);
  }

  #settle(outcome: Answer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#release();
    for (const controller of this.wanted) controller.abort();
    this.#resolve(outcome);
  }
}

function cancelled(written: boolean): CallFailure {
  return { reason: 'cancelled', written, message: 'The call was cancelled.' };
}
