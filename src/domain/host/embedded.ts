/** Servers that run inside the host. */

/**
 * One end of a pair of linked transports; the server holds the other. What the
 * MCP SDKs call `Transport` fits, for example each half of `InMemoryTransport.createLinkedPair()`.
 */
export interface EmbeddedTransport {
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** A server inside the host. */
export interface EmbeddedServer {
  /** Called once for each session; gives a transport whose other end the server already holds. */
  readonly connect: () => EmbeddedTransport | Promise<EmbeddedTransport>;
  /**
   * What an entry of `mcpServers` may say of any server, for example `tools`, `trust`,
   * `startup` or `policy`. Default: nothing.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}
