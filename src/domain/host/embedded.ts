/** Servers that run inside the host. */

/**
 * One end of a pair of linked transports; the server holds the other. The MCP SDKs' `Transport`
 * fits, for example each half of `InMemoryTransport.createLinkedPair()`.
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
  /** Called once for each session; returns a transport whose other end the server already holds. */
  readonly connect: () => EmbeddedTransport | Promise<EmbeddedTransport>;
  /**
   * Settings that an entry of `mcpServers` may contain for any server, for example `tools`,
   * `trust`, `startup` or `policy`. Default: none.
   */
  readonly settings?: Readonly<Record<string, unknown>>;
}
