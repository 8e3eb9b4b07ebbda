/**
 * The direct path of calls, reads and all else that is asked of a server: look up,
 * ask the gate, send, report the outcome.
 *
 * Payloads never pass through a chart. A call that has to wait is keyed by the
 * server's name, looks again at every change of its status and at its own
 * deadline, and never holds on to an actor. It is sent once; a second time only
 * when the first provably never ran.
 */

import type { Clock } from '../domain/clock.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../domain/session.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import type { TroupeError } from '../domain/troupe-error.ts';
import { defaultPolicy } from '../policies/default-policy.ts';
import { printableLine } from '../policies/printable.ts';
import { provablyNeverRan } from '../policies/replay-decision.ts';
import { isSameTool } from '../policies/tool-pins.ts';
import { callErrorOf, countsForCircuit, type Subject } from './call-error.ts';
import { gateFor, notStarted } from './call-gate.ts';
import { CallLane } from './call-lane.ts';
import {
  badTimeout,
  cancelled,
  changedTool,
  outOfTime,
  overloaded,
  shuttingDown,
  toolChangedSince,
} from './call-refusal.ts';
import { CallsAtWork, tell } from './calls-at-work.ts';
import type { SessionRegistry } from './session-registry.ts';
import type { Sighting, StatusBoard } from './status-board.ts';
import { StatusChanges } from './status-changes.ts';
import type { ToolList } from './tool-list.ts';
import type { CallOptions, CallReport, RequestReport } from './troupe.ts';
import { unknownTool } from './unknown-name.ts';
import { type WaitBounds, waitOnce } from './wait-once.ts';

export interface CallDeskPorts {
  readonly board: StatusBoard;
  readonly tools: ToolList;
  readonly sessions: SessionRegistry;
  readonly clock: Clock;
  /** Says why there is no server of this name. */
  readonly absentError: (server: string) => TroupeError;
}

/**
 * Which tool is meant: a server's own name for it, and how it must look if that matters,
 * or an exposed name yet to be found.
 */
export type ToolAddress =
  | { readonly server: string; readonly tool: string; readonly shown?: ExposedTool }
  | { readonly server: string; readonly exposedName: string };

// A request that never ran may be sent once more; a third time would be a storm.
const maxSends = 2;
// One second: a session that lost a request mostly says so at once. One that is still
// there afterwards is fine, and may be asked again.
const replacementMs = 1_000;
// For a server whose chart is just being replaced; the policy says it for all others.
const defaultTimeoutMs = defaultPolicy.call.timeoutMs;

type Answer<Result> = { readonly result: Result } | { readonly failure: CallFailure };

/** What is to be done at a server: the one thing in which a call and a read differ. */
interface Errand<Result, About extends Subject> {
  readonly server: string;
  /** Whose deadline counts, as far as it is known yet. */
  readonly toolAtEntry: () => string | undefined;
  /** Names what is asked for, once the server is ready; throws when there is no such thing. */
  readonly find: (sighting: Sighting) => About;
  readonly perform: (
    handle: SessionHandle,
    about: About,
    options: SessionCallOptions,
  ) => Promise<Answer<Result>>;
}

interface Done<Result, About extends Subject> {
  readonly result: Result;
  readonly about: About;
  readonly meta: RequestReport<Result>['meta'];
}

/** A tool by its server's own name. */
interface ToolSubject extends Subject {
  readonly tool: string;
}

interface Call {
  readonly server: string;
  readonly options: CallOptions;
  readonly lane: CallLane;
  readonly startedAt: number;
  deadlineAt: number;
  sends: number;
  /** The session that was the last when this call first asked a sleeping server to start. */
  demandedAfter: { readonly actorId: string; readonly session: number } | null;
  /** A first sending that never ran, and how long its session is given to be replaced. */
  lost: {
    readonly handle: SessionHandle;
    readonly error: TroupeError;
    readonly untilAt: number;
  } | null;
}

export class CallDesk {
  readonly #ports: CallDeskPorts;
  readonly #lanes = new Map<string, CallLane>();
  readonly #atWork: CallsAtWork;
  readonly #lostHandles = new WeakSet<SessionHandle>();
  #isClosed = false;

  constructor(ports: CallDeskPorts) {
    this.#ports = ports;
    this.#atWork = new CallsAtWork(ports);
  }

  /** @throws TroupeError, always with an `outcome`. */
  async call(
    address: ToolAddress,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<CallReport> {
    const { result, about, meta } = await this.#enter<ToolResult, ToolSubject>(
      {
        server: address.server,
        toolAtEntry: () =>
          'tool' in address ? address.tool : this.#ports.tools.named(address.exposedName)?.tool,
        find: (sighting) => {
          const tool = this.#toolNameOf(address, sighting);
          return { tool, words: tool };
        },
        perform: (handle, { tool }, callOptions) => handle.callTool(tool, args, callOptions),
      },
      options,
    );
    return { result, meta: { ...meta, tool: about.tool } };
  }

  /** @throws TroupeError, always with an `outcome`. */
  async ask<Result>(
    server: string,
    request: SessionRequest,
    options: CallOptions,
  ): Promise<RequestReport<Result>> {
    const about: Subject = { words: wordsFor(request) };
    const { result, meta } = await this.#enter<Readonly<Record<string, unknown>>, Subject>(
      {
        server,
        toolAtEntry: () => undefined,
        find: () => about,
        perform: (handle, _about, callOptions) => handle.request(request, callOptions),
      },
      options,
    );
    // The session has looked at the shape that the method demands.
    return { result: result as Result, meta };
  }

  async #enter<Result, About extends Subject>(
    errand: Errand<Result, About>,
    options: CallOptions,
  ): Promise<Done<Result, About>> {
    const { clock, board, absentError } = this.#ports;
    const { server } = errand;
    const sighting = board.sighting(server);
    if (sighting === undefined && board.status(server) === undefined) {
      throw absentError(server);
    }
    const lane = this.#laneOf(server);
    const startedAt = clock.now();
    const timeoutMs =
      options.timeoutMs ??
      (sighting === undefined ? defaultTimeoutMs : timeoutMsOf(sighting, errand.toolAtEntry()));
    // Also refuses what is not a number; a deadline that never comes would hold a place for ever.
    if (!(timeoutMs > 0 && timeoutMs < Number.POSITIVE_INFINITY)) throw badTimeout(server);
    const call: Call = {
      server,
      options,
      lane,
      startedAt,
      deadlineAt: startedAt + timeoutMs,
      sends: 0,
      demandedAfter: null,
      lost: null,
    };
    lane.enter(() => overloaded(server));
    try {
      return await this.#run(call, errand);
    } finally {
      lane.leave();
      if (lane.isEmpty) this.#lanes.delete(server);
    }
  }

  /** Ends every call that still waits with `SHUTTING_DOWN`. */
  close(): void {
    this.#isClosed = true;
    this.#atWork.close();
  }

  async #run<Result, About extends Subject>(
    call: Call,
    errand: Errand<Result, About>,
  ): Promise<Done<Result, About>> {
    const bounds: WaitBounds = {
      clock: this.#ports.clock,
      deadlineAt: call.deadlineAt,
      signal: call.options.signal,
    };
    const changes = new StatusChanges(this.#ports.board, call.server);
    try {
      for (;;) {
        const done = this.#look(call) === null ? null : await this.#inTurn(call, errand, bounds);
        if (done !== null) return done;
        // Watched from before the second look on, so that no change falls between.
        if (changes.isNews()) continue;
        const deadlineAt = Math.min(call.deadlineAt, call.lost?.untilAt ?? call.deadlineAt);
        await waitOnce({ ...bounds, deadlineAt }, (wake) => changes.onNext(wake));
      }
    } finally {
      changes.end();
    }
  }

  /** Takes a place at work and sends. Null = look again. */
  async #inTurn<Result, About extends Subject>(
    call: Call,
    errand: Errand<Result, About>,
    bounds: WaitBounds,
  ): Promise<Done<Result, About> | null> {
    const { lane } = call;
    if (!lane.takesPlace() && !(await lane.waitForPlace(bounds))) return null;
    try {
      return await this.#send(call, errand);
    } finally {
      lane.returnPlace();
    }
  }

  /** The server to send to, null to wait for a change, or a refusal thrown. */
  #look(call: Call): Sighting | null {
    const { board, clock, absentError } = this.#ports;
    const { server } = call;
    if (this.#isClosed) throw shuttingDown(server);
    if (call.options.signal?.aborted === true) throw cancelled(server);
    const remainingMs = call.deadlineAt - clock.now();
    const status = board.status(server);
    if (status === undefined) throw absentError(server);
    if (remainingMs <= 0) throw call.lost?.error ?? outOfTime(server, status.state);
    const sighting = board.sighting(server);
    if (sighting === undefined || sighting.leaving) return null;
    const gate = gateFor(sighting.callStatus, {
      wallNowMs: clock.wallNow(),
      remainingMs,
      circuitUntilMs: sighting.circuitUntilMs,
    });
    if (gate.pass === 'refuse') throw gate.error;
    if (gate.pass === 'go' && this.#handleFor(call, sighting) !== undefined) return sighting;
    if (gate.pass === 'wait' && gate.demand) this.#demand(call, sighting);
    return null;
  }

  /** Wakes a server for this call: once, or a start that fails at once would be repeated without end. */
  #demand(call: Call, { callStatus, actorId, session, ref }: Sighting): void {
    if (callStatus.state === 'dormant') {
      const { demandedAfter } = call;
      const hasTried = demandedAfter?.actorId === actorId && session > demandedAfter.session;
      if (hasTried && callStatus.lastError !== undefined) throw notStarted(callStatus);
      call.demandedAfter ??= { actorId, session };
    }
    ref.send({ type: 'server.demanded' });
  }

  #handleFor(call: Call, sighting: Sighting) {
    const handle = this.#ports.sessions.get(sighting.actorId);
    const { lost } = call;
    const isGivenTime = lost !== null && this.#ports.clock.now() < lost.untilAt;
    return handle === lost?.handle && isGivenTime ? undefined : handle;
  }

  /** One sending. Null when it provably never ran and may be tried again. */
  async #send<Result, About extends Subject>(
    call: Call,
    errand: Errand<Result, About>,
  ): Promise<Done<Result, About> | null> {
    const { clock } = this.#ports;
    // Time may have passed in line: the gate is asked again, at the last moment.
    const sighting = this.#look(call);
    const handle = sighting === null ? undefined : this.#handleFor(call, sighting);
    if (sighting === null || handle === undefined) return null;
    const about = errand.find(sighting);
    const { session } = handle;
    // By its exposed name a tool may be known only now, and have a deadline of its own.
    if (call.options.timeoutMs === undefined) {
      call.deadlineAt = call.startedAt + timeoutMsOf(sighting, about.tool);
    }
    const { signal, onProgress } = call.options;
    call.sends += 1;
    this.#atWork.began(handle, sighting);
    const answer = await errand
      .perform(handle, about, {
        timeoutMs: Math.max(1, call.deadlineAt - clock.now()),
        ...(signal === undefined ? {} : { signal }),
        ...(onProgress === undefined ? {} : { onProgress }),
      })
      .finally(() => {
        this.#atWork.ended(handle);
      });
    if ('failure' in answer) return this.#fail(call, sighting, handle, about, answer.failure);
    this.#noteSuccess(sighting, session);
    return {
      result: answer.result,
      about,
      meta: {
        server: sighting.status.name,
        attempts: call.sends,
        durationMs: Math.round(clock.now() - call.startedAt),
      },
    };
  }

  #noteSuccess(sighting: Sighting, session: number): void {
    const present = this.#ports.board.sighting(sighting.status.name);
    if (present?.countsFailures === true) tell(sighting, { type: 'call.succeeded', session });
  }

  #fail(
    call: Call,
    sighting: Sighting,
    handle: SessionHandle,
    about: Subject,
    failure: CallFailure,
  ): null {
    const { counts } = sighting.desired.policy.breaker;
    if (countsForCircuit(failure, counts) && this.#isNews(sighting, handle)) {
      const at = this.#ports.clock.now();
      tell(sighting, { type: 'call.failed', session: handle.session, at });
    }
    if (provablyNeverRan(failure) && call.sends < maxSends) {
      const error = callErrorOf(failure, sighting.status.name, about);
      call.lost = { handle, error, untilAt: this.#ports.clock.now() + replacementMs };
      return null;
    }
    throw callErrorOf(failure, sighting.status.name, about);
  }

  /**
   * One lost session is one failure, however many calls it took along: else a
   * single crash under a burst of calls would open the circuit by itself.
   */
  #isNews(sighting: Sighting, handle: SessionHandle): boolean {
    if (this.#ports.sessions.get(sighting.actorId) === handle) return true;
    if (this.#lostHandles.has(handle)) return false;
    this.#lostHandles.add(handle);
    return true;
  }

  #toolNameOf(address: ToolAddress, sighting: Sighting): string {
    const { tools } = this.#ports;
    const wanted = 'exposedName' in address ? address.exposedName : address.tool;
    if ('exposedName' in address) {
      const known = tools.named(wanted);
      if (known?.server === address.server) return known.tool;
      if (tools.isHeld(sighting, wanted)) throw changedTool(sighting.status.name, wanted);
      throw unknownTool(address.exposedName, tools.all());
    }
    const { name: server } = sighting.status;
    const shown = tools.of(server);
    const present = shown.find(({ tool }) => tool === address.tool);
    if (present !== undefined) {
      if (address.shown !== undefined && !isSameTool(address.shown, present)) {
        throw toolChangedSince(address.shown);
      }
      return address.tool;
    }
    if (tools.isHeld(sighting, wanted)) throw changedTool(server, wanted);
    throw unknownTool(
      address.tool,
      shown.map(({ tool }) => ({ name: tool })),
      server,
    );
  }

  #laneOf(server: string): CallLane {
    const known = this.#lanes.get(server);
    if (known !== undefined) return known;
    const lane = new CallLane();
    this.#lanes.set(server, lane);
    return lane;
  }
}

function timeoutMsOf({ desired }: Sighting, tool: string | undefined): number {
  const override = desired.tools.overrides?.find((candidate) => candidate.tool === tool);
  return override?.timeoutMs ?? desired.policy.call.timeoutMs;
}

// An address may be long, and who asked knows it.
const wordsLength = 128;

function wordsFor({ method, params }: SessionRequest): string {
  switch (method) {
    case 'resources/read':
      return printableLine(`resource ${params.uri}`, wordsLength);
    case 'prompts/get':
      return printableLine(`prompt ${params.name}`, wordsLength);
    case 'completion/complete':
      return printableLine(`completion of ${params.argument.name}`, wordsLength);
  }
}
