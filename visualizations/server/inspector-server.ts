/**
 * The inspector's server: a page and its API, for one user of this machine. Any local user may load
 * the page, which holds no data. The API answers only pages that were opened by a link with a fresh token.
 *
 * The token follows the `#` of the link, so browsers never send it. The page exchanges it
 * for a secret, which it sends as a header with every request. There is no cookie, because browsers
 * send cookies of 127.0.0.1 to every port, whichever program listens there.
 */

import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConnectionLimits, usualStrangers } from '../../actors/host/connection-limits.ts';
import { httpListener } from '../../actors/host/listener.ts';
import { Outbox } from '../../actors/host/slow-readers.ts';
import { writeJson } from '../../src/domain/data/exact-json.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { TokenBucket } from '../../src/policies/token-bucket.ts';
import { journalOf } from '../../src/recorder/journal.ts';
import { Forks } from './fork.ts';
import {
  type Answer,
  act,
  answered,
  bodyOf,
  type Inspected,
  numberOf,
  ok,
  readAnswer,
  refused,
} from './inspector-api.ts';
import { modelTestOf } from './model-test.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { RecordStreams } from './record-streams.ts';
import { guardingHeaders, refuseForeign } from './request-guard.ts';
import { wayTo } from './way-to-state.ts';

const host = '127.0.0.1';

// For streams, and a few windows that send requests concurrently. Strangers have a separate limit.
const maxPageSockets = 128;

export interface InspectorOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** Folders in which to look for the page. Default: where a build puts it. */
  readonly pageFolders?: readonly string[];
  /** Milliseconds; only differences count. Default: the real time. */
  readonly now?: () => number;
}

export interface InspectorServer {
  readonly port: number;
  /** Returns a link that works once, in one browser. */
  newAddress(): string;
  /** Calls back once a link is no longer valid, at the latest when the inspector closes. */
  whenSpent(address: string, callback: () => void): void;
  close(): void;
}

/** @throws TroupeError `USAGE` when the port is not available */
export async function startInspector(
  inspected: Inspected,
  { port: wanted = 0, pageFolders, now = () => performance.now() }: InspectorOptions = {},
): Promise<InspectorServer> {
  const requests = new InspectorRequests(inspected, await readPageFiles(pageFolders), now);
  const { connections, sessions, streams } = requests;
  const listener = httpListener(connections, (request, response) => {
    void requests.answer(request, response);
  });
  await listener.listen({ port: wanted, host }, (error) => {
    const why =
      error.code === 'EADDRINUSE'
        ? `port ${wanted} is in use; choose another one for the inspector, or leave it out`
        : `the inspector cannot listen on port ${wanted} (${error.code ?? error.message}); choose another one`;
    return new TroupeError('USAGE', why, { cause: error });
  });
  const { port } = listener;
  return {
    port,
    newAddress: () => `http://${host}:${port}/#token=${sessions.createToken()}`,
    whenSpent: (address, callback) =>
      sessions.whenSpent(address.split('#token=')[1] ?? '', callback),
    close() {
      listener.stopAccepting();
      sessions.close();
      streams.close();
      listener.close();
    },
  };
}

class InspectorRequests {
  readonly connections = new ConnectionLimits({ strangers: usualStrangers, known: maxPageSockets });
  readonly sessions: PageSessions;
  readonly streams = new RecordStreams();
  readonly #inspected: Inspected;
  readonly #files: ReadonlyMap<string, PageFile>;
  readonly #forks: Forks;
  readonly #outbox = new Outbox();
  #isSearching = false;

  constructor(inspected: Inspected, files: ReadonlyMap<string, PageFile>, now: () => number) {
    this.#inspected = inspected;
    this.#files = files;
    this.sessions = new PageSessions(now);
    this.#forks = new Forks(inspected.source);
  }

  /** Answers one request. Never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    // A connection without a secret would only take a slot from others.
    if (!this.connections.isKnown(request.socket)) response.setHeader('connection', 'close');
    this.#outbox.add(response);
    try {
      await this.#route(request, response);
      this.#outbox.bound(response);
    } catch {
      // Perhaps the browser disconnected during the request.
      if (response.headersSent) response.destroy();
      else send(response, refused(500, 'INTERNAL', 'the inspector failed; reload the page'));
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const foreign = refuseForeign(request);
    if (foreign !== undefined) return sendText(response, foreign.status, `${foreign.message}\n`);
    const [path = '', search = ''] = url.split(/\?(.*)/su);
    if (path.startsWith('/api/'))
      return this.#authenticate(request, response, path, new URLSearchParams(search));
    const file = method === 'GET' ? this.#files.get(path) : undefined;
    if (file === undefined) return sendText(response, 404, 'not found\n');
    response.writeHead(200, { ...guardingHeaders, 'content-type': file.type }).end(file.body);
  }

  /** Answers an API request that carries a secret, or exchanges a token for one. */
  async #authenticate(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const given = /^Bearer ([\w-]+)$/u.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (path === '/api/enter' && request.method === 'POST') {
      const secret = this.sessions.exchange(given);
      return send(response, secret === undefined ? unauthorized : ok({ secret }));
    }
    if (!this.sessions.has(given)) return send(response, unauthorized);
    const end = this.connections.begin(request.socket);
    if (end === undefined) return send(response, crowded);
    response.removeHeader('connection');
    response.once('close', end);
    return this.#answerApi(request, response, given, path, query);
  }

  async #answerApi(
    request: IncomingMessage,
    response: ServerResponse,
    secret: string,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const [, isFork, id] = /^\/api\/(fork)(?:\/([^/]+))?$/u.exec(path) ?? [];
    switch (`${request.method} ${isFork === undefined ? path : '/api/fork'}`) {
      case 'GET /api/stream':
        return this.#stream(request, response, query);
      case 'GET /api/journal':
        return this.#download(response);
      case 'GET /api/test':
        return this.#sendTest(response, query);
      case 'POST /api/command':
        return this.#change(request, response, secret, (body, signal) =>
          act(this.#inspected, body, signal),
        );
      case 'POST /api/fork':
        return this.#change(request, response, secret, (body) =>
          answered(() =>
            id === undefined ? this.#forks.create(body) : this.#forks.change(id, body),
          ),
        );
      case 'POST /api/way':
        return this.#change(request, response, secret, (body, signal) =>
          this.#findWay(body, signal),
        );
      case 'DELETE /api/fork':
        this.#forks.remove(id ?? '');
        return void response.writeHead(204, guardingHeaders).end();
      default: {
        const isRead = request.method === 'GET';
        send(response, (isRead && readAnswer(this.#inspected, path, query)) || notFound);
      }
    }
  }

  /** Searches for one page at a time, because a search takes the troupe's own thread. */
  async #findWay(body: unknown, signal: AbortSignal): Promise<Answer> {
    if (this.#isSearching) return searching;
    this.#isSearching = true;
    try {
      return await answered(() => wayTo(this.#inspected.source, body, signal));
    } finally {
      this.#isSearching = false;
    }
  }

  /**
   * Handles a request that changes something, within the session's rate. The signal is aborted when the
   * response is closed.
   */
  async #change(
    request: IncomingMessage,
    response: ServerResponse,
    secret: string,
    handle: (body: unknown, signal: AbortSignal) => Answer | Promise<Answer>,
  ): Promise<void> {
    if (!this.sessions.mayAct(secret)) return send(response, tooMuch);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const body = await bodyOf(request);
    send(response, 'refusal' in body ? body.refusal : await handle(body.value, gone.signal));
  }

  async #sendTest(response: ServerResponse, query: URLSearchParams): Promise<void> {
    const { source } = this.#inspected;
    const to = numberOf(query, 'to') ?? source.last;
    const answer = await answered(() => modelTestOf(source, query.get('actor') ?? '', to));
    if (answer.status === 200) sendText(response, 200, String(answer.document));
    else send(response, answer);
  }

  #stream({ headers }: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    const { mode, source } = this.#inspected;
    // Tells the page not to reconnect.
    if (mode === 'replay') return void response.writeHead(204, guardingHeaders).end();
    if (this.streams.isFull) return send(response, tooManyWindows);
    const seen = /^\d{1,15}$/u.exec(String(headers['last-event-id'] ?? ''))?.[0];
    const from = seen === undefined ? numberOf(query, 'from') : Number(seen) + 1;
    this.streams.add(response, source, from ?? source.last + 1);
  }

  #download(response: ServerResponse): void {
    response.writeHead(200, {
      ...guardingHeaders,
      'content-type': 'application/x-ndjson',
      'content-disposition': 'attachment; filename="mcp-troupe.ndjson"',
    });
    const pieces = journalOf(this.#inspected.source);
    const write = (): void => {
      for (let piece = pieces.next(); ; piece = pieces.next()) {
        if (piece.done === true) return void response.end();
        if (!response.write(piece.value)) return void response.once('drain', write);
      }
    };
    write();
  }
}

const notFound = refused(404, 'INVALID_ARGUMENTS', 'not found');
const tooMuch = refused(429, 'OVERLOADED', 'too many commands at once; wait a second', true);
const searching = refused(
  429,
  'OVERLOADED',
  'another search for a way is under way; try again in some seconds',
  true,
);
const tooManyWindows = refused(429, 'OVERLOADED', 'too many windows are open; close one', true);
const unauthorized = refused(
  401,
  'PERMISSION_DENIED',
  'this page is not authorized; open a new link from troupe inspect, which works once',
);
const crowded = refused(
  503,
  'OVERLOADED',
  'too many connections are in use; close a window and try again',
  true,
);

function sendText(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { ...guardingHeaders, 'content-type': 'text/plain; charset=utf-8' })
    .end(text);
}

function send(response: ServerResponse, { status, document }: Answer): void {
  response
    .writeHead(status, { ...guardingHeaders, 'content-type': 'application/json; charset=utf-8' })
    .end(writeJson(document));
}

// 256 bits: cannot be guessed, however many tries.
const secretBytes = 32;
// A user who requests more links no longer uses the oldest.
const mostTokens = 16;
// The browsers of one user, including windows left open.
const mostSessions = 64;
// More than a user clicks, and few enough to slow down a misbehaving page.
const actsPerSecond = 20;

/** Exchanges the token in a link once for the secret of a session; stores only hashes of both. */
class PageSessions {
  readonly #now: () => number;
  /** Callbacks by token hash, called once the token is spent or displaced by newer ones. */
  readonly #tokens = new Map<string, () => void>();
  /** How many commands each session may still send, by hash of its secret. */
  readonly #sessions = new Map<string, TokenBucket>();

  /** @param now - milliseconds; only differences count */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Creates a token that can be exchanged once. */
  createToken(): string {
    const token = newSecret();
    this.#tokens.set(digest(token), () => undefined);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > mostTokens && oldest !== undefined) this.#spend(oldest);
    return token;
  }

  /** Calls back once the token is no longer valid, which may be at once. */
  whenSpent(token: string, callback: () => void): void {
    const key = digest(token);
    if (this.#tokens.has(key)) this.#tokens.set(key, callback);
    else callback();
  }

  /** Invalidates every token. */
  close(): void {
    for (const key of [...this.#tokens.keys()]) this.#spend(key);
  }

  /** Exchanges a token for a new session's secret; undefined for an unknown or spent token. */
  exchange(token: string): string | undefined {
    if (!this.#spend(digest(token))) return undefined;
    const secret = newSecret();
    this.#sessions.set(digest(secret), new TokenBucket(actsPerSecond, actsPerSecond));
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > mostSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return secret;
  }

  has(secret: string): boolean {
    return this.#sessions.has(digest(secret));
  }

  /** Counts a command of a session; false when it has sent too many within a second. */
  mayAct(secret: string): boolean {
    return this.#sessions.get(digest(secret))?.tryTake(this.#now()) === true;
  }

  #spend(key: string): boolean {
    const callback = this.#tokens.get(key);
    this.#tokens.delete(key);
    callback?.();
    return callback !== undefined;
  }
}

function newSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** Lookup by digest keeps the response time independent of the secret. */
function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
