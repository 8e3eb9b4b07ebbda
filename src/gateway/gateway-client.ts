/**
 * One client of the gateway. Each client has its own protocol instance, which keeps its request ids,
 * cancellations, log level and watched resources separate from those of other clients.
 */

import type { Server } from '@modelcontextprotocol/server';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { type LogLevel, levelPasses } from '../domain/log-level.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { existsIn, methods } from '../protocol/methods.ts';
import {
  type ClientIdentity,
  ClientRequests,
  ignore,
  inputRequiredIn,
  levelOf,
} from './client-requests.ts';
import { LightCall, type PlainRequest } from './fast-call.ts';
import type { Audience, Gateway, ListKind } from './gateway.ts';
import { ProtocolServer, params } from './protocol-server.ts';
import { failedRequest } from './rpc-error.ts';
import type { GatewayIdentity } from './server-info.ts';

// Other clients may have requested more detail; without a request, a client gets no debug lines.
const defaultLevel: LogLevel = 'info';
// More than any client shows; the runtime also has a limit for each server.
const maxWatched = 256;
// Every list, and every resource that a client watches or follows on a second stream.
const maxMissed = 2 * maxWatched;

interface Notification {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** The connection of a client. */
export interface ClientConnection extends ClientIdentity {
  /** Whether the client can receive notifications now. */
  readonly canReceive: () => boolean;
  /** Whether the client follows this resource on a stream. */
  readonly listensFor?: (address: string) => boolean;
  readonly onClosed: () => void;
}

/** Name in the log for clients without a session. */
export const sessionlessClients = 'a client of 2026-07-28';
let clientCount = 0;

export class GatewayClient implements Audience {
  readonly server: Server;
  /** For the SDK's handler of HTTP requests, which checks the headers of a call's arguments with it. */
  readonly protocol: ProtocolServer;
  readonly #gateway: Gateway;
  readonly #era: 'legacy' | 'modern';
  readonly #requests: ClientRequests;
  /** Calls that started without the SDK, by request id. */
  readonly #light = new Map<string | number, LightCall>();
  readonly #handedOver = new WeakMap<Request, LightCall>();
  readonly #watched = new Map<string, () => void>();
  readonly #connection: ClientConnection;
  /** Changes of lists and watched resources that could not be sent yet, without duplicates. */
  readonly #missed = new Map<string, Notification>();
  readonly #leave: () => void;
  #level: LogLevel | undefined;
  /** Withdraws this client's log level from the servers. */
  #endLevel: (() => void) | undefined;

  constructor(
    gateway: Gateway,
    { info, capabilities, instructions }: GatewayIdentity,
    era: 'legacy' | 'modern',
    connection: ClientConnection = { canReceive: () => true, onClosed: ignore },
  ) {
    this.#connection = connection;
    this.#gateway = gateway;
    this.#era = era;
    this.protocol = new ProtocolServer(gateway, info, instructions);
    this.server = this.protocol.server;
    this.server.registerCapabilities(capabilities);
    this.#requests = new ClientRequests(gateway, era, this.server, connection);
    if (capabilities.tools !== undefined) this.#offerTools();
    if (capabilities.resources !== undefined)
      this.#offerResources(capabilities.resources.subscribe === true);
    if (capabilities.prompts !== undefined) this.protocol.offerPrompts(this.#requests);
    if (capabilities.completions !== undefined) this.protocol.offerCompletions(this.#requests);
    if (capabilities.logging !== undefined && era === 'legacy') this.#offerLogLevel();
    this.#leave = gateway.join(this);
    this.server.onclose = () => this.#closed();
    const name = era === 'modern' ? sessionlessClients : `client ${(clientCount += 1)}`;
    this.server.onerror = (error) => gateway.faults.add(name, error);
  }

  listChanged(kind: ListKind): void {
    if (this.server.getCapabilities()[kind] === undefined) return;
    this.#notify({ method: methods[`${kind}Changed`].name });
  }

  /** Sends the changes that the client missed, once it can receive again. */
  sendMissed(): void {
    for (const [key, news] of [...this.#missed]) {
      if (!this.#connection.canReceive()) return;
      this.#missed.delete(key);
      this.#send(news);
    }
  }

  resourceUpdated(server: string, uri: string): void {
    const address = this.#gateway.offers.addressOf(server, uri);
    if (this.#watched.has(address) || this.#connection.listensFor?.(address) === true)
      this.#notify({ method: methods.resourceUpdated.name, params: { uri: address } });
  }

  /** Sends a log line with a request in progress at this server; otherwise only if the client asked for logs. */
  logged(server: string, line: Readonly<Record<string, unknown>>): void {
    const notification = {
      method: methods.logMessage.name,
      params: keepNumbers({ ...line }, line),
    };
    const context = this.#requests.underWayAt(server);
    if (context !== undefined) {
      const wanted =
        this.#era === 'modern' ? levelOf(context.mcpReq.envelope) : (this.#level ?? defaultLevel);
      if (this.#era === 'modern' && wanted === undefined) return;
      if (levelPasses(line['level'], wanted)) context.mcpReq.notify(notification).catch(ignore);
    } else if (this.#level !== undefined && levelPasses(line['level'], this.#level)) {
      this.#send(notification);
    }
  }

  /** Calls a tool without the SDK; undefined when the SDK must handle the request. */
  callLightly(request: PlainRequest): LightCall | undefined {
    const { id, name, args } = request;
    if (this.server.getCapabilities().tools === undefined || this.#light.has(id)) return undefined;
    const call = new LightCall(id, request.meta, (context) =>
      this.#requests.call(name, args, context).finally(() => this.#light.delete(id)),
    );
    this.#light.set(id, call);
    return call;
  }

  /** Marks a call that started without the SDK to be continued by this request. */
  handOver(call: LightCall, request: Request): void {
    this.#handedOver.set(request, call);
  }

  /** Whether a request is in progress. */
  get isAtWork(): boolean {
    return this.#light.size > 0 || this.#requests.isAtWork;
  }

  /** Whether a call of this client runs in the background. */
  get hasBackgroundCall(): boolean {
    return this.#requests.hasBackgroundCall;
  }

  /** Cancels a request. */
  cancel(id: string | number): void {
    this.#light.get(id)?.abort();
  }

  #offerTools(): void {
    this.protocol.offerList(methods.listTools.name, 'tools', (context) => ({
      tools: this.#gateway.tools(
        this.#requests.canOpenPages(context),
        this.#requests.rendersApps(context),
      ),
    }));
    this.server.setRequestHandler(
      methods.callTool.name,
      { params: params.call },
      ({ name, arguments: args = {} }, context) => {
        const request = context.http?.req;
        const begun = request === undefined ? undefined : this.#handedOver.get(request);
        if (request === undefined || begun === undefined)
          return this.#requests.call(name, args, context);
        // The SDK may call this handler again for one request, with an answer to a question.
        this.#handedOver.delete(request);
        return begun.goOn(context);
      },
    );
  }

  #offerResources(canWatch: boolean): void {
    const { offers, troupe } = this.#gateway;
    this.protocol.offerList(methods.listResources.name, 'resources', () => ({
      resources: offers.resources(),
    }));
    this.protocol.offerList(methods.listTemplates.name, 'resources', () => ({
      resourceTemplates: offers.resourceTemplates(),
    }));
    this.server.setRequestHandler(
      methods.readResource.name,
      { params: params.read },
      ({ uri }, context) =>
        this.#requests.request(
          context,
          () => offers.resourceAt(uri),
          async ({ server, name }, options) => {
            const { result } = await troupe.readResource(server, name, options);
            const wanted = inputRequiredIn(result);
            if (wanted !== undefined) return wanted;
            const contents = offers.contents(server, result.contents);
            return keepNumbers({ ...result, contents }, result);
          },
        ),
    );
    if (!canWatch || !existsIn(methods.subscribe, this.#era)) return;
    this.server.setRequestHandler(methods.subscribe.name, { params: params.read }, ({ uri }) => {
      try {
        this.#watch(uri);
      } catch (error) {
        throw failedRequest(error);
      }
      return {};
    });
    this.server.setRequestHandler(methods.unsubscribe.name, { params: params.read }, ({ uri }) => {
      this.#watched.get(uri)?.();
      this.#watched.delete(uri);
      return {};
    });
  }

  #watch(address: string): void {
    const { server, name } = this.#gateway.offers.resourceAt(address);
    if (this.#watched.size >= maxWatched)
      throw new TroupeError(
        'OVERLOADED',
        `This client already watches ${maxWatched} resources. Unsubscribe from one first.`,
        { server },
      );
    this.#watched.get(address)?.();
    this.#watched.set(address, this.#gateway.troupe.subscribe(server, name));
  }

  #offerLogLevel(): void {
    this.server.setRequestHandler(
      methods.setLogLevel.name,
      { params: params.level },
      ({ level }) => {
        const before = this.#endLevel;
        this.#endLevel = this.#gateway.troupe.wantLogs(level);
        before?.();
        this.#level = level;
        return {};
      },
    );
  }

  /** Sends a change now, or once the client can receive again. */
  #notify(news: Notification): void {
    if (this.#connection.canReceive()) this.#send(news);
    // Also kept when the resource is no longer watched by then, because it was when it changed.
    else if (this.#missed.size < maxMissed) this.#missed.set(JSON.stringify(news), news);
  }

  #send(notification: Notification): void {
    this.server.notification(notification).catch(ignore);
  }

  #closed(): void {
    this.#leave();
    this.#requests.close();
    this.#endLevel?.();
    for (const end of this.#watched.values()) end();
    this.#watched.clear();
    for (const call of this.#light.values()) call.abort();
    this.#connection.onClosed();
  }
}
