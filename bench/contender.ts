/**
 * What a way of running MCP servers must offer to take part in the benchmark.
 *
 * To add one: write `contenders/NAME.ts` that exports a `Contender`, and name it in
 * `contenders.ts`. Whatever a contender cannot do it says by its flags; then its column shows
 * "never" instead of a number.
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
  /** Brings a server back after a crash without being told to. */
  readonly recovers: boolean;
  /** Starts all servers at once and returns before they are up. */
  readonly open: (servers: readonly BenchServer[]) => Fleet;
  /** Makes servers known that start at their first use. Absent: a server either runs or is nothing. */
  readonly openDormant?: (servers: readonly BenchServer[]) => Promise<Fleet>;
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
  /** Settles when all processes of the fleet were told to end. */
  close(): Promise<void>;
}
