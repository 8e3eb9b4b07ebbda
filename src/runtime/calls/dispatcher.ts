/**
 * Dispatches calls, reads and other requests to servers: finds the server, waits for the gate,
 * sends the request and reports its outcome.
 *
 * Payloads never pass through a chart. A call that has to wait is keyed by the server's name, is
 * checked again at every status change and at its own deadline, and holds no server actor. It is
 * sent once, and a second time only if the first provably never ran or a second run is accepted.
 */

import type { OpenTelemetry } from '../../../actors/host/open-telemetry.ts';
import type { SessionRequest } from '../../domain/session.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import type { ToolResult } from '../../domain/tool.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { ToolAddress } from '../catalog/tool-names.ts';
import type { DesiredBook } from '../desired/book.ts';
import { asTroupeError, type Subject } from '../errors/failed.ts';
import { cancelled, outOfTime, overloaded, shuttingDown, tooLate } from '../errors/refused.ts';
import type { ServerView } from '../status/board.ts';
import { CallTelemetry } from '../telemetry/calls.ts';
import type { CallOptions, CallReport, RequestReport, TroupeOptions } from '../troupe.ts';
import type { Approvals } from '../user/approvals.ts';
import type { Permissions } from '../user/permissions.ts';
import { waitOnce } from '../wait-once.ts';
import { BackgroundCalls } from './background.ts';
import { Call, type CallEntry, type Caller, type Hold } from './call.ts';
import { CallPermissions, type CallPermissionsPorts } from './call-permissions.ts';
import { CallSemaphore } from './concurrency-limit.ts';
import { gateOf, notStarted, refusalAtRest, StatusChanges } from './gate.ts';
import { HookRunner, type HookRunnerPorts } from './hooks.ts';
import { CallLedger, type CallLedgerPorts } from './ledger.ts';
import { type Operation, requestOperation } from './operation.ts';
import type { CallQuotas } from './quotas.ts';
import { Results, type ResultsPorts, toolAnswer } from './results.ts';
import { CallSender, type CallSenderPorts } from './sending.ts';
import { ToolOperation } from './tool-address.ts';

export interface CallDispatcherPorts
  extends CallPermissionsPorts,
    CallSenderPorts,
    ResultsPorts,
    CallLedgerPorts,
    HookRunnerPorts {
  readonly book: DesiredBook;
  readonly tools: ToolList;
  readonly approvals: Approvals;
  /** The counts of limited calls. */
  readonly quotas: CallQuotas;
  /** The client whose calls name no other. Default: `host`. */
  readonly clientName?: string | undefined;
  /** The error for a name that no server has. */
  readonly absentError: (server: string) => TroupeError;
  readonly telemetry?: OpenTelemetry | undefined;
}

/** Makes what a caller gets of an answer. */
type ReportOf<Result, Report> = (
  answer: RequestReport<Result>,
  call: Call<Result>,
) => Report | Promise<Report>;

export class CallDispatcher {
  readonly #ports: CallDispatcherPorts;
  readonly permissions: Permissions;
  readonly background: BackgroundCalls;
  readonly #ledger: CallLedger;
  /** Observes calls; undefined if they are not observed. */
  readonly telemetry: CallTelemetry | undefined;
  /** Of each server that was ever called, like the totals of the running calls. */
  readonly #semaphores = new Map<string, CallSemaphore>();
  readonly #sender: CallSender;
  readonly #results: Results;
  readonly #permissions: CallPermissions;
  readonly #hooks: HookRunner;
  /** Called once the last call has ended; undefined while calls are accepted. */
  #onFinished: Set<() => void> | undefined;
  #isClosed = false;

  constructor({ hooks }: Pick<TroupeOptions, 'hooks'>, ports: CallDispatcherPorts) {
    this.#ports = ports;
    this.permissions = ports.permissions;
    this.telemetry = ports.telemetry && new CallTelemetry(ports.telemetry, ports.clock);
    this.#permissions = new CallPermissions(ports);
    this.#hooks = new HookRunner(hooks, ports);
    this.background = new BackgroundCalls(ports.clock);
    this.#ledger = new CallLedger(ports);
    this.#sender = new CallSender(ports);
    this.#results = new Results(ports);
  }

  /** Returns the number of requests sent to a server. */
  countOf(server: string): number {
    return this.#sender.running.countOf(server);
  }

  /** Called with the settings of each pass. */
  noteSettings(settings: Settings): void {
    this.#ledger.noteSettings(settings);
  }

  /** Returns the servers whose calls may move to the background. */
  backgroundServers(): readonly string[] {
    const { board, book } = this.#ports;
    const names = board.views().map(({ status }) => status.name);
    return names.filter((name) => book.policyOf(name).call.backgroundAfterMs !== null);
  }

  /** Throws or rejects with a TroupeError, always with an `outcome`. */
  call(
    address: ToolAddress,
    args: Readonly<Record<string, unknown>>,
    entry: CallEntry,
  ): Promise<CallReport> {
    const { book } = this.#ports;
    const { server } = address;
    // Before its server is started.
    entry.view?.refuseServer(server);
    const afterMs = book.of(server)?.policy.call.backgroundAfterMs ?? null;
    const operation = new ToolOperation(address, args, entry.view ?? this.#ports);
    const { tool = operation.calledAs, shownTool = tool } = operation;
    const { call, running } = this.#start(operation, entry, this.#reportTool);
    if (afterMs === null) return running;
    entry.watch?.follow(running);
    const user = entry.options.client?.user ?? '';
    const { startedAt } = call;
    const { view } = entry;
    const followed = { server, tool, shownTool, startedAt, sends: () => call.sends, user, view };
    return this.background.follow(running, followed, afterMs);
  }

  /** Throws or rejects with a TroupeError, always with an `outcome`. */
  ask<Result>(
    server: string,
    request: SessionRequest,
    entry: CallEntry,
  ): Promise<RequestReport<Result>> {
    entry.view?.refuseRequest(server, request);
    const operation = requestOperation(server, request, this.#ports.approvals, entry.view);
    // The session has checked the shape that the method requires.
    return this.#start(operation, entry, (done) => done as RequestReport<Result>).running;
  }

  readonly #reportTool = (
    { result, meta: { server, attempts, durationMs } }: RequestReport<ToolResult>,
    { operation }: Call<ToolResult>,
  ): CallReport | Promise<CallReport> => {
    // It was found before the call was sent.
    const tool = operation.tool as string;
    const meta = { server, tool: operation.shownTool ?? tool, attempts, durationMs };
    try {
      const shaped = this.#results.shape(toolAnswer(result, { server, tool }, this.#ports));
      if (!(shaped instanceof Promise)) return { result: shaped, meta };
      return shaped.then(
        (whole) => ({ result: whole, meta }),
        (error: unknown) => {
          throw asTroupeError(error, server, 'executed');
        },
      );
    } catch (error) {
      throw asTroupeError(error, server, 'executed');
    }
  };

  /** Begins a call, and its record. */
  #start<Result, Report extends { readonly result: unknown }>(
    operation: Operation<Result>,
    entry: CallEntry,
    report: ReportOf<Result, Report>,
  ): { readonly call: Call<Result>; readonly running: Promise<Report> } {
    const { clock, board, book, absentError } = this.#ports;
    const { server } = operation;
    const status = board.status(server);
    if (status === undefined) throw absentError(server);
    const record = this.#ledger.begin(operation, this.#callerOf(entry.options), entry);
    try {
      if (this.#onFinished !== undefined) throw shuttingDown(server);
      entry.watch?.aimedAt(status);
      const semaphore = this.#semaphoreOf(server);
      const call = new Call(operation, entry, semaphore, clock.now());
      call.setDeadline(book.of(server));
      semaphore.enter(() => overloaded(server));
      const running = this.#run(call, report);
      record?.follow(running);
      return { call, running };
    } catch (error) {
      record?.failed(error);
      throw error;
    }
  }

  #callerOf({ client, clientName = this.#ports.clientName ?? 'host' }: CallOptions): Caller {
    return { client: clientName, ...(client?.user && { user: client.user }) };
  }

  #semaphoreOf(server: string): CallSemaphore {
    let semaphore = this.#semaphores.get(server);
    if (semaphore === undefined) {
      semaphore = new CallSemaphore(() => this.#noteFinished());
      this.#semaphores.set(server, semaphore);
    }
    return semaphore;
  }

  /** Counts the call against the limits, those of its tool once that is known. */
  #countIn(call: Call, now: number): void {
    const { settings } = this.#ports.book;
    const desired = this.#ports.book.of(call.server);
    const limits = settings?.callLimits;
    const view = call.view?.settings;
    const all = [limits, view?.limits, desired?.limits];
    if (all.every((each) => each === undefined) && !hasToolLimits(desired)) return;
    const { client, user } = this.#callerOf(call.options);
    // A user's name is proved by a token; a client calls itself what it likes, even like a user.
    const counted = user === undefined ? `client ${client}` : `user ${user}`;
    this.#ports.quotas.admit(call, { client: counted, limits, view, desired }, now);
  }

  /** Sends a call now if nothing stands in its way; otherwise waits first. */
  #run<Result, Report>(call: Call<Result>, report: ReportOf<Result, Report>): Promise<Report> {
    try {
      const step = this.#attempt(call, call.startedAt);
      if (typeof step === 'string') return this.#runLater(call, step, report);
      return step.then(
        (answer) =>
          answer === null ? this.#runLater(call, 'wait', report) : ended(call, answer, report),
        (error: unknown) => this.#failed(call, error),
      );
    } catch (error) {
      return this.#failed(call, error);
    }
  }

  #runLater<Result, Report>(
    call: Call<Result>,
    hold: Hold,
    report: ReportOf<Result, Report>,
  ): Promise<Report> {
    return this.#sentLater(call, hold).then(
      (answer) => ended(call, answer, report),
      (error: unknown) => this.#failed(call, error),
    );
  }

  /** Refuses new calls. Resolves once all others have ended, at the deadline or when it is closed. */
  finish(deadlineAt: number): Promise<void> {
    this.#onFinished ??= new Set();
    const waiting = this.#onFinished;
    return waitOnce({ clock: this.#ports.clock, deadlineAt, signal: undefined }, (wake) => {
      waiting.add(wake);
      this.#noteFinished();
      return () => waiting.delete(wake);
    });
  }

  /**
   * Ends every call that is still waiting with `SHUTTING_DOWN`. Returns the servers whose running calls
   * are cut off.
   */
  close(): readonly string[] {
    this.#isClosed = true;
    this.#permissions.close();
    this.#hooks.close();
    const cutOff = this.#sender.running.close();
    this.background.close();
    this.#noteFinished();
    return cutOff;
  }

  /** Resolves once the calls are recorded, and no program of a hook is left. */
  async settled(): Promise<void> {
    await Promise.all([this.#ledger.close(), this.#hooks.settled()]);
  }

  #noteFinished(): void {
    if (this.#onFinished === undefined) return;
    const isFinished = [...this.#semaphores.values()].every(({ isEmpty }) => isEmpty);
    if (isFinished || this.#isClosed) for (const wake of this.#onFinished) wake();
  }

  /** Waits and tries again until the call has been answered. */
  async #sentLater<Result>(call: Call<Result>, first: Hold): Promise<RequestReport<Result>> {
    for (let hold = first; ; ) {
      await this.#wait(call, hold);
      const step = this.#attempt(call, this.#ports.clock.now());
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
  #attempt<Result>(call: Call<Result>, now: number): Promise<RequestReport<Result> | null> | Hold {
    const { operation, lost } = call;
    try {
      // Before its server is started and its user is asked.
      this.#countIn(call, now);
      const view = this.#viewFor(call, now);
      const handle = view && this.#ports.sessions.get(view.actorId);
      if (view === undefined || handle === undefined) return call.release('wait');
      const desired = this.#ports.book.known(call.server);
      if (handle === lost?.handle && now < lost.untilAt) return call.release('replacement');
      const caller = this.#callerOf(call.options);
      if (this.#hooks.isWaiting(call, desired, caller)) return call.release('hook');
      if (this.#permissions.isWaiting(call, desired)) return call.release('permission');
      if (!call.activate()) return 'queue';
      const about = operation.find(desired);
      // The rules may have changed since the call began or was allowed.
      if (!this.#permissions.isAllowed(call, desired, about.shown)) return call.release('wait');
      this.#refuseAtLast(call, desired, about, now);
      const sent = this.#sender.send(call, { view, desired, handle, about }, now);
      return this.#hooks.after(sent, { call, desired, caller, shown: about.shown });
    } catch (error) {
      call.release();
      throw error;
    }
  }

  async #wait(call: Call, hold: Hold): Promise<void> {
    const { board, clock } = this.#ports;
    const { semaphore, watch } = call;
    if (hold === 'hook') {
      watch?.held('hook');
      return call.hooked;
    }
    if (hold === 'permission') {
      watch?.held('permission');
      return this.#permissions.answered(call);
    }
    if (hold === 'queue') {
      call.wasQueued = true;
      watch?.held('queue');
      call.isActive = await semaphore.acquire(call.boundsOf(hold, clock));
      if (call.isActive) return;
    }
    call.changes ??= new StatusChanges(board, call.server);
    const { changes } = call;
    // Watching began before this check, so no change is missed.
    if (changes.isNews() || call.permission?.isAsking === true) return;
    watch?.held('wait', board.status(call.server)?.state);
    await waitOnce(call.boundsOf(hold, clock), (wake) => changes.onNext(wake));
  }

  /** Returns the server once the call may be sent to it; throws a refusal. */
  #viewFor(call: Call, now: number): ServerView | undefined {
    const { board, clock, absentError } = this.#ports;
    const { server, deadlineAt, options, lost } = call;
    if (this.#isClosed) throw shuttingDown(server);
    if (options.signal?.aborted === true) throw cancelled(server);
    const status = board.status(server);
    if (status === undefined) throw absentError(server);
    if (deadlineAt <= now) throw lost?.error ?? outOfTime(server, status);
    const view = board.view(server);
    if (view === undefined || view.leaving) return undefined;
    const gate = gateOf(view, deadlineAt, clock);
    if (gate.pass === 'refuse') throw gate.error;
    if (gate.pass === 'wait' && gate.demand) this.#demand(call, view);
    return gate.pass === 'go' ? view : undefined;
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

  /**
   * Refuses the call because of something that may have changed since it was first sent or queued.
   */
  #refuseAtLast(call: Call, desired: DesiredServer, about: Subject, now: number): void {
    const { lost } = call;
    if (lost?.replay === 'mayRepeat' && !this.#sender.mayRunTwice(desired, about)) throw lost.error;
    // A tool called by its exposed name may become known only now, and may have its own deadline.
    call.setDeadline(desired);
    this.#countIn(call, now);
    if (call.isTooLate(now)) throw lost?.error ?? tooLate(call.server, call.wasQueued);
  }

  #failed(call: Call, error: unknown): never {
    call.end();
    const failure = call.errorOf(error);
    if (failure.outcome === 'not_executed') this.#ports.quotas.giveBack(call);
    throw failure;
  }
}

function ended<Result, Report>(
  call: Call<Result>,
  answer: RequestReport<Result>,
  report: ReportOf<Result, Report>,
): Report | Promise<Report> {
  call.end();
  return report(answer, call);
}

function hasToolLimits(desired: DesiredServer | undefined): boolean {
  return desired?.tools.overrides?.some(({ limits }) => limits !== undefined) ?? false;
}
