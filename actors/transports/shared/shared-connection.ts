/**
 * One process for the sessions of several clients. Each of them has a {@link LeasedConnection} and
 * knows nothing of the others:
 *
 *  - The handshake is sent once; a later client gets the stored answer.
 *  - Request ids are unique in this program, so a response, and progress, goes to the client that asked.
 *  - A question of the server goes to the only client with a call that it can be about; if that is not
 *    certain, it is refused.
 *  - A line of the log goes to the clients with a call in flight, otherwise to those with an abandoned one
 *    that may still run, otherwise to the one that had the last call.
 *  - The update of a resource goes to its subscribers, the news about lists to everyone.
 *  - A client that leaves has its requests cancelled and its subscriptions ended.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Clock } from '../../../src/domain/clock.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { LogStream } from '../../../src/domain/server-log.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { alreadySent } from '../../../src/protocol/messages.ts';
import { metaKeys } from '../../../src/protocol/meta.ts';
import { methods } from '../../../src/protocol/methods.ts';
import { takeRequestId } from '../../../src/protocol/requests.ts';
import { rejected } from '../../../src/protocol/rpc-codes.ts';
import type { KeptProcess } from '../../processes/started-processes.ts';
import type { StdioLaunch } from '../../processes/system.ts';
import type { ConnectionEvents, ConnectionSetup, Seen } from '../connection/connection.ts';
import { StdioTransport } from '../stdio/transport.ts';
import { handshake, type Id, type Request, type Response, SharedHandshake } from './handshake.ts';
import { Hearers, type Notification } from './hearers.ts';
import { LeasedConnection, type Release } from './leased-connection.ts';

/** A request in flight. */
interface Sent {
  readonly holder: LeasedConnection;
  readonly method: string;
  /** The metadata that a modern request carries, without which its cancellation is not understood. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
}

export interface SharedSetup {
  readonly clock: Clock;
  readonly launch: StdioLaunch;
  readonly kept: KeptProcess | undefined;
  /** Called when the server has answered a request with a result. */
  readonly onAnswer: () => void;
  /** Called when the connection broke, and the process is about to end. */
  readonly onBroke: () => void;
  /** Called when the process has ended by itself. */
  readonly onEnded: () => void;
  /** Called when a client has changed its roots, which other clients do not have. */
  readonly onRootsChanged: (holder: LeasedConnection) => void;
  /** Called once when none of a client's requests is in flight: see {@link SharedConnection.watchUse}. */
  readonly onUnused: (holder: LeasedConnection) => void;
}

const refusedQuestion =
  'asked a question that may be for any of several clients, so it was refused; "sharing": "client" gives each client a process of its own';

export class SharedConnection implements ConnectionEvents {
  readonly #setup: SharedSetup;
  readonly #transport: StdioTransport;
  readonly #secrets: string[] = [];
  readonly #holders = new Set<LeasedConnection>();
  /** The last client that joined, whose policy applies to the end of the process. */
  #last: LeasedConnection | undefined;
  readonly #sent = new Map<Id, Sent>();
  readonly #handshake = new SharedHandshake();
  readonly #hearers: Hearers;
  /** The questions of the server that wait for an answer. */
  readonly #asked = new Map<Id, LeasedConnection>();
  readonly #watched = new Set<LeasedConnection>();
  #initializedBy: LeasedConnection | undefined;
  #started: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(setup: SharedSetup) {
    this.#setup = setup;
    const { clock, launch, kept } = setup;
    this.#hearers = new Hearers(clock);
    this.#transport = new StdioTransport(launch, {
      ...{ clock, events: this, secrets: this.#secrets },
      policy: () => (this.#last as LeasedConnection).policy(),
      ...(kept !== undefined && { kept }),
    });
    this.#transport.onmessage = (message) => this.#route(message);
    this.#transport.stages.onRead = (messages) => {
      for (const { stages } of this.#holders) stages.onRead?.(messages);
    };
  }

  get pid(): number | undefined {
    return this.#transport.pid;
  }

  /** Time since the last call, in milliseconds. */
  get unusedMs(): number {
    return this.#hearers.unusedMs;
  }

  /** Has it reported when none of a client's requests is in flight. */
  watchUse(holder: LeasedConnection): void {
    this.#watched.add(holder);
    this.#checkUse(holder);
  }

  join(setup: ConnectionSetup, release: Release): LeasedConnection {
    const holder = new LeasedConnection(setup, this, release);
    this.#holders.add(holder);
    this.#last = holder;
    for (const secret of setup.secrets)
      if (!this.#secrets.includes(secret)) this.#secrets.push(secret);
    // The longest first, so that a secret that contains another is removed completely.
    this.#secrets.sort((one, other) => other.length - one.length);
    return holder;
  }

  launch(): Promise<void> {
    return this.#transport.launch();
  }

  start(): Promise<void> {
    this.#started ??= this.#transport.start();
    return this.#started;
  }

  close(how: 'orderly' | 'lost' | 'killed'): Promise<void> {
    if (how === 'killed') this.#transport.dispose();
    this.#closed ??= this.#transport.close();
    return this.#closed;
  }

  /** Ends everything that a client has going on. */
  leave(holder: LeasedConnection): void {
    if (!this.#holders.delete(holder)) return;
    for (const [id, sent] of [...this.#sent]) if (sent.holder === holder) this.#giveUp(id, sent);
    this.#handshake.leave(holder);
    for (const [id, each] of this.#asked) if (each === holder) this.#refuse(id, 'The client left.');
    for (const uri of this.#hearers.forget(holder)) this.#ask(methods.unsubscribe.name, { uri });
    this.#watched.delete(holder);
  }

  send(holder: LeasedConnection, message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) {
      if (message.id !== undefined) this.#asked.delete(message.id);
      return this.#transport.send(message);
    }
    if (!('id' in message)) return this.#notify(holder, message as Notification);
    const { method, params } = message;
    if (handshake.has(method)) return this.#greet(holder, message);
    if (this.#isSettledHere(method, params ?? {}, holder))
      return answer(holder, { jsonrpc: '2.0', id: message.id, result: {} });
    return this.#request(holder, message);
  }

  contextFor(holder: LeasedConnection): Partial<Seen> {
    return this.#visibleTo(holder, this.#transport.context());
  }

  evidenceFor(holder: LeasedConnection): SessionEvidence {
    return this.#visibleTo(holder, this.#transport.evidence());
  }

  // What the process reports.

  ended(seen: Seen): void {
    this.#setup.onEnded();
    for (const holder of [...this.#holders]) holder.lose(this.#visibleTo(holder, seen));
  }

  broke(): void {
    this.#setup.onBroke();
    this.#tell((events) => events.broke());
  }

  // A pipe is not doubted, and loses nothing.
  doubted(): void {}
  missed(): void {}
  sending(): void {}

  flooded(failure: Failure): void {
    this.#tell((events) => events.flooded(failure));
  }

  calmed(hasMissed: boolean): void {
    this.#tell((events) => events.calmed(hasMissed));
  }

  paused(): void {
    this.#tell((events) => events.paused());
  }

  resumed(): void {
    this.#tell((events) => events.resumed());
  }

  #tell(tell: (events: ConnectionEvents) => void): void {
    for (const { events } of this.#holders) tell(events);
  }

  remark(line: string, stream?: LogStream): void {
    const hearers = stream === undefined ? this.#holders : this.#hearers.ofOutput(this.#holders);
    for (const { events } of hearers) events.remark(line, stream);
  }

  // From a client to the server.

  #request(holder: LeasedConnection, message: Request): Promise<void> {
    const { id, method, params } = message;
    const meta = params?._meta as Sent['meta'];
    this.#sent.set(id, { holder, method, meta });
    this.#hearers.noteSent(id, method, holder);
    if (!handshake.has(method)) for (const name of handshake) holder.greeted.add(name);
    const sending = this.#transport.send(message);
    if (sending !== alreadySent) sending.catch(() => this.#settle(id));
    return sending;
  }

  #greet(holder: LeasedConnection, message: Request): Promise<void> {
    const known = this.#handshake.answerFor(holder, message);
    if (known === 'none') return this.#request(holder, message);
    return known === 'awaited' ? Promise.resolve() : answer(holder, known);
  }

  #notify(holder: LeasedConnection, message: Notification): Promise<void> {
    const { method, params } = message;
    if (method === methods.initialized.name) {
      if (this.#initializedBy !== undefined) return Promise.resolve();
      this.#initializedBy = holder;
    }
    if (method === methods.rootsChanged.name) {
      this.#setup.onRootsChanged(holder);
      if (this.#holders.size > 1) return Promise.resolve();
    }
    if (method === methods.cancelled.name) {
      const id = params?.['requestId'] as Id;
      const sent = this.#sent.get(id);
      if (sent?.holder !== holder) return Promise.resolve();
      return this.#abandon(id, sent, message);
    }
    return this.#transport.send(message);
  }

  /** Cancels a request of a client that leaves; one of the handshake is left for the others. */
  #giveUp(id: Id, sent: Sent): void {
    if (handshake.has(sent.method)) return;
    const _meta = sent.meta && withoutToken(sent.meta);
    const params = { requestId: id, reason: 'The client left.', ...(_meta && { _meta }) };
    const message = { jsonrpc: '2.0', method: methods.cancelled.name, params } as Notification;
    // A connection that cannot send has ended, which is reported elsewhere.
    this.#abandon(id, sent, message).catch(() => {});
  }

  #abandon(id: Id, sent: Sent, message: Notification): Promise<void> {
    this.#sent.delete(id);
    const cancelled = this.#transport.send(message);
    const isModern = sent.meta?.[metaKeys.protocolVersion] !== undefined;
    this.#hearers.noteCancelled(id, isModern ? undefined : () => this.#ask(methods.ping.name));
    this.#checkUse(sent.holder);
    return cancelled;
  }

  /** Sends a request of no client, whose answer is only a sign of life. Returns its id. */
  #ask(method: string, params?: Readonly<Record<string, unknown>>): Id {
    const id = takeRequestId();
    const message = { jsonrpc: '2.0', id, method, ...(params && { params }) } as Request;
    this.#transport.send(message).catch(() => {});
    return id;
  }

  /** Notes what a client wants to hear; returns whether the server need not know. */
  #isSettledHere(
    method: string,
    { uri, level }: Readonly<Record<string, unknown>>,
    holder: LeasedConnection,
  ): boolean {
    if (method === methods.subscribe.name) this.#hearers.subscribe(String(uri), holder);
    if (method === methods.unsubscribe.name) return !this.#hearers.unsubscribe(String(uri), holder);
    return method === methods.setLogLevel.name && !this.#hearers.setLevel(level, holder);
  }

  // From the server to the clients.

  #route(message: JSONRPCMessage): void {
    if (!('method' in message)) this.#routeResponse(message);
    else if ('id' in message) this.#routeRequest(message);
    else this.#routeNotification(message as Notification);
  }

  #routeResponse(message: Response): void {
    // Some servers return a numeric id as a string.
    const id = this.#sent.has(message.id as Id) ? (message.id as Id) : Number(message.id);
    const sent = this.#sent.get(id);
    if ('result' in message) this.#setup.onAnswer();
    if (sent !== undefined) this.#handshake.note(id, sent.method, message);
    this.#settle(id, message);
  }

  /** Ends a request, with its answer or because it was not sent. */
  #settle(id: Id, message?: Response): void {
    const sent = this.#sent.get(id);
    this.#sent.delete(id);
    this.#hearers.noteAnswer(id);
    if (sent === undefined) return;
    if (message !== undefined) sent.holder.deliver(message);
    this.#checkUse(sent.holder);
  }

  #routeRequest(message: Request): void {
    const { id, method } = message;
    const [first] = this.#holders;
    if (first === undefined) return this.#refuse(id, 'No client is connected.');
    const isQuestion = method === methods.elicit.name || method === methods.sample.name;
    if (!isQuestion) return this.#pass(first, message);
    const owner = this.#hearers.ofQuestion(this.#holders);
    if (owner !== undefined) return this.#pass(owner, message);
    this.#refuse(id, 'The request may be for any of several clients.');
    this.remark(refusedQuestion);
  }

  #pass(holder: LeasedConnection, message: Request): void {
    this.#asked.set(message.id, holder);
    holder.deliver(message);
  }

  #refuse(id: Id, message: string): void {
    this.#asked.delete(id);
    const refusal = { jsonrpc: '2.0', id, error: { code: rejected, message } } as const;
    this.#transport.send(refusal).catch(() => {});
  }

  #routeNotification(message: Notification): void {
    const senderOf = (id: Id): LeasedConnection | undefined =>
      (this.#sent.get(id) ?? this.#sent.get(Number(id)))?.holder;
    const askedOf = (id: Id): LeasedConnection | undefined => this.#asked.get(id);
    const hearers = this.#hearers.ofNotification(message, this.#holders, senderOf, askedOf);
    if (message.method === methods.cancelled.name)
      this.#asked.delete(message.params?.['requestId'] as Id);
    for (const holder of hearers) holder.deliver(message);
  }

  /** Leaves out what the process wrote if it may be about another client's call. */
  #visibleTo<Evidence extends SessionEvidence>(holder: LeasedConnection, seen: Evidence): Evidence {
    if (this.#hearers.seesAll(holder)) return seen;
    const { stderrTail: _tail, explanation: _explanation, ...visible } = seen;
    return visible as Evidence;
  }

  #checkUse(holder: LeasedConnection): void {
    if (!this.#watched.has(holder) || this.#isUsedBy(holder)) return;
    this.#watched.delete(holder);
    this.#setup.onUnused(holder);
  }

  #isUsedBy(holder: LeasedConnection): boolean {
    // A subscription has no end.
    return [...this.#sent.values()].some(
      (sent) => sent.holder === holder && sent.method !== methods.listen.name,
    );
  }
}

/** Answers in place of the server, as late as it would. */
function answer(holder: LeasedConnection, message: Response): Promise<void> {
  process.nextTick(() => holder.deliver(message));
  return Promise.resolve();
}

function withoutToken({
  progressToken: _token,
  ...meta
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return meta;
}
