/**
 * Sends calls to sessions, and reports to the servers' charts what the answers and losses mean for
 * them.
 */

import type { CallFailure, SessionHandle } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { mayRunTwice, type RepeatedTool, replayOf } from '../../policies/calls/replay-decision.ts';
import { callErrorOf, countsForCircuit, type Subject } from '../errors/failed.ts';
import type { ServerView } from '../status/board.ts';
import type { RequestReport } from '../troupe.ts';
import type { Permissions } from '../user/permissions.ts';
import type { Call } from './call.ts';
import { RunningCalls, type RunningCallsPorts, sendFact } from './running-calls.ts';

export interface CallSenderPorts extends RunningCallsPorts {
  readonly permissions: Permissions;
}

/** The server and the session to which a call is sent, and what it is about. */
interface Target {
  readonly view: ServerView;
  readonly desired: DesiredServer;
  readonly handle: SessionHandle;
  readonly about: Subject;
}

// One second: a session that lost a request usually closes immediately. One that is still
// open afterwards is healthy and may be used again.
const replacementMs = 1_000;

export class CallSender {
  readonly #ports: CallSenderPorts;
  readonly running: RunningCalls;
  readonly #lostHandles = new WeakSet<SessionHandle>();

  constructor(ports: CallSenderPorts) {
    this.#ports = ports;
    this.running = new RunningCalls(ports);
  }

  /** Sends a call. Resolves with null if it provably never ran, or may run again, and is to be retried. */
  send<Result>(
    call: Call<Result>,
    target: Target,
    now: number,
  ): Promise<RequestReport<Result> | null> {
    const { operation, watch } = call;
    const { view, desired, handle } = target;
    call.sends += 1;
    watch?.found(operation.tool);
    const options = call.sessionOptions(desired, now);
    this.running.began(handle, view);
    const answered =
      watch === undefined
        ? operation.perform(handle, options)
        : watch.send(options, (traced) => operation.perform(handle, traced));
    return answered.then(
      (answer) => {
        const endedAt = this.#answered(call, handle);
        if ('failure' in answer) return this.#fail(call, target, answer.failure, endedAt);
        return this.#succeed(call, target, answer.result, endedAt);
      },
      (error: unknown) => {
        this.#answered(call, handle);
        throw error;
      },
    );
  }

  /** Makes room for the next call; returns the time. */
  #answered(call: Call, handle: SessionHandle): number {
    const endedAt = this.#ports.clock.now();
    this.running.ended(handle, endedAt);
    call.release();
    return endedAt;
  }

  #succeed<Result>(
    { sends, startedAt, server }: Call,
    { view, handle }: Target,
    result: Result,
    endedAt: number,
  ): RequestReport<Result> {
    if (this.#ports.board.view(server)?.countsFailures === true)
      sendFact(view, { type: 'call.succeeded', session: handle.session });
    const durationMs = Math.round(endedAt - startedAt);
    return { result, meta: { server, attempts: sends, durationMs } };
  }

  /** Returns whether a second run of what was requested is acceptable. */
  mayRunTwice(desired: DesiredServer, about: Subject): boolean {
    return mayRunTwice(desired.policy.call.replay, this.#repeatedTool(desired, about));
  }

  #fail(call: Call, target: Target, failure: CallFailure, at: number): null {
    const { view, desired, handle, about } = target;
    const { counts } = desired.policy.breaker;
    if (countsForCircuit(failure, counts) && this.#isNews(view, handle))
      sendFact(view, { type: 'call.failed', session: handle.session, at });
    const error = callErrorOf(failure, call.server, about);
    const { replay: rule } = desired.policy.call;
    const tool = this.#repeatedTool(desired, about);
    const replay = replayOf({ failure, sends: call.sends, rule, tool });
    call.watch?.lost(error, replay);
    if (replay === 'no') throw error;
    call.lost = { handle, error, replay, untilAt: at + replacementMs };
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

  #repeatedTool(desired: DesiredServer, { shown }: Subject): RepeatedTool {
    const isTrusted = this.#ports.permissions.isTrusted(desired);
    return { isTrusted, annotations: shown?.annotations };
  }
}
