/**
 * Dispatches calls, reads and other requests to servers: finds the server, waits for the gate,
 * sends the request and reports its outcome.
 *
 * Payloads never pass through a chart. A call that has to wait is keyed by the server's name, is
 * checked again at every status change and at its own deadline, and holds no server actor. It is
 * sent once, and a second time only if the first provably never ran or a second run is accepted.
 */

import type { OpenTelemetry } from '../../../actors/host/open-telemetry.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { ToolResult } from '../../domain/tool.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { mayRunTwice, type RepeatedTool, replayOf } from '../../policies/calls/replay-decision.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import { asTroupeError, callErrorOf, countsForCircuit, type Subject } from '../errors/failed.ts';
import { cancelled, outOfTime, overloaded, shuttingDown, tooLate } from '../errors/refused.ts';
import type { ServerView } from '../status/board.ts';
import { CallTelemetry, type CallWatch } from '../telemetry/calls.ts';
import type { CallOptions, CallReport, RequestReport } from '../troupe.ts';
import type { Approvals } from '../user/approvals.ts';
import type { Permissions } from '../user/permissions.ts';
import { waitOnce } from '../wait-once.ts';
import { BackgroundCalls } from './background.ts';
import { boundsOf, type Call, type Done, errorOf, type Hold, type Target } from './call.ts';
import { CallPermissions, type CallPermissionsPorts } from './call-permissions.ts';
import { CallSemaphore } from './concurrency-limit.ts';
import { gateFor, notStarted, refusalAtRest, StatusChanges } from './gate.ts';
import { type Operation, requestOperation, ToolOperation, type ToolSubject } from './operation.ts';
import { Results, type ResultsPorts, toolAnswer } from './results.ts';
import { RunningCalls, type RunningCallsPorts, sendFact } from './running-calls.ts';
import { deadlineOf, leastLeftMs, sessionLimits } from './time-limits.ts';
import type { ToolAddress } from './tool-address.ts';

export interface CallDispatcherPorts extends CallPermissionsPorts, RunningCallsPorts, ResultsPorts {
  readonly tools: ToolList;
  readonly approvals: Approvals;
  /** The error for a name that no server has. */
  readonly absentError: (server: string) => TroupeError;
  readonly telemetry?: OpenTelemetry | undefined;
}

// One second: a session that lost a request usually closes immediately. One that is still
// open afterwards is healthy and may be used again.
const replacementMs = 1_000;

export class CallDispatcher {
  readonly #ports: CallDispatcherPorts;
  readonly permissions: Permissions;
  readonly background: BackgroundCalls;
  /** Observes calls; undefined if they are not observed. */
  readonly telemetry: CallTelemetry | undefined;
  /** Of each server that was ever called, like the totals of the running calls. */
  readonly #semaphores = new Map<string, CallSemaphore>();
  readonly #running: RunningCalls;
  readonly #results: Results;
  readonly #lostHandles = new WeakSet<SessionHandle>();
  readonly #permissions: CallPermissions;
  #isClosed = false;

  constructor(ports: CallDispatcherPorts) {
    this.#ports = ports;
    this.permissions = ports.permissions;
    this.telemetry = ports.telemetry && new CallTelemetry(ports.telemetry, ports.clock);
    this.#permissions = new CallPermissions(ports);
    this.background = new BackgroundCalls(ports.clock);
    this.#running = new RunningCalls(ports);
    this.#results = new Results(ports);
  }

  /** Returns the number of requests sent to a server. */
  countOf(server: string): number {
    return this.#running.countOf(server);
  }

  /** Returns the servers whose calls may move to the background. */
  backgroundServers(): readonly string[] {
    return this.#ports.board
      .views()
      .filter(({ desired }) => desired.policy.call.backgroundAfterMs !== null)
      .map(({ status }) => status.name);
  }

  /** Rejects with a TroupeError, always with an `outcome`. */
  call(
    address: ToolAddress,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
    watch?: CallWatch,
  ): Promise<CallReport> {
    const { board, clock, tools } = this.#ports;
    const operation = new ToolOperation(address, args, tools);
    const { server } = address;
    const afterMs = board.view(server)?.desired.policy.call.backgroundAfterMs ?? null;
    if (afterMs === null) return this.#enter(operation, options, watch, this.#reportTool);
    const tool =
      operation.toolAtEntry() ?? ('tool' in address ? address.tool : address.exposedName);
    let begun: Pick<Call, 'sends'> | undefined;
    const running = this.#enter(operation, options, watch, this.#reportTool, (call) => {
      begun = call;
    });
    watch?.follow(running);
    const sends = (): number => begun?.sends ?? 0;
    return this.background.follow(
      running,
      { server, tool, startedAt: clock.now(), sends, user: options.client?.user ?? '' },
      afterMs,
    );
  }

  /** Rejects with a TroupeError, always with an `outcome`. */
  ask<Result>(
    server: string,
    request: SessionRequest,
    options: CallOptions,
    watch?: CallWatch,
  ): Promise<RequestReport<Result>> {
    const operation = requestOperation(server, request, this.#ports.approvals);
    return this.#enter(operation, options, watch, ({ result, meta }) => ({
      // The session has checked the shape that the method requires.
      result: result as Result,
      meta,
    }));
  }

  readonly #reportTool = (
    done: Done<ToolResult, ToolSubject>,
  ): CallReport | Promise<CallReport> => {
    const { server } = done.meta;
    const { tool } = done.about;
    try {
      const shaped = this.#results.shape(toolAnswer(done.result, { server, tool }, this.#ports));
      const { attempts, durationMs } = done.meta;
      const meta = { server, tool, attempts, durationMs };
      if (!(shaped instanceof Promise)) return { result: shaped, meta };
      return shaped.then(
        (result) => ({ result, meta }),
        (error: unknown) => {
          throw asTroupeError(error, server, 'executed');
        },
      );
    } catch (error) {
      throw asTroupeError(error, server, 'executed');
    }
  };

  /** Sends a call now if nothing stands in its way; otherwise waits first. */
  #enter<Result, About extends Subject, Report>(
    operation: Operation<Result, About>,
    options: CallOptions,
    watch: CallWatch | undefined,
    report: (done: Done<Result, About>) => Report | Promise<Report>,
    onBegun?: (call: Pick<Call, 'sends'>) => void,
  ): Promise<Report> {
    let call: Call;
    try {
      call = this.#begin(operation, options, watch);
    } catch (error) {
      return Promise.reject(error as TroupeError);
    }
    onBegun?.(call);
    const failed = (error: unknown): never => {
      this.#end(call);
      throw errorOf(call, error);
    };
    const later = (hold: Hold): Promise<Report> =>
      this.#sentLater(call, operation, hold).then(
        (done) => this.#ended(call, done, report),
        failed,
      );
    try {
      const step = this.#attempt(call, operation, call.startedAt);
      if (typeof step === 'string') return later(step);
      return step.then(
        (done) => (done === null ? later('wait') : this.#ended(call, done, report)),
        failed,
      );
    } catch (error) {
      this.#end(call);
      return Promise.reject(errorOf(call, error));
    }
  }

  #ended<Answer, Report>(call: Call, done: Answer, report: (done: Answer) => Report): Report {
    this.#end(call);
    return report(done);
  }

  #begin(operation: Operation<unknown, Subject>, options: CallOptions, watch?: CallWatch): Call {
    const { clock, board, absentError } = this.#ports;
    const { server } = operation;
    const view = board.view(server);
    const status = view?.status ?? board.status(server);
    if (status === undefined) throw absentError(server);
    watch?.aimedAt(status);
    let semaphore = this.#semaphores.get(server);
    if (semaphore === undefined) {
      semaphore = new CallSemaphore();
      this.#semaphores.set(server, semaphore);
    }
    const startedAt = clock.now();
    const times = { startedAt, pausedMs: 0, options };
    const call: Call = {
      server,
      semaphore,
      watch,
      startedAt,
      pausedMs: 0,
      options,
      deadlineAt: deadlineOf(times, server, view?.desired, operation.toolAtEntry()),
      isActive: false,
      changes: undefined,
      sends: 0,
      wasQueued: false,
      permission: null,
      demandedAfter: null,
      lost: null,
    };
    semaphore.enter(() => overloaded(server));
    return call;
  }

  #end(call: Call): void {
    const { semaphore } = call;
    call.changes?.end();
    this.#permissions.end(call);
    semaphore.leave();
  }

  /** Ends every call that is still waiting with `SHUTTING_DOWN`. */
  close(): void {
    this.#isClosed = true;
    this.#permissions.close();
    this.#running.close();
  }

  /** Waits and tries again until the call has been answered. */
  async #sentLater<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
    first: Hold,
  ): Promise<Done<Result, About>> {
    for (let hold = first; ; ) {
      await this.#wait(call, hold);
      const step = this.#attempt(call, operation, this.#ports.clock.now());
      if (typeof step !== 'string') {
        const done = await step;
        if (done !== null) return done;
      }
      hold = typeof step === 'string' ? step : 'wait';
    }
  }

  /**
   * Sends the call unless it has to wait, and says why. Resolves with null if it provably never ran
   * and may be retried.
   */
  #attempt<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
    now: number,
  ): Promise<Done<Result, About> | null> | Hold {
    try {
      const admitted = this.#admit(call, now);
      if (typeof admitted === 'string') return this.#released(call, admitted);
      const { view, handle } = admitted;
      if (this.#permissions.isWaiting(call, operation, view))
        return this.#released(call, 'permission');
      if (!call.isActive && !call.semaphore.tryAcquire()) return 'queue';
      call.isActive = true;
      const about = operation.find(view);
      // The rules may have changed since the call began or was allowed.
      if (!this.#permissions.isAllowed(call, operation, view, about.shown))
        return this.#released(call, 'wait');
      const sentAt = this.#ports.clock.now();
      this.#refuseAtLast(call, view, about, sentAt);
      return this.#send(call, operation, { view, handle, about, sentAt });
    } catch (error) {
      this.#released(call, 'wait');
      throw error;
    }
  }

  #released(call: Call, hold: Hold): Hold {
    if (call.isActive) call.semaphore.release();
    call.isActive = false;
    return hold;
  }

  async #wait(call: Call, hold: Hold): Promise<void> {
    const { board, clock } = this.#ports;
    const { semaphore, watch } = call;
    if (hold === 'permission') {
      watch?.held('permission');
      return this.#permissions.answered(call);
    }
    if (hold === 'queue') {
      call.wasQueued = true;
      watch?.held('queue');
      const { deadlineAt, options } = call;
      call.isActive = await semaphore.acquire({ clock, deadlineAt, signal: options.signal });
      if (call.isActive) return;
    }
    call.changes ??= new StatusChanges(board, call.server);
    const { changes } = call;
    // Watching began before this check, so no change is missed.
    if (changes.isNews() || call.permission?.isAsking === true) return;
    watch?.held('wait', board.status(call.server)?.state);
    await waitOnce(boundsOf(call, hold, clock), (wake) => changes.onNext(wake));
  }

  /** Returns the server and session to send to, or what the call waits for; throws a refusal. */
  #admit(call: Call, now: number): Pick<Target<Subject>, 'view' | 'handle'> | Hold {
    const { board, clock, absentError } = this.#ports;
    const { server } = call;
    if (this.#isClosed) throw shuttingDown(server);
    if (call.options.signal?.aborted === true) throw cancelled(server);
    const remainingMs = call.deadlineAt - now;
    const status = board.status(server);
    if (status === undefined) throw absentError(server);
    if (remainingMs <= 0) throw call.lost?.error ?? outOfTime(server, status);
    const view = board.view(server);
    if (view === undefined || view.leaving) return 'wait';
    const gate = gateFor(view.callStatus, {
      wallNowMs: clock.wallNow(),
      remainingMs,
      circuitUntilMs: view.circuitUntilMs,
    });
    if (gate.pass === 'refuse') throw gate.error;
    if (gate.pass === 'wait' && gate.demand) this.#demand(call, view);
    return gate.pass === 'go' ? this.#sessionFor(call, view) : 'wait';
  }

  #sessionFor({ lost }: Call, view: ServerView): Pick<Target<Subject>, 'view' | 'handle'> | Hold {
    const handle = this.#ports.sessions.get(view.actorId);
    if (handle === undefined) return 'wait';
    const isGivenTime = handle === lost?.handle && this.#ports.clock.now() < lost.untilAt;
    return isGivenTime ? 'replacement' : { view, handle };
  }

  /**
   * Demands the server once for this call; repeated demands would restart a server that fails
   * immediately forever.
   */
  #demand(call: Call, { callStatus, actorId, session, ref }: ServerView): void {
    if (callStatus.state === 'dormant' || callStatus.state === 'failed') {
      const { demandedAfter } = call;
      const hasTried = demandedAfter?.actorId === actorId && session > demandedAfter.session;
      if (hasTried && callStatus.lastError !== undefined)
        throw refusalAtRest(callStatus) ?? notStarted(callStatus);
      call.demandedAfter ??= { actorId, session };
    }
    ref.send({ type: 'server.demanded' });
  }

  #send<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
    target: Target<About>,
  ): Promise<Done<Result, About> | null> {
    const { view, handle, about, sentAt: now } = target;
    const { signal, onProgress, round, requestId, onQuestion, client } = call.options;
    const { deadlineAt } = call;
    const limits = sessionLimits(call, { deadlineAt, now }, view.desired, about.tool);
    call.sends += 1;
    call.watch?.found(about.tool);
    const options: SessionCallOptions = {
      deadlineAt: limits.deadlineAt,
      questionsMs: limits.questionsMs,
      renewal: limits.renewal,
      // The party that answers the server's questions about this call.
      party: { tool: about.tool, requestId, onQuestion, client },
      signal,
      onProgress,
      round,
      meta: call.options.meta,
    };
    this.#running.began(handle, view);
    const answered =
      call.watch === undefined
        ? operation.perform(handle, about, options)
        : call.watch.send(options, (traced) => operation.perform(handle, about, traced));
    return answered.then(
      (answer) => {
        const endedAt = this.#ports.clock.now();
        this.#running.ended(handle, endedAt);
        this.#released(call, 'wait');
        return 'failure' in answer
          ? this.#fail(call, target, answer.failure)
          : this.#succeed(call, target, answer.result, endedAt);
      },
      (error: unknown) => {
        this.#running.ended(handle, this.#ports.clock.now());
        this.#released(call, 'wait');
        throw error;
      },
    );
  }

  #succeed<Result, About extends Subject>(
    { sends, startedAt }: Call,
    { view, handle, about }: Target<About>,
    result: Result,
    endedAt: number,
  ): Done<Result, About> {
    const { name: server } = view.status;
    const { session } = handle;
    if (this.#ports.board.view(server)?.countsFailures === true)
      sendFact(view, { type: 'call.succeeded', session });
    const durationMs = Math.round(endedAt - startedAt);
    return { result, about, meta: { server, attempts: sends, durationMs } };
  }

  /**
   * Refuses the call because of something that may have changed since it was first sent or queued.
   */
  #refuseAtLast(call: Call, view: ServerView, about: Subject, now: number): void {
    const { desired } = view;
    const { lost } = call;
    if (
      lost?.replay === 'mayRepeat' &&
      !mayRunTwice(desired.policy.call.replay, this.#repeatedTool(view, about))
    )
      throw lost.error;
    // A tool called by its exposed name may become known only now, and may have its own deadline.
    call.deadlineAt = deadlineOf(call, call.server, desired, about.tool);
    const leftMs = call.deadlineAt - now;
    if (leftMs < leastLeftMs(call.startedAt, call.deadlineAt)) {
      throw lost?.error ?? tooLate(call.server, call.wasQueued);
    }
  }

  #fail(call: Call, { view, handle, about }: Target<Subject>, failure: CallFailure): null {
    const { counts } = view.desired.policy.breaker;
    if (countsForCircuit(failure, counts) && this.#isNews(view, handle)) {
      const at = this.#ports.clock.now();
      sendFact(view, { type: 'call.failed', session: handle.session, at });
    }
    const error = callErrorOf(failure, view.status.name, about);
    const { replay: rule } = view.desired.policy.call;
    const tool = this.#repeatedTool(view, about);
    const replay = replayOf({ failure, sends: call.sends, rule, tool });
    call.watch?.lost(error, replay);
    if (replay === 'no') throw error;
    call.lost = { handle, error, replay, untilAt: this.#ports.clock.now() + replacementMs };
    return null;
  }

  /**
   * One lost session counts as one failure, however many calls it ended; otherwise a
   * single crash during a burst of calls would open the circuit.
   */
  #isNews(view: ServerView, handle: SessionHandle): boolean {
    if (this.#ports.sessions.get(view.actorId) === handle) return true;
    if (this.#lostHandles.has(handle)) return false;
    this.#lostHandles.add(handle);
    return true;
  }

  #repeatedTool({ desired }: ServerView, { shown }: Subject): RepeatedTool {
    const isTrusted = this.#ports.permissions.isTrusted(desired);
    return { isTrusted, annotations: shown?.annotations };
  }
}
