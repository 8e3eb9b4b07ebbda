/** Servers that run inside the host. */

/**
 * One end of a pair of linked transports; the server holds the other. The MCP SDKs' `Transport`
 * fits, for example each half of `InMemoryTransport.createLinkedPair()`.
 */
export interface EmbeddedTransport {
  /** Begins to deliver messages; called once, after the callbacks are set. */
  start(): Promise<void>;
  /** Sends one JSON-RPC message; rejects if it cannot be sent. */
  send(message: unknown): Promise<void>;
  /** Ends the session; `onclose` follows. */
  close(): Promise<void>;
  /** Called for each JSON-RPC message of the server. */
  onmessage?: ((message: never) => void) | undefined;
  /** Called once, when no more messages follow. */
  onclose?: (() => void) | undefined;
  /** Called for an error that does not end the session. */
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
