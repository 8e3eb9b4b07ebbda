/**
 * Sessions of HTTP clients of the protocol before 2026-07-28. A session lasts until its client ends it, it is
 * idle for too long, or the gateway stops.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import {
  isInitializeRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { PresentUse } from '../../machines/retention.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { headerNames } from '../protocol/headers.ts';
import { serverError, sessionNotFound } from '../protocol/rpc-codes.ts';
import { type Retention, retain } from '../runtime/retention.ts';
import type { ClientIdentity } from './client-requests.ts';
import { cancelledBy, type LightCall, plainRequestIn } from './fast-call.ts';
import type { Gateway } from './gateway.ts';
import { GatewayClient } from './gateway-client.ts';
import type { Answer } from './held-calls.ts';

// One machine has a handful of clients; more sessions are leaks.
const maxSessions = 256;
// With an issuer's tokens, no user may take the sessions of the others.
const maxSessionsOfUser = 32;
// A client gets a 404 for its expired session and then initializes again.
const idleMs = 1_800_000;
// A call in the background ends without a request of its client.
const backgroundCheckMs = 60_000;
// A client that lost all its connections during a call cannot receive the answer. In its protocol, a lost
// connection is not a cancellation, but after this time the client is considered gone: just before the usual
// limit of a call, which would leave nothing to cancel.
const abandonedMs = 55_000;

/** An answer, and a function to call when it has been sent or the client is gone. */
interface SessionAnswer {
  readonly response: Response;
  readonly sent: () => void;
}

/** The outcome of a light call: its answer (none when cancelled), or a call for the SDK to continue. */
export type LightAnswer =
  | {
      readonly session: string;
      readonly document: { readonly id: string | number; readonly result: Answer } | undefined;
    }
  | { readonly toHandOver: LightCall };

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly client: GatewayClient;
  /** The subject of the token with which it was opened. */
  readonly user: string | undefined;
  /** Begins once the session has an id. */
  retention?: Retention;
  lastUsedAt: number;
  /** Whether the client has a stream open for notifications. */
  isListening: boolean;
  /** Answers in progress, including open streams. */
  answering: number;
  /** Ids of requests outside a batch whose answers are in progress. */
  readonly alone: Set<unknown>;
}

export class HttpSessions {
  readonly #gateway: Gateway;
  readonly #sessions = new Map<string, Session>();
  /** The users of sessions that are being opened. */
  readonly #opening = new Map<object, string | undefined>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** How many sessions there are, or those of one user. */
  count(user?: string): number {
    if (user === undefined) return this.#sessions.size;
    return [...this.#sessions.values()].filter((each) => each.user === user).length;
  }

  /** Answers a plain call without the SDK; undefined for any other request. */
  async answerLightly(
    { headers, user }: Pick<ClientIdentity, 'user'> & { readonly headers: IncomingHttpHeaders },
    body: unknown,
    gone: AbortSignal,
  ): Promise<LightAnswer | undefined> {
    const id = headers[headerNames.session];
    const session = typeof id === 'string' ? this.#find(id, user) : undefined;
    if (typeof id !== 'string' || session === undefined) return undefined;
    const { client } = session;
    const cancelled = cancelledBy(body);
    if (cancelled !== undefined) client.cancel(cancelled as string | number);
    const request = plainRequestIn(headers, body, client.server.getNegotiatedProtocolVersion());
    const call = request === undefined ? undefined : client.callLightly(request);
    if (request === undefined || call === undefined) return undefined;
    session.answering += 1;
    try {
      const result = await call.plainAnswer(gone);
      if (gone.aborted) call.silence();
      if (call.isAborted || gone.aborted) return { session: id, document: undefined };
      if (result === undefined) return { toHandOver: call };
      return { session: id, document: { id: request.id, result } };
    } finally {
      this.#ended(session);
    }
  }

  /** Answers a request. `begun` is a call that already started for it without the SDK. */
  async answer(
    { request, ...client }: ClientIdentity & { readonly request: Request },
    body: unknown,
    begun?: LightCall,
  ): Promise<SessionAnswer> {
    const id = request.headers.get(headerNames.session);
    if (id !== null) {
      const session = this.#find(id, client.user);
      if (session === undefined) return rpcRefusal(404, sessionNotFound, 'Session not found');
      if (begun !== undefined) session.client.handOver(begun, request);
      return this.#use(session, request, body);
    }
    const isOpening =
      request.method === 'POST' &&
      (Array.isArray(body) ? body : [body]).some((message) => isInitializeRequest(message));
    if (!isOpening)
      return rpcRefusal(400, serverError, 'Bad Request: Mcp-Session-Id header is required');
    return this.#open(request, body, client);
  }

  /** Closes all sessions. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  /** The session with this id, if it belongs to this user. */
  #find(id: string, user: string | undefined): Session | undefined {
    const session = this.#sessions.get(id);
    return session?.user === user ? session : undefined;
  }

  async #open(request: Request, body: unknown, own: ClientIdentity): Promise<SessionAnswer> {
    const { user } = own;
    const gateway = this.#gateway;
    if (gateway.isDraining) return rpcRefusal(503, serverError, 'The gateway is stopping', 5);
    const full = this.#makeRoom(user);
    if (full !== undefined) return rpcRefusal(503, serverError, full, 60);
    const opening = {};
    this.#opening.set(opening, user);
    try {
      let endWatch: (() => void) | undefined;
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => {
          this.#sessions.set(id, session);
          session.retention = retain(
            gateway.clock,
            () => this.#useOf(session),
            () => void transport.close(),
          );
          endWatch = own.onRevoked?.(() => void transport.close());
        },
      });
      const client = new GatewayClient(gateway, await gateway.identity(), 'legacy', {
        ...own,
        canReceive: () => session.isListening,
        onClosed: () => {
          session.retention?.release();
          endWatch?.();
          if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
        },
      });
      const session: Session = {
        transport,
        client,
        user,
        lastUsedAt: gateway.clock.now(),
        answering: 0,
        alone: new Set(),
        isListening: false,
      };
      await client.server.connect(transport);
      const answer = await this.#use(session, request, body);
      if (transport.sessionId === undefined) await transport.close();
      return answer;
    } finally {
      this.#opening.delete(opening);
    }
  }

  async #use(session: Session, request: Request, body: unknown): Promise<SessionAnswer> {
    let opensStream = false;
    const id = isRecord(body) && 'method' in body ? body['id'] : undefined;
    if (id !== undefined) session.alone.add(id);
    const sent = (): void => {
      if (opensStream) session.isListening = false;
      session.alone.delete(id);
      this.#ended(session);
    };
    session.answering += 1;
    try {
      const options = body === undefined ? {} : { parsedBody: body };
      const response = await session.transport.handleRequest(request, options);
      // The SDK leaves the stream of a cancelled request open, although nothing more is sent on it.
      const cancelled = cancelledBy(body) as string | number | undefined;
      if (cancelled !== undefined && session.alone.has(cancelled))
        session.transport.closeSSEStream(cancelled);
      opensStream = request.method === 'GET' && response.ok;
      if (opensStream) {
        session.isListening = true;
        session.client.sendMissed();
      }
      return { response, sent };
    } catch (error) {
      sent();
      throw error;
    }
  }

  #ended(session: Session): void {
    session.answering -= 1;
    session.lastUsedAt = this.#gateway.clock.now();
    const { answering, client, retention } = session;
    // A client that left its call is given up sooner; any other use is seen when the time may be up.
    if (answering === 0 && (retention?.isInUse === true || client.isAtWork))
      retention?.useChanged();
  }

  #useOf({ answering, client, lastUsedAt }: Session): PresentUse {
    const unusedMs = this.#gateway.clock.now() - lastUsedAt;
    const keptMs = client.isAtWork ? abandonedMs : idleMs;
    return {
      isInUse: answering > 0,
      unusedMs,
      keptMs: client.hasBackgroundCall ? unusedMs + backgroundCheckMs : keptMs,
    };
  }

  /**
   * Makes room for another session of this user: closes the user's own that was idle longest, or, if all
   * users together have too many, that of a user with more sessions. Returns why there is no room.
   */
  #makeRoom(user: string | undefined): string | undefined {
    const counts = new Map<string | undefined, number>();
    for (const each of [
      ...[...this.#sessions.values()].map((it) => it.user),
      ...this.#opening.values(),
    ])
      counts.set(each, (counts.get(each) ?? 0) + 1);
    const own = counts.get(user) ?? 0;
    const bound = user === undefined ? maxSessions : maxSessionsOfUser;
    if (own < bound && this.#sessions.size + this.#opening.size < maxSessions) return undefined;
    const mayLeave = (other: string | undefined): boolean =>
      other === user || (own < bound && (counts.get(other) ?? 0) > own + 1);
    const [oldest] = [...this.#sessions.values()]
      .filter((it) => mayLeave(it.user) && !isBusy(it))
      .toSorted((a, b) => rank(a) - rank(b) || a.lastUsedAt - b.lastUsedAt);
    function rank(session: Session): number {
      return session.user === user ? 0 : 1;
    }
    if (oldest === undefined)
      return own < bound
        ? `There are already ${maxSessions} sessions`
        : `This user already has ${bound} sessions in use`;
    void oldest.transport.close();
    return undefined;
  }
}

/** Whether answers are in progress, or a call in the background that only this client can collect. */
function isBusy({ answering, client }: Session): boolean {
  return answering > 0 || client.hasBackgroundCall;
}

function rpcRefusal(
  status: number,
  code: number,
  message: string,
  retryAfterS?: number,
): SessionAnswer {
  const headers = retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) };
  const document = { jsonrpc: '2.0', id: null, error: { code, message } };
  return { response: Response.json(document, { status, headers }), sent: () => undefined };
}
