/** A loopback proxy that imitates a bad network. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type Toxic =
  | { readonly kind: 'none' }
  /** Drops everything in both directions without closing. */
  | { readonly kind: 'blackhole' }
  /** Delays every chunk. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Forwards responses in pieces of this many bytes. */
  | { readonly kind: 'slice'; readonly bytes: number }
  /** Resets the connection after this many bytes of a response. */
  | { readonly kind: 'reset'; readonly afterBytes: number };

export class TcpProxy {
  toxic: Toxic = { kind: 'none' };
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #port = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = this.#listen();
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await proxy.accept();
    return proxy;
  }

  get entry(): Readonly<Record<string, unknown>> {
    return { type: 'http', url: `http://127.0.0.1:${this.#port}/mcp` };
  }

  /** Open connections from clients and to the server. */
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** Accepts connections again after `refuse`. */
  async accept(): Promise<void> {
    if (this.#server.listening) return;
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Closes all connections and refuses new ones. */
  async refuse(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.reset();
    await closed;
    this.#server = this.#listen();
  }

  /** Ends all connections by a reset. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse();
    else this.reset();
  }

  #listen(): Server {
    return createServer((client) => {
      const upstream = connect(this.#targetPort, '127.0.0.1');
      this.#tie(client, upstream);
      this.#carry(client, upstream, false);
      this.#carry(upstream, client, true);
    });
  }

  #tie(...sockets: readonly Socket[]): void {
    for (const socket of sockets) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        this.#sockets.delete(socket);
        for (const other of sockets) other.destroy();
      });
    }
  }

  #carry(from: Socket, to: Socket, isAnswer: boolean): void {
    let passed = 0;
    from.on('data', (chunk: Buffer) => {
      const { toxic } = this;
      passed += chunk.length;
      if (toxic.kind === 'blackhole') return;
      if (toxic.kind === 'delay') setTimeout(() => to.write(chunk), toxic.ms);
      else if (toxic.kind === 'slice' && isAnswer) writeSliced(to, chunk, toxic.bytes);
      else if (toxic.kind === 'reset' && isAnswer && passed > toxic.afterBytes) {
        to.write(chunk.subarray(0, toxic.afterBytes), () => to.resetAndDestroy());
      } else to.write(chunk);
    });
  }
}

function writeSliced(to: Socket, chunk: Buffer, bytes: number): void {
  if (chunk.length === 0 || to.destroyed) return;
  to.setNoDelay(true);
  to.write(chunk.subarray(0, bytes), () => {
    setImmediate(() => writeSliced(to, chunk.subarray(bytes), bytes));
  });
}
