/**
 * An SDK's client as a good host uses it by hand: all servers connect in parallel, a failure stays with its
 * server, and a stop also terminates the sessions of HTTP servers.
 *
 * Both lines of the SDK have the same interface, so the modules come in.
 */

import type { BenchServer, Contender, HttpServer, StdioServer } from '../contender.ts';

interface SdkClient<Transport> {
  onclose?: (() => void) | undefined;
  connect(transport: Transport): Promise<void>;
  listTools(): Promise<unknown>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface Sdk<Transport> {
  readonly newClient: () => SdkClient<Transport>;
  readonly stdio: (server: StdioServer) => Transport & { readonly pid: number | null };
  readonly http: (server: HttpServer) => Transport & { terminateSession(): Promise<void> };
}

function connect<Transport>(sdk: Sdk<Transport>, server: BenchServer) {
  const client = sdk.newClient();
  const stdio = server.kind === 'stdio' ? sdk.stdio(server) : undefined;
  const http = server.kind === 'http' ? sdk.http(server) : undefined;
  const listed = client
    .connect((stdio ?? http) as Transport)
    .then(async () => void (await client.listTools()));
  // `listed()` reports a failure; until it is awaited, it must not end the process.
  listed.catch(() => {});
  return {
    client,
    listed,
    pid: () => stdio?.pid ?? undefined,
    async close() {
      await http?.terminateSession();
      await client.close();
    },
  };
}

export function contenderOf<Transport>(sdk: Sdk<Transport>): Contender {
  return {
    open(servers) {
      const members = new Map(servers.map((server) => [server.name, connect(sdk, server)]));
      const get = (name: string): ReturnType<typeof connect<Transport>> => {
        const member = members.get(name);
        if (member === undefined) throw new Error(`There is no server ${name}.`);
        return member;
      };
      return {
        listed: (name) => get(name).listed,
        call: (name, tool, args) => get(name).client.callTool({ name: tool, arguments: args }),
        pid: (name) => get(name).pid(),
        lost: (name) =>
          new Promise((resolve) => {
            get(name).client.onclose = resolve;
          }),
        async close() {
          await Promise.all([...members.values()].map((member) => member.close()));
        },
      };
    },
  };
}
