/** Who hears what a shared server says without naming a request: its questions, log, output and updates. */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Clock } from '../../../src/domain/clock.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import { type LogLevel, logLevels } from '../../../src/domain/log-level.ts';
import {
  type AskingCall,
  AskingCalls,
  maxRemembered,
} from '../../../src/policies/calls/client-to-ask.ts';
import { metaKeys } from '../../../src/protocol/meta.ts';
import { methods } from '../../../src/protocol/methods.ts';
import type { Id } from './handshake.ts';
import type { LeasedConnection } from './leased-connection.ts';

export type Notification = Extract<JSONRPCMessage, { method: string; id?: never }>;

interface SharedCall extends AskingCall {
  readonly client: LeasedConnection;
  leftAt: number | undefined;
  isStopped: boolean;
}

/** Requests that a server may ask and write about. */
const calls: ReadonlySet<string> = new Set(
  [methods.callTool, methods.readResource, methods.getPrompt, methods.complete].map(
    ({ name }) => name,
  ),
);
// All clients of a troupe are of one user.
const user = 'host';

export class Hearers {
  readonly #clock: Clock;
  readonly #calls = new AskingCalls<SharedCall>();
  /** Abandoned calls by the id of a ping that was sent after their cancellation. */
  readonly #stopping = new Map<Id, SharedCall>();
  readonly #subscribers = new Map<string, Set<LeasedConnection>>();
  readonly #levels = new Map<LeasedConnection, LogLevel>();
  #lastCaller: LeasedConnection | undefined;
  /** The only client that ever called; null once there were several. */
  #onlyCaller: LeasedConnection | null | undefined;
  #usedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#usedAt = clock.now();
  }

  /** Time since a call began or ended, in milliseconds. */
  get unusedMs(): number {
    return this.#clock.now() - this.#usedAt;
  }

  noteSent(id: Id, method: string, client: LeasedConnection): void {
    if (!calls.has(method)) return;
    const facts = { user, leftAt: undefined, isStopped: false, isAsking: false };
    this.#calls.sent(Number(id), { client, ...facts });
    this.#onlyCaller =
      this.#onlyCaller === undefined || this.#onlyCaller === client ? client : null;
    this.#noteUse(client);
  }

  /** Takes any answer of the server. */
  noteAnswer(id: Id): void {
    const stopped = this.#stopping.get(id);
    if (stopped !== undefined) stopped.isStopped = true;
    this.#stopping.delete(id);
    const call = this.#calls.get(Number(id));
    if (call === undefined) return;
    this.#calls.answered(Number(id));
    this.#noteUse(call.client);
  }

  /**
   * Until the server has read that a call was cancelled, it may still ask about it.
   *
   * @param ping - sends a ping, whose answer proves that it has, and returns its id; undefined for a
   * server that asks no questions
   */
  noteCancelled(id: Id, ping: (() => Id) | undefined): void {
    const call = this.#calls.get(Number(id));
    if (call === undefined) return;
    call.leftAt = this.#clock.now();
    this.#noteUse(call.client);
    if (ping === undefined || this.#onlyCaller !== null) return;
    this.#stopping.set(ping(), call);
    const [oldest] = this.#stopping.keys();
    if (this.#stopping.size > maxRemembered && oldest !== undefined) this.#stopping.delete(oldest);
  }

  #noteUse(caller: LeasedConnection): void {
    this.#lastCaller = caller;
    this.#usedAt = this.#clock.now();
  }

  subscribe(uri: string, holder: LeasedConnection): void {
    const subscribers = this.#subscribers.get(uri) ?? new Set();
    this.#subscribers.set(uri, subscribers.add(holder));
  }

  /** Returns whether that was the last subscriber. */
  unsubscribe(uri: string, holder: LeasedConnection): boolean {
    const subscribers = this.#subscribers.get(uri);
    const hadIt = subscribers?.delete(holder) === true;
    if (subscribers?.size === 0) this.#subscribers.delete(uri);
    return hadIt && subscribers?.size === 0;
  }

  /** Returns whether the server has to be told, because no one wants to hear more. */
  setLevel(level: unknown, holder: LeasedConnection): boolean {
    this.#levels.set(holder, level as LogLevel);
    const all = [...this.#levels.values()].map(severityOf);
    return severityOf(level) <= Math.min(...all);
  }

  /** Returns the resources that no one is subscribed to any more. */
  forget(holder: LeasedConnection): readonly string[] {
    this.#levels.delete(holder);
    return [...this.#subscribers.keys()].filter((uri) => this.unsubscribe(uri, holder));
  }

  /** The only client that a question can be for; undefined if that is not certain. */
  ofQuestion(holders: ReadonlySet<LeasedConnection>): LeasedConnection | undefined {
    const [first] = holders;
    if (first !== undefined && holders.size === 1 && this.seesAll(first)) return first;
    const owner = this.#calls.ownerAt(this.#clock.now());
    if (owner.type === 'nobody') return undefined;
    return owner.type === 'call' ? owner.call.client : owner.calls[0]?.client;
  }

  /**
   * @param senderOf - the client that sent the request of this id
   * @param askedOf - the client that has the server's question of this id
   */
  ofNotification(
    { method, params = {} }: Notification,
    holders: ReadonlySet<LeasedConnection>,
    senderOf: (id: Id) => LeasedConnection | undefined,
    askedOf: (id: Id) => LeasedConnection | undefined,
  ): readonly LeasedConnection[] {
    const { _meta: meta, progressToken, requestId, uri, level } = params;
    const subscription = isRecord(meta) ? meta[metaKeys.subscriptionId] : undefined;
    const { progress, cancelled, resourceUpdated, logMessage } = methods;
    if (subscription !== undefined) return [senderOf(subscription as Id) ?? []].flat();
    if (method === progress.name) return [senderOf(progressToken as Id) ?? []].flat();
    if (method === cancelled.name)
      return [askedOf(requestId as Id) ?? senderOf(requestId as Id) ?? []].flat();
    if (method === resourceUpdated.name) return [...(this.#subscribers.get(String(uri)) ?? [])];
    if (method !== logMessage.name) return [...holders];
    return this.ofOutput(holders).filter((holder) => {
      const wanted = this.#levels.get(holder);
      return wanted === undefined || severityOf(level) >= severityOf(wanted);
    });
  }

  /**
   * Those with a call in flight; otherwise the one with abandoned calls that may still run, and none if
   * several have; otherwise the one that had the last call; before any call, all.
   */
  ofOutput(holders: ReadonlySet<LeasedConnection>): readonly LeasedConnection[] {
    if (this.#onlyCaller === undefined) return [...holders];
    const callers = callersOf(this.#calls.waiting());
    if (callers.size === 0) {
      // An abandoned call writes as well, until the server has read that it is over.
      const abandoned = callersOf(this.#calls.abandonedAt(this.#clock.now()));
      if (abandoned.size > 1) return [];
      const [author = this.#lastCaller] = abandoned;
      if (author !== undefined) callers.add(author);
    }
    return [...holders].filter((holder) => callers.has(holder));
  }

  /** Whether nothing that the process wrote can be about a call of another client. */
  seesAll(holder: LeasedConnection): boolean {
    return this.#onlyCaller === undefined || this.#onlyCaller === holder;
  }
}

function callersOf(these: readonly SharedCall[]): Set<LeasedConnection> {
  return new Set(these.map(({ client }) => client));
}

function severityOf(level: unknown): number {
  return logLevels.indexOf(level as LogLevel);
}
