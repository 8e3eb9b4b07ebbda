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
import type { TroupeError } from '../../domain/troupe-error.ts';
import {
  mayRunTwice,
  type RepeatedTool,
  type Replay,
  replayOf,
} from '../../policies/calls/replay-decision.ts';
import { defined } from '../../policies/defined.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import { asTroupeError, callErrorOf, countsForCircuit, type Subject } from '../errors/call.ts';
import {
  cancelled,
  ifNeverSent,
  outOfTime,
  overloaded,
  shuttingDown,
  tooLate,
} from '../errors/call-refusal.ts';
import type { ServerView } from '../status/board.ts';
import { CallTelemetry, type CallWatch } from '../telemetry/calls.ts';
import type { CallOptions, CallReport, RequestReport } from '../troupe.ts';
import type { Approvals } from '../user/approvals.ts';
import type { Permissions } from '../user/permissions.ts';
import { type WaitBounds, waitOnce } from '../wait-once.ts';
import { BackgroundCalls } from './background.ts';
import {
  CallPermissions,
  type CallPermissionsPorts,
  type PendingCall,
} from './call-permissions.ts';
import { gateFor, notStarted, refusalAtRest } from './gate.ts';
import { type Operation, requestOperation, toolOperation } from './operation.ts';
import { Results, type ResultsPorts, toolAnswer } from './results.ts';
import { RunningCalls, type RunningCallsPorts, sendFact } from './running-calls.ts';
import { deadlineOf, leastLeftMs, runningTimes } from './times.ts';
import type { ToolAddress } from './tool-address.ts';
import { CallSemaphore, StatusChanges } from './waiting.ts';

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

interface Done<Result, About extends Subject> extends RequestReport<Result> {
  readonly about: About;
}

interface Call extends PendingCall {
  readonly semaphore: CallSemaphore;
  readonly watch: CallWatch | undefined;
  sends: number;
  wasQueued: boolean;
  /**
   * The server's last session when this call first demanded it; null if it has not been demanded.
   */
  demandedAfter: { readonly actorId: string; readonly session: number } | null;
  /** A first attempt that was lost, and how long the call waits for a new session. */
  lost: {
    readonly handle: SessionHandle;
    readonly error: TroupeError;
    readonly replay: Replay;
    readonly untilAt: number;
  } | null;
}

export class CallDispatcher {
  readonly #ports: CallDispatcherPorts;
  readonly permissions: Permissions;
  readonly background: BackgroundCalls;
  /** Observes calls; undefined if they are not observed. */
  readonly telemetry: CallTelemetry | undefined;
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

  /** @throws TroupeError, always with an `outcome`. */
  async call(
    address: ToolAddress,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
    watch?: CallWatch,
  ): Promise<CallReport> {
    const operation = toolOperation(address, args, this.#ports.tools);
    const { board, clock } = this.#ports;
    const { backgroundAfterMs: afterMs = null } =
      board.view(address.server)?.desired.policy.call ?? {};
    let begun: Pick<Call, 'sends'> | undefined;
    const call = async (): Promise<CallReport> => {
      const done = await this.#enter(operation, options, watch, (it) => void (begun = it));
      const { tool } = done.about;
      const answer = toolAnswer(done.result, { server: done.meta.server, tool }, this.#ports);
      try {
        return { result: await this.#results.shape(answer), meta: { ...done.meta, tool } };
      } catch (error) {
        throw asTroupeError(error, done.meta.server, 'executed');
      }
    };
    if (afterMs === null) return call();
    const tool =
      operation.toolAtEntry() ?? ('tool' in address ? address.tool : address.exposedName);
    const sends = (): number => begun?.sends ?? 0;
    const followed = { server: address.server, tool, startedAt: clock.now(), sends };
    const running = call();
    watch?.follow(running);
    return this.background.follow(running, followed, afterMs);
  }

  /** @throws TroupeError, always with an `outcome`. */
  async ask<Result>(
    server: string,
    request: SessionRequest,
    options: CallOptions,
    watch?: CallWatch,
  ): Promise<RequestReport<Result>> {
    const operation = requestOperation(server, request, this.#ports.approvals);
    const { result, meta } = await this.#enter(operation, options, watch);
    // The session has checked the shape that the method requires.
    return { result: result as Result, meta };
  }

  async #enter<Result, About extends Subject>(
    operation: Operation<Result, About>,
    options: CallOptions,
    watch: CallWatch | undefined,
    onBegun?: (call: Pick<Call, 'sends'>) => void,
  ): Promise<Done<Result, About>> {
    const { clock, board, absentError } = this.#ports;
    const { server } = operation;
    const view = board.view(server);
    const status = view?.status ?? board.status(server);
    if (status === undefined) throw absentError(server);
    watch?.aimedAt(status);
    const semaphore = this.#semaphores.get(server) ?? new CallSemaphore();
    this.#semaphores.set(server, semaphore);
    const startedAt = clock.now();
    const times = { startedAt, pausedMs: 0, options };
    const call: Call = {
      server,
      semaphore,
      watch,
      ...times,
      deadlineAt: deadlineOf(times, server, view?.desired, operation.toolAtEntry()),
      sends: 0,
      wasQueued: false,
      permission: null,
      demandedAfter: null,
      lost: null,
    };
    semaphore.enter(() => overloaded(server));
    onBegun?.(call);
    try {
      return await this.#run(call, operation);
    } catch (error) {
      const failure = asTroupeError(error, server, call.sends === 0 ? 'not_executed' : 'unknown');
      // The first attempt may have run, so a later error must not report `not_executed`.
      throw call.lost?.replay === 'mayRepeat' ? ifNeverSent(failure, call.lost.error) : failure;
    } finally {
      this.#permissions.end(call);
      semaphore.leave();
      if (semaphore.isEmpty) this.#semaphores.delete(server);
    }
  }

  /** Ends every call that is still waiting with `SHUTTING_DOWN`. */
  close(): void {
    this.#isClosed = true;
    this.#permissions.close();
    this.#running.close();
  }

  async #run<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
  ): Promise<Done<Result, About>> {
    const bounds: WaitBounds = {
      clock: this.#ports.clock,
      // A question to the user extends it.
      get deadlineAt() {
        return call.deadlineAt;
      },
      signal: call.options.signal,
    };
    const changes = new StatusChanges(this.#ports.board, call.server);
    try {
      for (;;) {
        const view = this.#admit(call);
        if (this.#permissions.isWaiting(call, operation, view)) {
          call.watch?.held('permission');
          await this.#permissions.answered(call);
          continue;
        }
        const done = view === null ? null : await this.#inTurn(call, operation, bounds);
        if (done !== null) return done;
        // Watching began before this check, so no change is missed.
        if (changes.isNews() || call.permission?.isAsking === true) continue;
        const { clock, signal } = bounds;
        const givenUntilAt = call.lost?.untilAt ?? 0;
        // Once past, it must not wake the call again: a backoff may last much longer.
        const isGivenTime = clock.now() < givenUntilAt;
        const deadlineAt = isGivenTime ? Math.min(call.deadlineAt, givenUntilAt) : call.deadlineAt;
        call.watch?.held('wait', this.#ports.board.status(call.server)?.state);
        await waitOnce({ clock, signal, deadlineAt }, (wake) => changes.onNext(wake));
      }
    } finally {
      changes.end();
    }
  }

  /** Sends the call once the semaphore admits it. Returns null if it must be checked again. */
  async #inTurn<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
    bounds: WaitBounds,
  ): Promise<Done<Result, About> | null> {
    const { semaphore } = call;
    if (!semaphore.tryAcquire()) {
      call.wasQueued = true;
      call.watch?.held('queue');
      if (!(await semaphore.acquire(bounds))) return null;
    }
    try {
      return await this.#send(call, operation);
    } finally {
      semaphore.release();
    }
  }

  /** Returns the server to send to, or null to wait for a change; throws a refusal. */
  #admit(call: Call): ServerView | null {
    const { board, clock, absentError } = this.#ports;
    const { server } = call;
    if (this.#isClosed) throw shuttingDown(server);
    if (call.options.signal?.aborted === true) throw cancelled(server);
    const remainingMs = call.deadlineAt - clock.now();
    const status = board.status(server);
    if (status === undefined) throw absentError(server);
    if (remainingMs <= 0) throw call.lost?.error ?? outOfTime(server, status);
    const view = board.view(server);
    if (view === undefined || view.leaving) return null;
    const gate = gateFor(view.callStatus, {
      wallNowMs: clock.wallNow(),
      remainingMs,
      circuitUntilMs: view.circuitUntilMs,
    });
    if (gate.pass === 'refuse') throw gate.error;
    if (gate.pass === 'go' && this.#handleFor(call, view) !== undefined) return view;
    if (gate.pass === 'wait' && gate.demand) this.#demand(call, view);
    return null;
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

  #handleFor(call: Call, view: ServerView) {
    const handle = this.#ports.sessions.get(view.actorId);
    const { lost } = call;
    const isGivenTime = lost !== null && this.#ports.clock.now() < lost.untilAt;
    return handle === lost?.handle && isGivenTime ? undefined : handle;
  }

  /** Sends the call once. Returns null if it provably never ran and may be retried. */
  async #send<Result, About extends Subject>(
    call: Call,
    operation: Operation<Result, About>,
  ): Promise<Done<Result, About> | null> {
    const { clock } = this.#ports;
    // Time may have passed in the queue, so the gate decides again just before sending.
    const view = this.#admit(call);
    const handle = view === null ? undefined : this.#handleFor(call, view);
    if (view === null || handle === undefined) return null;
    const about = operation.find(view);
    // The rules may have changed since the call began or was allowed.
    if (!this.#permissions.isAllowed(call, operation, view, about.shown)) return null;
    this.#refuseAtLast(call, view, about);
    const now = clock.now();
    const { desired } = view;
    const { session } = handle;
    const { signal, onProgress, round, requestId, onQuestion, client } = call.options;
    call.sends += 1;
    call.watch?.found(about.tool);
    const options: SessionCallOptions = {
      ...runningTimes(call, { deadlineAt: call.deadlineAt, now }, desired, about.tool),
      // The party that answers the server's questions about this call.
      party: defined({ tool: about.tool, requestId, onQuestion, client }),
      ...defined({ signal, onProgress, round }),
    };
    this.#running.began(handle, view);
    const sent =
      call.watch === undefined
        ? operation.perform(handle, about, options)
        : call.watch.send((meta) => operation.perform(handle, about, { ...options, ...meta }));
    const answer = await sent.finally(() => {
      this.#running.ended(handle);
    });
    if ('failure' in answer) return this.#fail(call, view, handle, about, answer.failure);
    if (this.#ports.board.view(view.status.name)?.countsFailures === true)
      sendFact(view, { type: 'call.succeeded', session });
    return {
      result: answer.result,
      about,
      meta: {
        server: view.status.name,
        attempts: call.sends,
        durationMs: Math.round(clock.now() - call.startedAt),
      },
    };
  }

  /**
   * Refuses the call because of something that may have changed since it was first sent or queued.
   */
  #refuseAtLast(call: Call, view: ServerView, about: Subject): void {
    const { desired } = view;
    const tool = this.#repeatedTool(view, about);
    if (call.lost?.replay === 'mayRepeat' && !mayRunTwice(desired.policy.call.replay, tool)) {
      throw call.lost.error;
    }
    // A tool called by its exposed name may become known only now, and may have its own deadline.
    call.deadlineAt = deadlineOf(call, call.server, desired, about.tool);
    const leftMs = call.deadlineAt - this.#ports.clock.now();
    if (leftMs < leastLeftMs(call.startedAt, call.deadlineAt)) {
      throw call.lost?.error ?? tooLate(call.server, call.wasQueued);
    }
  }

  #fail(
    call: Call,
    view: ServerView,
    handle: SessionHandle,
    about: Subject,
    failure: CallFailure,
  ): null {
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
