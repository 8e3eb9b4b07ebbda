/**
 * The HTTP twin of `effect-counter.mjs`, inside this process. It dies by cutting all connections,
 * refusing new ones for a moment and forgetting all sessions, which on the wire looks like a crash.
 */

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

import type { CallArguments } from './effect-places.ts';

// Long enough for a connection to be refused, short enough for ten thousand calls.
const awayMs = 3;

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly protocolVersion?: string; readonly arguments?: CallArguments };
}

export class Endpoint {
  readonly #file: string;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<string>();
  readonly #server = createServer((request, response) => {
    // An interrupted request gets no response, on purpose.
    void this.#receive(request, response).catch(() => response.destroy());
  });
  #port = 0;
  #isOver = false;
  #isAway = false;

  private constructor(file: string) {
    this.#file = file;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  /** @param file - records each run of the tool */
  static async start(file: string): Promise<Endpoint> {
    const endpoint = new Endpoint(file);
    await endpoint.#listen();
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Simulates a crash and a quick restart. */
  die(): void {
    this.#sessions.clear();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#isAway) return;
    this.#isAway = true;
    this.#server.close(() => {
      void pause(awayMs).then(async () => {
        if (!this.#isOver) await this.#listen();
        this.#isAway = false;
      });
    });
  }

  close(): Promise<void> {
    this.#isOver = true;
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      for (const socket of this.#sockets) socket.destroy();
      if (!this.#server.listening) resolve();
    });
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    let text = '';
    request.setEncoding('utf8');
    for await (const chunk of request) {
      text += String(chunk);
      if (text.includes('"dies":"midRequest"')) return this.die();
    }
    const message = JSON.parse(text) as Message;
    const isKnown = this.#sessions.has(String(request.headers['mcp-session-id']));
    if (message.method !== 'initialize' && !isKnown) response.writeHead(404).end();
    else if (message.id === undefined) response.writeHead(202).end();
    else if (message.method === 'tools/call') await this.#count(message, response);
    else this.#introduce(message, response);
  }

  #introduce({ id, method, params }: Message, response: ServerResponse): void {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (method === 'initialize') {
      const session = randomUUID();
      this.#sessions.add(session);
      headers['Mcp-Session-Id'] = session;
    }
    const result =
      method === 'initialize'
        ? {
            protocolVersion: params.protocolVersion,
            capabilities: { tools: {} },
            serverInfo: { name: 'effect-endpoint', version: '1.0.0' },
          }
        : { tools: [{ name: 'count', inputSchema: { type: 'object' } }] };
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }

  async #count({ id, params }: Message, response: ServerResponse): Promise<void> {
    const { n, dies, ms = 0 } = params.arguments as CallArguments;
    if (dies === 'beforeEffect') return this.die();
    appendFileSync(this.#file, `${n}\n`);
    if (dies === 'afterEffect') return this.die();
    const result = { content: [{ type: 'text', text: String(n) }] };
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result });
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(answer),
    });
    const die = (): void => this.die();
    if (dies === 'midAnswer') {
      response.write(answer.slice(0, answer.length / 2), die);
      return;
    }
    if (ms > 0) await pause(ms);
    response.end(answer, dies === 'afterAnswer' ? die : undefined);
  }
}
