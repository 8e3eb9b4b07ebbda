/**
 * The gateway over Streamable HTTP, for clients of both eras at one address. Whoever is not
 * let in, says nothing or says too much is sent away before the protocol hears of it.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { ConnectionLimits, usualStrangers } from '../../actors/host/connection-limits.ts';
import { Outbox, type OutboxLimits, outboxLimits } from '../../actors/host/outbox.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { metricsContentType } from './call-metrics.ts';
import { GatewayClient, sessionlessClients } from './client.ts';
import type { Gateway } from './gateway.ts';
import { maxBodyBytes, readBody, refuseBody } from './http-body.ts';
import { goneSignal, sendLight, sendWeb, webRequest } from './http-bridge.ts';
import {
  type DoorRules,
  type Knock,
  type Refusal,
  refuseStranger,
  refuseUnknown,
} from './http-door.ts';
import { HttpSessions } from './http-sessions.ts';
import { addressesIn, watchAll } from './listening.ts';

export interface HttpGatewayOptions extends DoorRules {
  readonly host: string;
  /** 0 = any that is free. */
  readonly port: number;
  /** Other bounds than the usual ones: for those who have to see what is beyond them. */
  readonly limits?: Partial<HttpLimits>;
}

/** How long a client may take, and how much it may leave unread. */
export interface HttpLimits extends OutboxLimits {
  /** For its headers. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** How often those who are late are looked for. */
  readonly lookEveryMs: number;
}

export interface HttpGateway {
  /** Where clients connect to. */
  readonly url: string;
  /** Takes no new clients, lets what is under way finish within the limit, and leaves. */
  close(limitMs: number): Promise<void>;
}

const usualLimits: HttpLimits = {
  ...outboxLimits,
  // Real clients send a request at once; this is for those who hold a line by dripping.
  headersMs: 10_000,
  requestMs: 30_000,
  lookEveryMs: 1_000,
};
// Longer than the pauses of a client at work, so that it need not connect anew for each call.
const keepAliveMs = 60_000;
const maxHeaderBytes = 16_384;
// Connections of clients with a token; strangers have a limit of their own.
const maxClientSockets = 512;
// A machine that vanished says no goodbye; its system is asked whether it is still there.
const probeAfterMs = 60_000;

/** @throws TroupeError `USAGE` when the address cannot be had. */
export async function startHttpGateway(
  gateway: Gateway,
  options: HttpGatewayOptions,
): Promise<HttpGateway> {
  const limits = { ...usualLimits, ...options.limits };
  const connections = new ConnectionLimits({ strangers: usualStrangers, known: maxClientSockets });
  const reception = new Reception(gateway, options, limits, connections);
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.lookEveryMs,
      keepAliveTimeout: keepAliveMs,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
    },
    (request, response) => void reception.receive(request, response),
  );
  server.on('connection', (socket) => {
    connections.add(socket);
    // Node answers these by itself, before there is a request.
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      const status = statusOf(code);
      if (status !== undefined) gateway.metrics.refused(status);
    });
  });
  // A client that asks first is told by the same rules, before it sends anything.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    void reception.receive(request, response, () => response.writeContinue());
  });
  await listen(server, options);
  server.on('error', (error) => gateway.faults.add('the gateway', error));
  const { port } = server.address() as AddressInfo;
  const shownHost = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${shownHost}:${port}/mcp`,
    async close(limitMs) {
      server.close();
      await gateway.drain(limitMs);
      // A call that has ended is not answered yet.
      await reception.outbox.sent('answers', gateway.clock);
      await reception.close();
      await reception.outbox.sent('streams', gateway.clock);
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server, { host, port }: HttpGatewayOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const where = `${host}:${port}`;
      const why =
        error.code === 'EADDRINUSE'
          ? `${where} is in use; choose another port, or 0 for any that is free`
          : `${where} cannot be had (${error.code ?? error.message}); choose another address`;
      reject(new TroupeError('USAGE', why, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

class Reception {
  readonly #gateway: Gateway;
  readonly #rules: DoorRules;
  readonly #sessions: HttpSessions;
  readonly #modern: McpHttpHandler;
  readonly #leave: () => void;
  readonly #connections: ConnectionLimits;
  readonly outbox: Outbox;

  constructor(
    gateway: Gateway,
    rules: DoorRules,
    limits: OutboxLimits,
    connections: ConnectionLimits,
  ) {
    this.#gateway = gateway;
    this.#rules = rules;
    this.#connections = connections;
    this.outbox = new Outbox(limits, {
      dropped: () => gateway.metrics.droppedNote(),
      unread: () => gateway.metrics.leftUnread(),
    });
    this.#sessions = new HttpSessions(gateway);
    const modern = createMcpHandler(
      async () => new GatewayClient(gateway, await gateway.identity(), 'modern').server,
      {
        legacy: 'reject',
        maxRequestBodySize: maxBodyBytes,
        onerror: (error) => gateway.faults.add(sessionlessClients, error),
      },
    );
    this.#modern = modern;
    const { notify } = modern;
    this.#leave = gateway.join({
      listChanged: (kind) => {
        if (kind === 'tools') notify.toolsChanged();
        else if (kind === 'prompts') notify.promptsChanged();
        else notify.resourcesChanged();
      },
      resourceUpdated: (server, uri) => notify.resourceUpdated(gateway.view.addressOf(server, uri)),
      // Modern clients hear of logs within their own requests only.
      logged: () => undefined,
    });
  }

  /** Answers one request, whatever happens. */
  async receive(
    request: IncomingMessage,
    response: ServerResponse,
    onWelcome: () => void = () => undefined,
  ): Promise<void> {
    response.on('error', () => undefined);
    try {
      const refusal = this.#refusal(request) ?? this.#welcome(request, response);
      if (refusal === undefined) await this.#answer(request, response, onWelcome);
      else this.#refuse(response, refusal);
    } catch (error) {
      const fault = error instanceof Error ? error : new Error(String(error));
      this.#gateway.faults.add('the gateway', fault);
      if (!response.headersSent)
        this.#refuse(response, { status: 500, message: 'the gateway failed' });
      else response.destroy();
    }
  }

  async close(): Promise<void> {
    this.#leave();
    await this.#sessions.close();
    await this.#modern.close();
  }

  #refusal(request: IncomingMessage): Refusal | undefined {
    const knock: Knock = {
      target: request.url ?? '',
      hosts: request.headersDistinct['host'] ?? [],
      origin: request.headers.origin,
      authorization: request.headers.authorization,
    };
    const stranger = refuseStranger(knock, this.#rules);
    if (stranger !== undefined) return stranger;
    const isPublic = request.url === '/healthz' && request.method === 'GET';
    if (isPublic) return undefined;
    return refuseUnknown(knock, this.#rules) ?? refusePath(request);
  }

  /** Counts the connection as a client's from now on; a health check needs no token and stays a stranger's. */
  #welcome(request: IncomingMessage, response: ServerResponse): Refusal | undefined {
    if (request.url === '/healthz') return undefined;
    const end = this.#connections.begin(request.socket);
    if (end === undefined) return crowded;
    response.once('close', end);
    return undefined;
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    onWelcome: () => void,
  ): Promise<void> {
    if (request.url === '/healthz') return this.#tellHealth(response);
    if (request.url === '/metrics') return this.#tellMetrics(response);
    if (request.method !== 'POST') return this.#pass(request, response, undefined);
    const unreadable = refuseBody(request.headers);
    if (unreadable !== undefined) return this.#refuse(response, unreadable);
    onWelcome();
    const body = await readBody(request).catch(() => undefined);
    // Whoever left in the middle of a sentence waits for no answer.
    if (body === undefined) return void response.destroy();
    if ('refusal' in body) return this.#refuse(response, body.refusal);
    return this.#pass(request, response, body.value);
  }

  /** Hands a request to the protocol, in the era that it speaks. */
  async #pass(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const gone = goneSignal(response);
    const isStream = request.method === 'GET' || isListening(body);
    this.outbox.add(response, isStream ? 'streams' : 'answers');
    const light = await this.#sessions.answerLightly(request.headers, body, gone);
    if (light !== undefined && 'document' in light) {
      sendLight(light, response);
      return this.outbox.bound(response);
    }
    const web = webRequest(request, gone);
    if (!(await isLegacyRequest(web, body))) {
      // It names the resources it wants to hear of when it begins to listen.
      const unwatch = watchAll(this.#gateway, listenedTo(body));
      try {
        const answer = await this.#modern.fetch(
          web,
          body === undefined ? {} : { parsedBody: body },
        );
        await sendWeb(answer, response, gone, this.outbox);
      } finally {
        unwatch();
      }
      return;
    }
    const { response: answer, sent } = await this.#sessions.answer(web, body, light?.toHandOver);
    try {
      await sendWeb(answer, response, gone, this.outbox);
    } finally {
      sent();
    }
  }

  #refuse(response: ServerResponse, refusal: Parameters<typeof refuse>[1]): void {
    this.#gateway.metrics.refused(refusal.status);
    const { socket } = response.req;
    // A stranger's connection ends with the refusal; it would only keep a slot from others.
    if (!this.#connections.isKnown(socket)) response.setHeader('connection', 'close');
    refuse(response, refusal);
  }

  #tellHealth(response: ServerResponse): void {
    const status = this.#gateway.isDraining ? 'stopping' : 'ok';
    const body = JSON.stringify({ status });
    response.writeHead(status === 'ok' ? 200 : 503, plainHeaders('application/json')).end(body);
  }

  #tellMetrics(response: ServerResponse): void {
    const { metrics, callsInFlight } = this.#gateway;
    const text = metrics.text({ clients: this.#sessions.size, callsInFlight });
    response.writeHead(200, plainHeaders(metricsContentType)).end(text);
  }
}

const crowded: Refusal = {
  status: 503,
  message: `${maxClientSockets} connections have requests in progress; try again later`,
  headers: { 'retry-after': '5' },
};

const methodsOf: Readonly<Record<string, string>> = {
  '/mcp': 'POST, GET, DELETE',
  '/metrics': 'GET',
  '/healthz': 'GET',
};

/** What Node says to a client that it cannot hear to the end. */
function statusOf(code: string): number | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code.startsWith('HPE_') ? 400 : undefined;
}

function refusePath({ url = '', method = '' }: IncomingMessage): Refusal | undefined {
  const methods = Object.hasOwn(methodsOf, url) ? methodsOf[url] : undefined;
  if (methods === undefined) return { status: 404, message: 'there is nothing here; use /mcp' };
  if (methods.split(', ').includes(method)) return undefined;
  return { status: 405, message: `only ${methods}`, headers: { allow: methods } };
}

function refuse(
  response: ServerResponse,
  { status, message, headers = {}, rpcCode }: Refusal & { readonly rpcCode?: number },
): void {
  const error = { code: rpcCode ?? -32_000, message };
  response
    .writeHead(status, { ...plainHeaders('application/json'), ...headers })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
}

function plainHeaders(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}

function isListening(body: unknown): body is Readonly<Record<string, unknown>> {
  return isRecord(body) && body['method'] === 'subscriptions/listen';
}

/** Addresses in a request to listen; of anything else none. */
function listenedTo(body: unknown): readonly string[] {
  if (!isRecord(body) || body['method'] !== 'subscriptions/listen') return [];
  return addressesIn(body['params']);
}
