/**
 * The interface of a contender: one way of running MCP servers.
 *
 * To add one: write `contenders/NAME.ts` that exports a `Contender`, and name it in
 * `contenders.ts`. Its flags name what it cannot do; the table then shows "never" instead of a number.
 */

export interface StdioServer {
  readonly kind: 'stdio';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

export interface HttpServer {
  readonly kind: 'http';
  readonly name: string;
  readonly url: string;
}

export type BenchServer = StdioServer | HttpServer;

export interface Contender {
  /** Restarts a crashed server by itself. */
  readonly recovers: boolean;
  /** Starts all servers at once and returns before they are up. */
  readonly open: (servers: readonly BenchServer[]) => Fleet;
  /** Registers servers that start at their first use. Absent: unsupported. */
  readonly openDormant?: (servers: readonly BenchServer[]) => Promise<Fleet>;
  /** Stores catalogs in a folder and shows them before the servers are up. Absent: unsupported. */
  readonly openWarm?: (servers: readonly BenchServer[], folder: string) => WarmFleet;
}

export interface WarmFleet extends Fleet {
  /** Settles when the host may go on. */
  ready(): Promise<unknown>;
  /** Whether tools of this server are offered at this moment. */
  isShown(server: string): boolean;
}

/** How one server got up, in ms; the last two on one clock. */
export interface Start {
  readonly queuedMs: number;
  readonly begunAt: number;
  readonly listedAt: number;
}

export interface Fleet {
  /** Settles when the tools of the server are listed. */
  listed(server: string): Promise<void>;
  call(server: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  pid(server: string): number | undefined;
  /** Gives one server new settings; settles when the list shows the tool that only these bring. */
  change(server: BenchServer, tool: string): Promise<void>;
  /** Settles when the contender knows by itself that the server is gone. */
  lost(server: string): Promise<void>;
  /** How the first start of each server went. Absent: all begin at once. */
  starts?(): readonly Start[];
  /** How long the contender meant to wait before the first try after the loss. Absent: it does not try. */
  pauseAfterLossMs?(server: string): number | undefined;
  /** Resolves when every process was asked to exit. */
  close(): Promise<void>;
}
