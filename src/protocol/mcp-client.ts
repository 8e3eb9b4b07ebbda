/**
 * The client side of MCP over one connection, in both protocol eras: the handshake, requests and
 * their responses, subscriptions, and what the server sends by itself. Callers' requests are sent by
 * `requests.ts`, and the session answers questions of older servers; both get their messages before
 * this client does.
 *
 * It replaces the SDK's client, which takes 57 ms of CPU time to load and parses every message with
 * schemas. The first request of the handshake decides the era; `src/protocol/handshake.ts` reads the answers.
 */

import type {
  ClientCapabilities,
  JSONRPCMessage,
  SubscriptionFilter,
  Transport,
} from '@modelcontextprotocol/client';
import { type Clock, startDeadline } from '../domain/clock.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { logLevels } from '../domain/log-level.ts';
import type { EraVerdict, ListName } from '../domain/session.ts';
import { version } from '../domain/version.ts';
import { ProtocolFault } from './errors.ts';
import {
  completed,
  eraFault,
  isModernRefusal,
  judgeProbe,
  legacyVersions,
  modernVersion,
  oldFault,
  type ProbeOutcome,
  readDiscovery,
  readGreeting,
  type ServerFacts,
  withoutType,
} from './handshake.ts';
import { metaKeys } from './meta.ts';
import { methods, type OwnRequest, type ParamsOf } from './methods.ts';
import { takeRequestId } from './requests.ts';
import { methodNotFound, RpcError } from './rpc-codes.ts';

type Fields = Readonly<Record<string, unknown>>;
type Request = Extract<JSONRPCMessage, { method: string; id: unknown }>;
type Response = Exclude<JSONRPCMessage, { method: string }>;

const clientInfo = { name: 'mcp-troupe', version };
const unknownMethod = { code: methodNotFound, message: 'Method not found' };
const changedLists: ReadonlyMap<string, ListName> = new Map([
  [methods.toolsChanged.name, 'tools'],
  [methods.resourcesChanged.name, 'resources'],
  [methods.promptsChanged.name, 'prompts'],
]);

/** A notification from the server. */
export type News =
  | { readonly about: ListName }
  | { readonly about: 'resource'; readonly uri: string }
  /** A message from the server's log. */
  | { readonly about: 'message'; readonly params: Fields };

/** How long to wait for a response. */
export interface Within {
  readonly clock: Clock;
  readonly ms: number;
}

/** How the era of a connection is found. */
export type Negotiation =
  | { readonly mode: 'legacy' }
  | {
      /** `auto`: with a probe. */
      readonly mode: 'modern' | 'auto';
      /** Whether all messages share one channel, on which silence is a sign of an older server. */
      readonly hasChannel: boolean;
      /** Default: no limit. */
      readonly within?: Within | undefined;
    };

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: no limit. */
  readonly within?: Within | undefined;
}

type Probing = Exclude<Negotiation, { readonly mode: 'legacy' }>;

interface Pending {
  readonly resolve: (result: Fields) => void;
  readonly reject: (error: unknown) => void;
}

interface Subscription {
  readonly onOpen: () => void;
  readonly onEnd: (error: Error) => void;
}

export function createClient(
  negotiation: Negotiation,
  onNews: (news: News) => void,
  capabilities: ClientCapabilities = {},
): Client {
  return new Client(negotiation, onNews, capabilities);
}

export class Client {
  readonly #negotiation: Negotiation;
  readonly #onNews: (news: News) => void;
  readonly #capabilities: ClientCapabilities;
  #transport: Transport | undefined;
  #version: string | undefined;
  #facts: ServerFacts | undefined;
  readonly #pending = new Map<number, Pending>();
  #subscriptions: Map<string, Subscription> | undefined;
  /** Only while it is open, requests of the server are answered and its notifications heard. */
  #phase: 'open' | 'probing' | 'closed' = 'open';

  constructor(
    negotiation: Negotiation,
    onNews: (news: News) => void,
    capabilities: ClientCapabilities,
  ) {
    this.#negotiation = negotiation;
    this.#onNews = onNews;
    this.#capabilities = capabilities;
  }

  /** Undefined until the handshake is over. */
  getProtocolEra(): 'legacy' | 'modern' | undefined {
    if (this.#version === undefined) return undefined;
    return this.#version >= modernVersion ? 'modern' : 'legacy';
  }

  getServerCapabilities(): ServerFacts['capabilities'] | undefined {
    return this.#facts?.capabilities;
  }

  getServerVersion(): ServerFacts['info'] {
    return this.#facts?.info;
  }

  getInstructions(): string | undefined {
    return this.#facts?.instructions;
  }

  /** The modern server's own description, with which the next session needs no probe. */
  getDiscoverResult(): ServerFacts['discovery'] {
    return this.#facts?.discovery;
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }

  /** Opens the connection and finishes the handshake; with a known era, without a probe. */
  async connect(transport: Transport, prior?: EraVerdict): Promise<void> {
    this.#listen(transport);
    if (prior !== undefined) return this.#connectAs(transport, prior);
    const negotiation = this.#negotiation;
    if (negotiation.mode === 'legacy') {
      await transport.start();
      return this.#greet(transport);
    }
    let discovered: ServerFacts | 'old' | 'unclear';
    try {
      this.#enterPhase('probing');
      await transport.start();
      discovered = await this.#probe(negotiation);
      this.#enterPhase('open');
    } catch (error) {
      await transport.close().catch(() => {});
      throw error;
    }
    if (discovered === 'old') return this.#greet(transport);
    // The server may be a modern one that is still starting.
    if (discovered === 'unclear')
      return this.#greet(transport, { ...negotiation, within: undefined });
    this.#enter(transport, modernVersion, discovered);
  }

  /** Sends a request. Rejects as soon as the signal is aborted; the server is then notified. */
  request<Key extends OwnRequest>(
    key: Key,
    params: ParamsOf[Key],
    options: RequestOptions = {},
  ): Promise<Fields> {
    const method = methods[key].name;
    const era = this.getProtocolEra() ?? 'legacy';
    const result = this.#exchange(method, { ...params }, options, era);
    return era === 'modern'
      ? result.then((it) => completed(method, it, false))
      : result.then(withoutType);
  }

  /** Probes whether the server is alive. */
  async ping(options?: RequestOptions): Promise<void> {
    await this.request('ping', {}, options);
  }

  /** The probe of modern servers, which have no ping. */
  async discover(options?: RequestOptions): Promise<void> {
    readDiscovery(await this.request('discover', {}, options));
  }

  /**
   * Has a modern server announce changes. Resolves once it has agreed, with a promise that resolves
   * when it stops.
   */
  listen(
    filter: SubscriptionFilter,
    signal: AbortSignal,
    { clock, ms }: Within,
  ): Promise<{ readonly ended: Promise<void> }> {
    const id = `listen:${takeRequestId()}`;
    const stream = new AbortController();
    const subscriptions = (this.#subscriptions ??= new Map<string, Subscription>());
    return new Promise((resolve, reject) => {
      let end: () => void = () => {};
      const ended = new Promise<void>((done) => {
        end = done;
      });
      const onEnd = (error: Error): void => {
        if (!subscriptions.delete(id)) return;
        stopClock();
        signal.removeEventListener('abort', stop);
        stream.abort();
        end();
        reject(error);
      };
      const stop = (): void => {
        if (!subscriptions.has(id)) return;
        onEnd(new Error('The subscription was given up.'));
        this.#cancel(id, 'The subscription was given up.');
      };
      const stopClock = startDeadline(clock, ms, stop);
      const onOpen = (): void => {
        stopClock();
        resolve({ ended });
      };
      subscriptions.set(id, { onOpen, onEnd });
      signal.addEventListener('abort', stop, { once: true });
      const params = { _meta: this.envelope(), notifications: filter };
      this.#send({ jsonrpc: '2.0', id, method: methods.listen.name, params } as JSONRPCMessage, {
        requestSignal: stream.signal,
        onRequestStreamEnd: () => onEnd(new Error('The stream of the subscription ended.')),
      }).catch(onEnd);
    });
  }

  async #connectAs(transport: Transport, prior: EraVerdict): Promise<void> {
    const discovery = prior.kind === 'modern' ? readDiscovery(prior.discover) : undefined;
    const isModern = discovery?.discovery?.supportedVersions.includes(modernVersion) === true;
    if (prior.kind === 'modern' && !isModern)
      throw eraFault('the stored era has no protocol version in common with this client');
    await transport.start();
    if (discovery === undefined) return this.#greet(transport);
    this.#enter(transport, modernVersion, discovery);
  }

  /**
   * Performs the old handshake. If the server refuses it the way a modern one does, probes again, if
   * wanted; only the connect deadline limits that probe.
   */
  async #greet(transport: Transport, probing?: Probing): Promise<void> {
    try {
      const greeting = {
        protocolVersion: legacyVersions[0],
        capabilities: this.#capabilities,
        clientInfo,
      };
      const facts = readGreeting(
        await this.#exchange(methods.initialize.name, greeting, {}, 'legacy'),
      );
      this.#facts = facts;
      transport.setProtocolVersion?.(facts.version);
      await this.#send({ jsonrpc: '2.0', method: methods.initialized.name });
      this.#version = facts.version;
    } catch (error) {
      const mayBeModern = probing !== undefined && isModernRefusal(error);
      const facts = mayBeModern ? await this.#probeAgain(probing) : undefined;
      if (facts !== undefined) return this.#enter(transport, modernVersion, facts);
      void transport.close();
      throw error;
    }
  }

  /** Begins or ends a probe; a closed client stays closed. */
  #enterPhase(phase: 'open' | 'probing'): void {
    if (!this.isClosed) this.#phase = phase;
  }

  /** Returns what a modern server says of itself; undefined for any other. */
  async #probeAgain(negotiation: Probing): Promise<ServerFacts | undefined> {
    this.#enterPhase('probing');
    try {
      const found = await this.#probe(negotiation);
      return typeof found === 'string' ? undefined : found;
    } catch {
      // The first refusal says more.
      return undefined;
    } finally {
      this.#enterPhase('open');
    }
  }

  /** Asks for the era. Returns what a modern server said of itself. */
  async #probe(negotiation: Probing, isRepeated = false): Promise<ServerFacts | 'old' | 'unclear'> {
    const { mode, hasChannel, within } = negotiation;
    const outcome = await this.#exchange(methods.discover.name, {}, { within }, 'probe').then(
      (result): ProbeOutcome => ({ kind: 'result', result }),
      (error: unknown): ProbeOutcome => {
        if (this.isClosed) return { kind: 'closed' };
        const isLate = error instanceof ProtocolFault && error.code === 'REQUEST_TIMEOUT';
        return isLate ? { kind: 'silent' } : { kind: 'failed', error };
      },
    );
    const found = judgeProbe(outcome, hasChannel);
    if (found.era === 'modern') return found.facts;
    if (found.era === 'contradicted') {
      if (isRepeated) throw found.error;
      return this.#probe(negotiation, true);
    }
    if (mode === 'modern')
      throw found.era === 'unclear' ? found.error : oldFault(outcome.kind === 'closed');
    // The session chart then starts the process again.
    if (outcome.kind === 'closed') throw eraFault('the connection closed during the era probe');
    return found.era === 'unclear' || outcome.kind === 'silent' ? 'unclear' : 'old';
  }

  #enter(transport: Transport, negotiated: string, facts: ServerFacts): void {
    this.#facts = facts;
    this.#version = negotiated;
    transport.setProtocolVersion?.(negotiated);
  }

  #listen(transport: Transport): void {
    this.#transport = transport;
    transport.onmessage = (message) => this.#receive(message);
    transport.onclose = () => this.#close();
  }

  /** Returns the metadata that every request of a modern session carries. */
  envelope(): Fields {
    return {
      [metaKeys.protocolVersion]: this.#version ?? modernVersion,
      [metaKeys.clientInfo]: clientInfo,
      [metaKeys.clientCapabilities]: this.#capabilities,
    };
  }

  #exchange(
    method: string,
    params: Fields,
    { signal, within }: RequestOptions,
    how: 'legacy' | 'modern' | 'probe',
  ): Promise<Fields> {
    const isModern = how !== 'legacy';
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(givenUp(signal.reason));
      const id = takeRequestId();
      const hasStream = isModern && this.#transport?.hasPerRequestStream === true;
      const stream = hasStream ? new AbortController() : undefined;
      const giveUp = (reason: unknown): void => {
        if (!this.#pending.has(id)) return;
        fail(givenUp(reason));
        if (stream !== undefined) stream.abort();
        else if (how !== 'probe') this.#cancel(id, reason);
      };
      const abort = (): void => giveUp(signal?.reason);
      const stopClock =
        within && startDeadline(within.clock, within.ms, () => giveUp('Request timed out'));
      const settle = (): boolean => {
        stopClock?.();
        signal?.removeEventListener('abort', abort);
        return this.#pending.delete(id);
      };
      const fail = (error: unknown): void => {
        if (settle()) reject(error as Error);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#pending.set(id, {
        reject: fail,
        resolve: (result) => {
          if (settle()) resolve(result);
        },
      });
      const all = isModern ? { ...params, _meta: this.envelope() } : params;
      const sent = Object.keys(all).length > 0 ? { params: all } : {};
      const options = stream && { requestSignal: stream.signal };
      this.#send({ jsonrpc: '2.0', id, method, ...sent } as JSONRPCMessage, options).catch(fail);
    });
  }

  async #send(message: JSONRPCMessage, options?: Parameters<Transport['send']>[1]): Promise<void> {
    if (this.isClosed || this.#transport === undefined)
      throw new ProtocolFault('NOT_CONNECTED', 'Not connected');
    await this.#transport.send(message, options);
  }

  #cancel(requestId: number | string, reason: unknown): void {
    const meta = this.getProtocolEra() === 'modern' && { _meta: this.envelope() };
    const params = { requestId, reason: String(reason), ...meta };
    // A connection that cannot send reports that elsewhere.
    this.#send({ jsonrpc: '2.0', method: methods.cancelled.name, params }).catch(() => {});
  }

  #receive(message: JSONRPCMessage): void {
    if (!('method' in message)) this.#take(message);
    else if ('id' in message) this.#reply(message);
    else this.#hear(message.method, message.params ?? {});
  }

  #take(message: Response): void {
    const { id } = message;
    const subscription = typeof id === 'string' ? this.#subscriptions?.get(id) : undefined;
    if (subscription !== undefined) {
      const closed = new ProtocolFault('CONNECTION_CLOSED', 'The server ended the subscription.');
      return subscription.onEnd('error' in message ? new RpcError(message.error) : closed);
    }
    // Some servers return a numeric id as a string.
    const pending = this.#pending.get(Number(id));
    if ('error' in message) pending?.reject(new RpcError(message.error));
    else pending?.resolve(message.result as Fields);
  }

  /** Replies to a request that is not a question. Modern servers have no requests. */
  #reply({ id, method }: Request): void {
    if (this.#phase !== 'open' || this.getProtocolEra() === 'modern') return;
    const reply = method === methods.ping.name ? { result: {} } : { error: unknownMethod };
    // A connection that cannot send reports that elsewhere.
    this.#send({ jsonrpc: '2.0', id, ...reply } as JSONRPCMessage).catch(() => {});
  }

  #hear(method: string, params: Fields): void {
    if (this.#phase !== 'open') return;
    const list = changedLists.get(method);
    if (list !== undefined) return this.#onNews({ about: list });
    switch (method) {
      case methods.resourceUpdated.name: {
        const { uri } = params;
        return typeof uri === 'string' ? this.#onNews({ about: 'resource', uri }) : undefined;
      }
      case methods.logMessage.name:
        if (isLogMessage(params)) this.#onNews({ about: 'message', params });
        return;
      case methods.listening.name: {
        const meta = params['_meta'];
        const id = isRecord(meta) ? meta[metaKeys.subscriptionId] : undefined;
        return this.#subscriptions?.get(String(id))?.onOpen();
      }
      case methods.cancelled.name: {
        const cancelled = new Error('The server cancelled the subscription.');
        return this.#subscriptions?.get(String(params['requestId']))?.onEnd(cancelled);
      }
      default:
    }
  }

  #close(): void {
    if (this.isClosed) return;
    this.#phase = 'closed';
    const subscriptions = [...(this.#subscriptions?.values() ?? [])];
    // An error's stack trace costs more than the rest of a close.
    if (subscriptions.length + this.#pending.size === 0) return;
    const closed = new ProtocolFault('CONNECTION_CLOSED', 'Connection closed');
    for (const { onEnd } of subscriptions) onEnd(closed);
    for (const { reject } of [...this.#pending.values()]) reject(closed);
  }
}

function isLogMessage({ level, logger, data }: Fields): boolean {
  const isLevel = logLevels.some((each) => each === level);
  return isLevel && data !== undefined && (logger === undefined || typeof logger === 'string');
}

/** The failure rules treat a request that was given up like one without an answer. */
function givenUp(reason: unknown): ProtocolFault {
  return new ProtocolFault('REQUEST_TIMEOUT', String(reason));
}
