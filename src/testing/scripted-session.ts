/**
 * Connections that a test drives, below the real session chart.
 *
 * They replace the leaf actors in `actors/session/leaf-actors.ts`, and the same contract suite covers
 * both: ports are called in the same order, nothing is reported after disposal, and every call settles. Each
 * step completes synchronously when the test requests it.
 */

import { fromCallback, fromPromise, type PromiseActorLogic } from 'xstate';
import type { SessionActors } from '../../actors/session/leaf-actors.ts';
import type { SessionPorts } from '../../actors/session/ports.ts';
import type { SideLists } from '../domain/catalog.ts';
import type { Failure } from '../domain/failure.ts';
import type { LogLevel } from '../domain/log-level.ts';
import type { QuestionAnswer, QuestionBody } from '../domain/question.ts';
import type { DegradedReason } from '../domain/server-state.ts';
import type {
  CallFailure,
  CallProgress,
  CloseOutcome,
  ConnectOutcome,
  ListName,
  ListOutcome,
  ProbeAnswer,
  SessionCallOptions,
  SessionHandle,
  SessionId,
  WireCommand,
  WireFact,
} from '../domain/session.ts';
import type { ListedTool, ToolResult } from '../domain/tool.ts';
import { nameHint } from '../policies/text/closest-name.ts';
import { Deadline, Deadlines } from '../protocol/deadlines.ts';
import { methods } from '../protocol/methods.ts';
import type {
  ScriptedCall,
  ScriptedCommand,
  ScriptedOpening,
  ScriptedSessions,
  SessionScript,
} from './session-script.ts';

/** The real ports that a scripted session needs. */
export type ScriptedSessionPorts = Pick<
  SessionPorts,
  'clock' | 'registry' | 'catalogs' | 'watched' | 'logLevel' | 'notified' | 'questions'
>;

/** The sessions of one test, with the actors that the runtime needs. */
export interface ScriptedSessionSource extends ScriptedSessions {
  /** Creates leaf actors to provide in place of the real ones. */
  createActors(ports: ScriptedSessionPorts): SessionActors;
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
      if (script === undefined) throw notStarted(server, scripts);
      return script;
    },
    createActors: (ports) => createScriptedActors(ports, sessions, scripts),
  };
  return sessions;
}

function notStarted(server: string, scripts: readonly SessionScript[]): Error {
  const started = [...new Set(scripts.map(({ input }) => input.server))].sort();
  const remedy = nameHint(
    server,
    started,
    started.length === 0
      ? "Sessions start in the troupe's first steps: await settle() before sessions.of()."
      : `Started are: ${started.join(', ')}. If it starts later, await settle() first.`,
  );
  return new Error(`No session of "${server}" was started. ${remedy}`);
}

/** Creates a step that is completed from outside, synchronously. */
function answered<Output, Input>(
  ask: (input: Input, answer: (output: Output) => void) => void,
): PromiseActorLogic<Output, Input> {
  return {
    ...fromPromise<Output, Input>(() => new Promise<never>(() => {})),
    transition: (state, event) => {
      if (state.status !== 'active') return state;
      if (event.type === 'xstate.stop') return { ...state, status: 'stopped', input: undefined };
      if (event.type !== 'answered') return state;
      const { output } = event as unknown as { readonly output: Output };
      return { ...state, status: 'done', output, input: undefined };
    },
    start: ({ input }, { self }) => {
      ask(input as Input, (output) => {
        // The chart may have left the asking state.
        if (self.getSnapshot().status === 'active')
          self.send({ type: 'answered', output } as unknown as { type: string });
      });
    },
  };
}

function createScriptedActors(
  ports: ScriptedSessionPorts,
  sessions: ScriptedSessions,
  scripts: SessionScript[],
): SessionActors {
  const running = new Map<string, Script>();
  return {
    wire: fromCallback<WireCommand, SessionId>(({ input, sendBack, receive }) => {
      const script = new Script(input, ports, sendBack, sessions);
      scripts.push(script);
      running.set(input.actorId, script);
      sessions.onStart?.(script);
      receive(({ type }) => {
        if (type === 'wire.probe') script.probe();
        else if (type === 'wire.abandon') script.abandon();
        else if (type === 'wire.kill') {
          sendBack({ type: 'wire.killed', at: ports.clock.now() });
          script.noteCommand('session.kill');
        }
      });
      return () => {
        if (running.get(input.actorId) === script) running.delete(input.actorId);
        script.dispose();
      };
    }),
    resolveTarget: answered((_, answer) =>
      answer({ type: 'resolved', hasProcess: false, asksEra: false }),
    ),
    launchProcess: answered((_, answer) => answer({ type: 'launched' })),
    connectClient: answered(({ actorId }, answer) => running.get(actorId)?.connect(answer)),
    listItems: answered(({ actorId, list }, answer) =>
      running.get(actorId)?.takeList(list, answer),
    ),
    closeConnection: answered(({ actorId }, answer) => running.get(actorId)?.close(answer)),
  };
}

class Script implements SessionScript {
  readonly input: SessionId;
  readonly commands: ScriptedCommand[] = [];
  readonly calls: Call[] = [];
  state: SessionScript['state'] = 'idle';
  watched: readonly string[] = [];
  logLevel: LogLevel | undefined;
  readonly #ports: ScriptedSessionPorts;
  readonly #report: (fact: WireFact) => void;
  readonly #sessions: ScriptedSessions;
  readonly #deadlines: Deadlines;
  /** Questions that belong to no call. */
  readonly #wanted = new Set<AbortController>();
  #onConnected: ((outcome: ConnectOutcome) => void) | undefined;
  #onListed: ((outcome: ListOutcome) => void) | undefined;
  readonly #onOffered = new Map<ListName, (outcome: ListOutcome) => void>();
  #unasked: ListOutcome | undefined;
  #onClosed: ((outcome: CloseOutcome) => void) | undefined;
  #hasFailedProbe = false;

  constructor(
    input: SessionId,
    ports: ScriptedSessionPorts,
    report: (fact: WireFact) => void,
    sessions: ScriptedSessions,
  ) {
    this.input = input;
    this.#ports = ports;
    this.#deadlines = new Deadlines(ports.clock);
    this.#report = report;
    this.#sessions = sessions;
  }

  noteCommand(type: ScriptedCommand): void {
    this.commands.push(type);
    this.#sessions.onCommand?.(this, { type });
  }

  probe(): void {
    this.#hasFailedProbe = false;
    this.noteCommand('session.probe');
  }

  abandon(): void {
    this.noteCommand('session.abandon');
    const isBusy = !this.#hasFailedProbe && this.calls.some(({ isSettled }) => !isSettled);
    if (this.state === 'open' && !isBusy) this.#end('wire.lost', silence);
  }

  connect(answer: (outcome: ConnectOutcome) => void): void {
    this.state = 'opening';
    this.#onConnected = answer;
    this.noteCommand('session.open');
  }

  /** Only tools are listed by a command; `offer` hands over the other lists. */
  takeList(list: ListName, answer: (outcome: ListOutcome) => void): void {
    if (list !== 'tools') return void this.#onOffered.set(list, answer);
    const unasked = this.#unasked;
    this.#unasked = undefined;
    if (unasked !== undefined) return answer(unasked);
    this.#onListed = answer;
    this.noteCommand('session.list');
  }

  close(answer: (outcome: CloseOutcome) => void): void {
    this.#onClosed = answer;
    if (this.state === 'over') return answer({ at: this.#ports.clock.now(), evidence: {} });
    this.#stop();
    this.state = 'closing';
    this.noteCommand('session.close');
  }

  open({ profile, era = 'legacy', pid, offers: asked = [] }: ScriptedOpening = {}): void {
    this.#expect('opening');
    this.state = 'open';
    const { actorId, server, session } = this.input;
    const { registry, watched, logLevel } = this.#ports;
    const handle: SessionHandle = {
      session,
      profile,
      // The test provides a result that fits the request.
      callTool: (tool, args, callOptions) =>
        this.#call(tool, args, callOptions) as ReturnType<SessionHandle['callTool']>,
      request: ({ kind, params }, callOptions) =>
        this.#call(methods[kind].name, { ...params }, callOptions) as ReturnType<
          SessionHandle['request']
        >,
      reconcileWatched: () => {
        this.watched = watched.of(server);
      },
      reconcileLogLevel: () => {
        this.logLevel = logLevel?.() ?? this.logLevel;
      },
    };
    registry.opened(actorId, handle);
    handle.reconcileWatched();
    handle.reconcileLogLevel();
    const offers = { resources: asked.includes('resources'), prompts: asked.includes('prompts') };
    const at = this.#ports.clock.now();
    this.#onConnected?.({ type: 'connected', at, era, ...(pid !== undefined && { pid }), offers });
  }

  list(tools: readonly ListedTool[], said: { readonly instructions?: string } = {}): void {
    this.#expect('open');
    this.#ports.catalogs.put(this.input, tools, said);
    const at = this.#ports.clock.now();
    this.#settleList({ type: 'listed', at, count: tools.length, gap: null });
  }

  /** Answers the list request in progress; an unrequested list is reported as a change and listed next. */
  #settleList(outcome: ListOutcome): void {
    const answer = this.#onListed;
    this.#onListed = undefined;
    if (answer !== undefined) return answer(outcome);
    this.#unasked = outcome;
    this.#report({ type: 'tools.changed' });
  }

  offer(lists: Partial<SideLists>): void {
    this.#expect('open');
    this.#ports.catalogs.putSide(this.input, lists);
    const at = this.#ports.clock.now();
    for (const [list, answer] of [...this.#onOffered]) {
      if (lists[list as 'resources' | 'prompts'] === undefined) continue;
      this.#onOffered.delete(list);
      answer({ type: 'listed', at, count: 0, gap: null });
    }
  }

  update(uri: string): void {
    this.#expect('open');
    this.#ports.watched.changed(this.input.server, [uri]);
  }

  say(params: Readonly<Record<string, unknown>>): void {
    this.#expect('open');
    this.#ports.notified?.(this.input.server, methods.logMessage.name, params);
  }

  failList(failure: Failure): void {
    this.#expect('open');
    this.#settleList({ type: 'failed', failure });
  }

  probed(answer: ProbeAnswer = 'alive', failure?: Failure): void {
    this.#hasFailedProbe = answer === 'none';
    this.#reportOpen({ type: 'wire.probed', answer, ...(failure !== undefined && { failure }) });
  }

  doubt(): void {
    this.#reportOpen({ type: 'wire.doubted' });
  }

  notify(): void {
    this.#reportOpen({ type: 'tools.changed' });
  }

  pause(): void {
    this.#reportOpen({ type: 'wire.paused' });
  }

  async ask(body: QuestionBody, of?: ScriptedCall): Promise<QuestionAnswer | undefined> {
    this.#expect('open');
    const { questions } = this.#ports;
    const call = this.calls.find((each) => each === of);
    if (questions === undefined || call?.isSettled === true) return undefined;
    const controller = new AbortController();
    const wanted = call?.wanted ?? this.#wanted;
    wanted.add(controller);
    call?.hold();
    try {
      return await questions.ask(this.input.server, body, call?.options.party, controller.signal);
    } finally {
      call?.release();
      wanted.delete(controller);
    }
  }

  impair(reason: DegradedReason): void {
    this.#reportOpen({ type: 'wire.impaired', reason });
  }

  recover(reason: DegradedReason): void {
    this.#reportOpen({ type: 'wire.recovered', reason });
  }

  breakOff(): void {
    this.#reportOpen({ type: 'wire.broke' });
  }

  fail(failure: Failure): void {
    this.#expect('opening', 'open');
    this.#end('wire.ended', failure);
  }

  #end(type: 'wire.ended' | 'wire.lost', failure: Failure): void {
    this.#withdraw('crashed', 'The session ended before the answer.');
    this.state = 'over';
    const at = this.#ports.clock.now();
    this.#report({ type, at, failure, isGone: true, drains: false });
  }

  closed(): void {
    this.#expect('closing');
    this.state = 'over';
    this.#onClosed?.({ at: this.#ports.clock.now(), evidence: {} });
  }

  dispose(): void {
    this.#stop();
    this.state = 'over';
  }

  #stop(): void {
    this.#withdraw('cancelled', `${this.input.server} was stopped during the call.`);
  }

  #withdraw(reason: 'crashed' | 'cancelled', message: string): void {
    if (this.state !== 'open') return;
    this.#ports.registry.closed(this.input.actorId, this.input.session);
    for (const call of this.calls) call.fail({ reason, written: true, message });
    for (const controller of this.#wanted) controller.abort();
  }

  #call(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
  ): Promise<Answer> {
    const notSent = (reason: 'cancelled' | 'notSent', message: string): Promise<Answer> =>
      Promise.resolve({ failure: { reason, written: false, message } });
    if (options.signal?.aborted === true) return notSent('cancelled', cancelled);
    if (this.state !== 'open') return notSent('notSent', 'The session is closed.');
    const call = new Call(tool, args, options, this.#deadlines);
    this.calls.push(call);
    this.#sessions.onCall?.(this, call);
    return call.outcome;
  }

  #reportOpen(fact: WireFact): void {
    this.#expect('open');
    this.#report(fact);
  }

  #expect(...states: SessionScript['state'][]): void {
    if (states.includes(this.state)) return;
    const { server, session } = this.input;
    throw new Error(
      `Session ${session} of "${server}" is ${this.state}, not ${states.join(' or ')}.`,
    );
  }
}

const cancelled = 'The call was cancelled.';
const silence: Failure = { kind: 'transport', message: 'The server did not answer any more.' };

/** How a call ended. */
type Answer = { readonly result: object } | { readonly failure: CallFailure };

class Call extends Deadline implements ScriptedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outcome: Promise<Answer>;
  isSettled = false;
  /** Questions that belong to this call. */
  readonly wanted = new Set<AbortController>();
  readonly options: SessionCallOptions;
  readonly #deadlines: Deadlines;
  #resolve: (outcome: Answer) => void = () => {};
  readonly #onAbort = (): void =>
    this.fail({ reason: 'cancelled', written: true, message: cancelled });

  constructor(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
    deadlines: Deadlines,
  ) {
    super(deadlines, options);
    this.#deadlines = deadlines;
    this.tool = tool;
    this.args = args;
    this.options = options;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    deadlines.add(this);
  }

  override onLate(): void {
    this.fail({ reason: 'timeout', written: true, message: 'Request timed out' });
  }

  answer(result: ToolResult | Readonly<Record<string, unknown>>): void {
    this.#settle({ result });
  }

  fail(failure: CallFailure): void {
    this.#settle({ failure });
  }

  progress(progress: CallProgress): void {
    if (this.isSettled) return;
    this.renew();
    this.options.onProgress?.(progress);
  }

  #settle(outcome: Answer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.options.signal?.removeEventListener('abort', this.#onAbort);
    this.#deadlines.remove(this);
    for (const controller of this.wanted) controller.abort();
    this.#resolve(outcome);
  }
}
