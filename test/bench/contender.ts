/**
 * The interface of a contender: one way of running MCP servers.
 *
 * To add one, write `contenders/NAME.ts` that exports a `Contender`, and name it in
 * `contenders.ts`. The table shows "-" or "never" for a feature that a contender lacks.
 */

export interface StdioServer {
  readonly kind: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Whether mcp-troupe hands over seamlessly; other contenders have no such choice. */
  readonly isSeamless?: boolean;
}

export interface HttpServer {
  readonly kind: 'http';
  readonly name: string;
  readonly url: string;
}

export type BenchServer = StdioServer | HttpServer;

export interface Contender {
  /** Starts all servers at once and returns before they are up. */
  readonly open: (servers: readonly BenchServer[]) => Fleet;
  /** Registers servers that start at their first use. Absent: unsupported. */
  readonly openDormant?: (servers: readonly BenchServer[]) => Promise<Fleet>;
  /** Stores catalogs in a folder and shows them before the servers are up. Absent: unsupported. */
  readonly openWarm?: (servers: readonly BenchServer[], folder: string) => WarmFleet;
}

export interface Fleet {
  /** Resolves when the tools of the server are listed. */
  listed(server: string): Promise<void>;
  call(server: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** Replaces a running server by the one of this name; resolves when its tools are listed. Absent: unsupported. */
  change?(server: BenchServer): Promise<void>;
  /** Resolves when the server's replaced process is gone. Absent: `change` waits for that. */
  replaced?(server: string): Promise<void>;
  pid?(server: string): number | undefined;
  /** Resolves when the contender notices by itself that the server is gone. */
  lost?(server: string): Promise<void>;
  /** Whether a call after a loss reaches the server again. Default: no. */
  readonly reconnects?: boolean;
  /** Resolves when every process was asked to exit. */
  close(): Promise<void>;
}

export interface WarmFleet extends Fleet {
  /** Resolves when the startup gate has passed. */
  ready(): Promise<unknown>;
  /** Whether tools of this server are offered at this moment. */
  isShown(server: string): boolean;
}
