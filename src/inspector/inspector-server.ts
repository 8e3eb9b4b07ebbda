/**
 * The inspector's server: a page and its API, for one user of this machine. Any local user may load
 * the page, which holds no data. The API answers only pages that were opened by an address with a
 * fresh token.
 *
 * The token stands behind the `#` of an address, so browsers never send it. The page exchanges it
 * for a secret, which it sends as a header with every request. There is no cookie, because browsers
 * send cookies of 127.0.0.1 to every port, whichever program listens there.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConnectionLimits, usualStrangers } from '../../actors/host/connection-limits.ts';
import { Outbox } from '../../actors/host/outbox.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { journalOf } from '../recorder/journal-lines.ts';
import { guardingHeaders, refuseStranger } from './door.ts';
import { beginFork, changeFork, testOf } from './fork-api.ts';
import { Forks } from './forks.ts';
import { type Guest, Guests } from './guests.ts';
import {
  type Answer,
  act,
  bodyOf,
  type Inspected,
  lookAt,
  numberOf,
  refused,
} from './inspector-api.ts';
import { type PageFile, readPageFiles } from './page-files.ts';
import { RecordStreams } from './record-streams.ts';

const host = '127.0.0.1';

// A browser sends a request at once; this is for those who hold a line by dripping.
const headersMs = 10_000;
const requestMs = 30_000;
const maxHeaderBytes = 16_384;
const lookEveryMs = 1_000;
// Streams, and a few windows that ask at the same time. Strangers have a limit of their own.
const maxPageSockets = 128;

export interface InspectorOptions {
  /** Default: any that is free. */
  readonly port?: number;
  /** Where the page is. Default: where a build of this package puts it. */
  readonly pageFolders?: readonly string[];
  /** Milliseconds; only differences count. Default: the real time. */
  readonly now?: () => number;
}

export interface InspectorServer {
  readonly port: number;
  /** A new address, which lets one browser in, once. */
  newAddress(): string;
  /** Calls back once an address is no longer valid, at the latest when the inspector closes. */
  whenSpent(address: string, callback: () => void): void;
  close(): void;
}

/** @throws TroupeError `USAGE` when the port cannot be had. */
export async function startInspector(
  inspected: Inspected,
  { port: wanted = 0, pageFolders, now = () => performance.now() }: InspectorOptions = {},
): Promise<InspectorServer> {
  const files = await readPageFiles(pageFolders);
  const guests = new Guests(now);
  const streams = new RecordStreams(inspected.source);
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: lookEveryMs,
  });
  const connections = new ConnectionLimits({ strangers: usualStrangers, known: maxPageSockets });
  server.on('connection', (socket) => connections.add(socket));
  await listen(server, wanted);
  server.on('error', () => undefined);
  const { port } = server.address() as AddressInfo;
  const reception = new Reception(inspected, { files, guests, streams, port, connections });
  server.on('request', (request, response) => void reception.receive(request, response));
  return {
    port,
    newAddress: () => `http://${host}:${port}/#token=${guests.invite()}`,
    whenSpent: (address, callback) => guests.whenSpent(address.split('#token=')[1] ?? '', callback),
    close() {
      server.close();
      guests.close();
      streams.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? `port ${port} is in use; choose another one for the inspector, or leave it out`
          : `the inspector cannot listen on port ${port} (${error.code ?? error.message}); choose another one`;
      reject(new TroupeError('USAGE', why, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

interface Rooms {
  readonly files: ReadonlyMap<string, PageFile>;
  readonly guests: Guests;
  readonly streams: RecordStreams;
  readonly port: number;
  readonly connections: ConnectionLimits;
}

class Reception {
  readonly #inspected: Inspected;
  readonly #rooms: Rooms;
  readonly #forks: Forks;
  readonly #outbox = new Outbox();

  constructor(inspected: Inspected, rooms: Rooms) {
    this.#inspected = inspected;
    this.#rooms = rooms;
    this.#forks = new Forks(inspected.source);
  }

  /** Answers one request, whatever happens. */
  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    // Until it has shown a secret, a connection would only keep a slot from others.
    if (!this.#rooms.connections.isKnown(request.socket)) response.setHeader('connection', 'close');
    this.#outbox.add(response);
    try {
      await this.#answer(request, response);
      this.#outbox.bound(response);
    } catch {
      // A browser that left in the middle of a sentence; nobody is there to be told.
      if (response.headersSent) response.destroy();
      else send(response, refused(500, 'INTERNAL', 'the inspector failed; load the page again'));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const knock = {
      method,
      target: url,
      hosts: request.headersDistinct['host'] ?? [],
      origin: headers.origin,
      fetchSite: request.headersDistinct['sec-fetch-site']?.join(),
      isNavigation:
        headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document',
    };
    const stranger = refuseStranger(knock, this.#rooms.port);
    if (stranger !== undefined) return say(response, stranger.status, stranger.message);
    const [path = '', search = ''] = url.split(/\?(.*)/su);
    if (path.startsWith('/api/'))
      return this.#answerPage(request, response, path, new URLSearchParams(search));
    const file = method === 'GET' ? this.#rooms.files.get(path) : undefined;
    if (file === undefined) return say(response, 404, 'there is nothing here');
    response.writeHead(200, { ...guardingHeaders, 'content-type': file.type }).end(file.body);
  }

  /** Answers a request with a secret, or exchanges a token for one. */
  async #answerPage(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const { guests, connections } = this.#rooms;
    const given = /^Bearer ([\w-]+)$/u.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (path === '/api/enter' && request.method === 'POST') return this.#admit(response, given);
    const guest = guests.guest(given);
    if (guest === undefined) return send(response, unknownGuest);
    const end = connections.begin(request.socket);
    if (end === undefined) return send(response, crowded);
    response.removeHeader('connection');
    response.once('close', end);
    return this.#answerApi(request, response, guest, path, query);
  }

  #admit(response: ServerResponse, token: string): void {
    const secret = this.#rooms.guests.admit(token);
    send(response, secret === undefined ? unknownGuest : { status: 200, document: { secret } });
  }

  async #answerApi(
    request: IncomingMessage,
    response: ServerResponse,
    guest: Guest,
    path: string,
    query: URLSearchParams,
  ): Promise<void> {
    const { method } = request;
    if (method === 'GET' && path === '/api/stream') return this.#stream(request, response, query);
    if (method === 'GET' && path === '/api/journal') return this.#download(response);
    if (method === 'POST' && path === '/api/command')
      return send(response, await this.#act(request, response, guest));
    if (method === 'GET' && path === '/api/test') return this.#tell(response, query);
    const [isFork, fork = ''] = /^\/api\/fork(?:\/([^/]+))?$/u.exec(path) ?? [];
    if (isFork !== undefined) return this.#answerFork(request, response, guest, fork);
    const answer = method === 'GET' ? lookAt(this.#inspected, path, query) : undefined;
    send(response, answer ?? nothingHere);
  }

  async #answerFork(
    request: IncomingMessage,
    response: ServerResponse,
    guest: Guest,
    fork: string,
  ): Promise<void> {
    if (request.method === 'POST')
      return send(response, await this.#changeFork(request, guest, fork));
    if (request.method !== 'DELETE') return send(response, nothingHere);
    this.#forks.remove(fork);
    response.writeHead(204, guardingHeaders).end();
  }

  async #changeFork(request: IncomingMessage, guest: Guest, fork: string): Promise<Answer> {
    if (!guest.mayAct()) return tooMuch;
    const body = await bodyOf(request);
    if ('refusal' in body) return body.refusal;
    return fork === ''
      ? beginFork(this.#forks, body.value)
      : changeFork(this.#forks, fork, body.value);
  }

  #tell(response: ServerResponse, query: URLSearchParams): void {
    const { source } = this.#inspected;
    const found = testOf(source, query.get('actor') ?? '', numberOf(query, 'to') ?? source.last);
    if ('refusal' in found) send(response, found.refusal);
    else response.writeHead(200, { ...guardingHeaders, 'content-type': plainText }).end(found.text);
  }

  async #act(request: IncomingMessage, response: ServerResponse, guest: Guest): Promise<Answer> {
    if (!guest.mayAct()) return tooMuch;
    const body = await bodyOf(request);
    if ('refusal' in body) return body.refusal;
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    return act(this.#inspected, body.value, gone.signal);
  }

  #stream({ headers }: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
    const { mode, source } = this.#inspected;
    const { streams } = this.#rooms;
    // What tells a page not to come back for more.
    if (mode === 'replay') return void response.writeHead(204, guardingHeaders).end();
    if (streams.isFull)
      return send(
        response,
        refused(429, 'OVERLOADED', 'too many windows are open; close one', true),
      );
    const seen = /^\d{1,15}$/u.exec(String(headers['last-event-id'] ?? ''))?.[0];
    const from = seen === undefined ? numberOf(query, 'from') : Number(seen) + 1;
    streams.add(response, guardingHeaders, from ?? source.last + 1);
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

const nothingHere = refused(404, 'INVALID_ARGUMENTS', 'there is nothing here');
const tooMuch = refused(429, 'OVERLOADED', 'too much at once; wait a second', true);
const plainText = 'text/plain; charset=utf-8';
const unknownGuest = refused(
  401,
  'PERMISSION_DENIED',
  'this page is not authorized; open the address that troupe inspect prints, which works once',
);
const crowded = refused(
  503,
  'OVERLOADED',
  'too many connections are in use; close a window and try again',
  true,
);

function say(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { ...guardingHeaders, 'content-type': plainText }).end(`${message}\n`);
}

function send(response: ServerResponse, { status, document }: Answer): void {
  response
    .writeHead(status, { ...guardingHeaders, 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify(document));
}
