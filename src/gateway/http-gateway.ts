/**
 * The gateway over Streamable HTTP, for clients of both eras at one URL. Requests that are unauthorized,
 * too slow or too large are refused before they reach the protocol.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLegacyRequest } from '@modelcontextprotocol/server';
import { ConnectionLimits, usualStrangers } from '../../actors/host/connection-limits.ts';
import { httpListener, type RequestTimeouts, requestTimeouts } from '../../actors/host/listener.ts';
import { Outbox, type OutboxLimits, outboxLimits } from '../../actors/host/slow-readers.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { methods } from '../protocol/methods.ts';
import { serverError } from '../protocol/rpc-codes.ts';
import { metricsContentType } from './call-metrics.ts';
import type { ClientIdentity } from './client-requests.ts';
import { noteBody } from './exact-numbers.ts';
import type { Gateway } from './gateway.ts';
import { goneSignal, sendLight, sendWeb, webRequest } from './http-bridge.ts';
import { type Admitted, type Lane, Lanes, type TroupeWithViews } from './http-lanes.ts';
// Type-only: loaded late.
import type { ProtectedResource, TokenHolder } from './oauth/protected-resource.ts';
import {
  type AccessRules,
  type Refusal,
  readJson,
  refuseBody,
  refuseForeign,
  refusePath,
  refuseUnauthorized,
  viewIn,
} from './request-guard.ts';
import { addressesIn, watchAll } from './resource-subscriptions.ts';

export interface HttpGatewayOptions extends AccessRules {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** The troupe of the gateway, whose views are served at `/mcp/NAME`. Default: no views are served. */
  readonly views?: TroupeWithViews;
  /** Overrides the default limits. */
  readonly limits?: Partial<HttpLimits>;
}

/** How long a request may take, and how much a client may leave unread. */
export interface HttpLimits extends OutboxLimits, RequestTimeouts {}

export interface HttpGateway {
  /** The URL for clients. */
  readonly url: string;
  /** Refuses new clients, waits for requests in progress up to the limit, then closes. */
  close(limitMs: number): Promise<void>;
}

// Longer than an active client's pauses, so that it need not reconnect for each call.
const keepAliveMs = 60_000;
// For clients with a token; connections without one have a separate limit.
const maxClientSockets = 512;
// With an issuer's tokens, one user leaves most of them to the others.
const maxSocketsOfUser = 64;
// A machine that disappears closes no connection, so TCP keep-alive detects it.
const probeAfterMs = 60_000;

/** @throws TroupeError `USAGE` when the address is not available */
export async function startHttpGateway(
  gateway: Gateway,
  options: HttpGatewayOptions,
): Promise<HttpGateway> {
  const limits = { ...outboxLimits, ...requestTimeouts, ...options.limits };
  const requests = new GatewayRequests(gateway, options, limits);
  const listener = httpListener(
    requests.connections,
    (request, response) => void requests.answer(request, response),
    {
      timeouts: limits,
      keepAliveTimeout: keepAliveMs,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
    },
  );
  const { server } = listener;
  server.on('connection', (socket) => {
    // Node answers these errors itself, before there is a request.
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      const status = statusOf(code);
      if (status !== undefined) gateway.metrics.refused(status);
    });
  });
  // A client that sends `Expect: 100-continue` is checked before it sends its body.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    void requests.answer(request, response, () => response.writeContinue());
  });
  const { host, port: wanted, oauth } = options;
  // It needs a library that takes longer to load than the gateway, which mostly has a token file.
  const late = oauth && (await import('./oauth/protected-resource.ts'));
  await listener.listen({ port: wanted, host }, (error) => {
    const where = `${host}:${wanted}`;
    const why =
      error.code === 'EADDRINUSE'
        ? `${where} is in use; choose another port, or 0 for any free port`
        : `cannot listen on ${where} (${error.code ?? error.message}); choose another address`;
    return new TroupeError('USAGE', why, { cause: error });
  });
  server.on('error', (error) => gateway.faults.add('the gateway', error));
  const { port } = listener;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const url = `http://${shownHost}:${port}/mcp`;
  // Requests are answered in later turns of the event loop.
  if (oauth !== undefined && late !== undefined)
    requests.begin(new late.ProtectedResource(oauth, url, gateway.clock));
  return {
    url,
    async close(limitMs) {
      listener.stopAccepting();
      await requests.drain(limitMs);
      // Finished calls may not be answered yet.
      await requests.outbox.sent('answers', gateway.clock);
      await requests.close();
      await requests.outbox.sent('streams', gateway.clock);
      listener.close();
    },
  };
}

class GatewayRequests {
  readonly #gateway: Gateway;
  readonly #rules: AccessRules;
  readonly #lanes: Lanes;
  /** Set once the gateway's URL is known, if it accepts the tokens of an issuer. */
  #resource: ProtectedResource | undefined;
  readonly connections = new ConnectionLimits({
    strangers: usualStrangers,
    known: maxClientSockets,
    ofUser: maxSocketsOfUser,
  });
  readonly outbox: Outbox;

  constructor(
    gateway: Gateway,
    { views, ...rules }: AccessRules & Pick<HttpGatewayOptions, 'views'>,
    limits: OutboxLimits,
  ) {
    this.#gateway = gateway;
    this.#rules = rules;
    this.outbox = new Outbox(limits, {
      dropped: () => gateway.metrics.droppedNote(),
      unread: () => gateway.metrics.leftUnread(),
    });
    this.#lanes = new Lanes(gateway, views);
  }

  /** Starts to answer requests with an issuer's tokens. */
  begin(resource: ProtectedResource): void {
    this.#resource = resource;
  }

  /** Answers one request. Never rejects. */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    onAccepted: () => void = () => undefined,
  ): Promise<void> {
    response.on('error', () => undefined);
    try {
      const access = await this.#accessOf(request);
      // A closed connection must not be counted, because nothing would end that.
      if (request.socket.destroyed) return;
      const refusal =
        'refusal' in access ? access.refusal : this.#admit(request, response, access.user);
      if (refusal !== undefined) this.#refuse(response, refusal);
      else if (!('refusal' in access)) await this.#route(request, response, onAccepted, access);
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      this.#gateway.faults.add('the gateway', fault);
      if (!response.headersSent)
        this.#refuse(response, { status: 500, message: 'the gateway failed' });
      else response.destroy();
    }
  }

  async close(): Promise<void> {
    await this.#lanes.close();
  }

  /** Refuses new requests and waits for those in progress, up to the limit. */
  async drain(limitMs: number): Promise<void> {
    await this.#lanes.drain(limitMs);
  }

  /** Who sent a request, or why it is refused. */
  async #accessOf(request: IncomingMessage): Promise<Access> {
    const foreign = refuseForeign(request, this.#rules);
    if (foreign !== undefined) return { refusal: foreign };
    if (this.#isPublic(request)) return {};
    const { oauth } = this.#rules;
    if (oauth !== undefined) {
      const view = viewIn(request.url ?? '');
      const admission = await this.#resource?.admit(
        request.headers.authorization,
        view && `/${view}`,
      );
      if (admission === undefined || 'refusal' in admission)
        return admission ?? { refusal: unready };
      const refusal = refusePath(request);
      return refusal === undefined ? admission : { refusal };
    }
    const refusal = refuseUnauthorized(request, this.#rules) ?? refusePath(request);
    return refusal === undefined ? {} : { refusal };
  }

  /** Health checks and the metadata for clients that have no token yet. */
  #isPublic({ url = '', method }: IncomingMessage): boolean {
    if (method !== 'GET') return false;
    return url === '/healthz' || this.#resource?.documentAt(url) !== undefined;
  }

  /** Counts the connection as an authenticated client's. Public requests stay unauthenticated. */
  #admit(
    request: IncomingMessage,
    response: ServerResponse,
    user: string | undefined,
  ): Refusal | undefined {
    if (this.#isPublic(request)) return undefined;
    const end = this.connections.begin(request.socket, user);
    if (end === undefined) return crowded;
    response.once('close', end);
    return undefined;
  }

  async #route(
    request: IncomingMessage,
    response: ServerResponse,
    onAccepted: () => void,
    holder: Holder,
  ): Promise<void> {
    const { url = '' } = request;
    if (url === '/healthz') return this.#sendHealth(response);
    const metadata = this.#resource?.documentAt(url);
    if (metadata !== undefined) return sendJson(response, 200, metadata);
    const { user, claims } = holder;
    const admitted = this.#lanes.admit({ view: viewIn(url), claims });
    if ('status' in admitted) return this.#refuse(response, admitted);
    const { lane, onRevoked } = admitted;
    response.once(
      'close',
      onRevoked(() => response.destroy()),
    );
    if (url === '/metrics') return this.#sendMetrics(response, admitted, user);
    const client = { ...(user !== undefined && { user }), onRevoked };
    if (request.method !== 'POST')
      return this.#pass(request, response, { body: undefined, lane, client });
    const unreadable = refuseBody(request.headers);
    if (unreadable !== undefined) return this.#refuse(response, unreadable);
    onAccepted();
    const body = await readJson(request).catch(() => undefined);
    // The client disconnected before the end of its body.
    if (body === undefined) return void response.destroy();
    if ('refusal' in body) return this.#refuse(response, body.refusal);
    // The settings may have changed meanwhile.
    if (response.destroyed) return undefined;
    return this.#pass(request, response, { body: body.value, lane, client });
  }

  /** Passes a request to the protocol of its era. */
  async #pass(
    request: IncomingMessage,
    response: ServerResponse,
    { body, lane, client }: Passed,
  ): Promise<void> {
    const { gateway, sessions, modern } = lane;
    const { headers } = request;
    const gone = goneSignal(response);
    const listened = listenedTo(body);
    const isStream = request.method === 'GET' || listened !== undefined;
    this.outbox.add(response, isStream ? 'streams' : 'answers');
    const light = await sessions.answerLightly({ headers, ...client }, body, gone);
    if (light !== undefined && 'document' in light) {
      sendLight(light, response);
      return this.outbox.bound(response);
    }
    const web = webRequest(request, gone);
    noteBody(web, body);
    if (!(await isLegacyRequest(web, body))) {
      const unwatch = watchAll(gateway, listened ?? []);
      try {
        const authInfo = { token: '', clientId: '', scopes: [], extra: { ...client } };
        const answer = await modern.fetch(web, {
          ...(body !== undefined && { parsedBody: body }),
          authInfo,
        });
        await sendWeb(answer, response, gone, this.outbox);
      } finally {
        unwatch();
      }
      return;
    }
    const { response: answer, sent } = await sessions.answer(
      { request: web, ...client },
      body,
      light?.toHandOver,
    );
    try {
      await sendWeb(answer, response, gone, this.outbox);
    } finally {
      sent();
    }
  }

  #refuse(response: ServerResponse, refusal: Refusal): void {
    const { status, message, headers = {}, rpcCode = serverError } = refusal;
    this.#gateway.metrics.refused(status);
    const { socket } = response.req;
    // A stranger's connection closes with the refusal, because it would only take a slot from others.
    if (!this.connections.isKnown(socket)) response.setHeader('connection', 'close');
    response
      .writeHead(status, { ...plainHeaders('application/json'), ...headers })
      .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: rpcCode, message } }));
  }

  #sendHealth(response: ServerResponse): void {
    const status = this.#gateway.isDraining ? 'stopping' : 'ok';
    sendJson(response, status === 'ok' ? 200 : 503, { status });
  }

  /** A user of an issuer sees only their own calls and sessions, and nothing of servers if rules decide what they see. */
  #sendMetrics(response: ServerResponse, { isRuled }: Admitted, user: string | undefined): void {
    const { metrics } = this.#gateway;
    if (isRuled) return this.#refuse(response, { status: 403, message: 'views have no metrics' });
    const lanes = this.#lanes.all;
    const clients = lanes.reduce((sum, { sessions }) => sum + sessions.count(user), 0);
    const callsInFlight = lanes.reduce((sum, lane) => sum + lane.gateway.callsInFlight, 0);
    const text = metrics.text({ clients, ...(user === undefined ? { callsInFlight } : { user }) });
    response.writeHead(200, plainHeaders(metricsContentType)).end(text);
  }
}

/** A request for the protocol. */
interface Passed {
  readonly body: unknown;
  readonly lane: Lane;
  readonly client: ClientIdentity;
}

/** Who sent a request; without fields if no token says so. */
type Holder = Partial<TokenHolder>;
type Access = Holder | { readonly refusal: Refusal };

const unready: Refusal = { status: 503, message: 'the gateway is starting' };

const crowded: Refusal = {
  status: 503,
  message: 'too many connections have requests in progress; try again later',
  headers: { 'retry-after': '5' },
};

/** The status that Node sends for a connection's error. */
function statusOf(code: string): number | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code.startsWith('HPE_') ? 400 : undefined;
}

function sendJson(response: ServerResponse, status: number, document: object): void {
  response.writeHead(status, plainHeaders('application/json')).end(JSON.stringify(document));
}

function plainHeaders(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}

/** The resource URIs in a request to listen; undefined for any other request. */
function listenedTo(body: unknown): readonly string[] | undefined {
  const isListening = isRecord(body) && body['method'] === methods.listen.name;
  return isListening ? addressesIn(body['params']) : undefined;
}
