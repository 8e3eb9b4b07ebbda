/**
 * A client as a good host uses it by hand: all servers connect in parallel, a failure stays with its
 * server, and a stop also terminates the sessions of HTTP servers.
 *
 * The clients have nearly the same interface, so what differs comes in.
 */

import type { BenchServer, Contender, Fleet } from '../contender.ts';

export interface Connection {
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  pid?(): number | undefined;
  onLost?(notify: () => void): void;
  close(): Promise<void>;
}

/** Connects and lists the tools. */
export type Connect = (server: BenchServer) => {
  readonly listed: Promise<unknown>;
  readonly connection: Connection;
};

interface SdkClient<Transport> {
  onclose?: (() => void) | undefined;
  connect(transport: Transport): Promise<void>;
  listTools(): Promise<unknown>;
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

interface Sdk<Transport> {
  readonly newClient: () => SdkClient<Transport>;
  readonly stdio: (command: string, args: string[]) => Transport & { readonly pid: number | null };
  readonly http: (url: URL) => Transport & { terminateSession(): Promise<void> };
}

/** Connects with either line of the SDK. */
export function connectWith<Transport>(sdk: Sdk<Transport>): Connect {
  return (server) => {
    const client = sdk.newClient();
    const stdio = server.kind === 'stdio' ? sdk.stdio(server.command, [...server.args]) : undefined;
    const http = server.kind === 'http' ? sdk.http(new URL(server.url)) : undefined;
    const listed = client.connect((stdio ?? http) as Transport).then(() => client.listTools());
    return {
      listed,
      connection: {
        call: (name, args) => client.callTool({ name, arguments: args }),
        pid: () => stdio?.pid ?? undefined,
        onLost: (notify) => {
          client.onclose = notify;
        },
        async close() {
          await http?.terminateSession();
          await client.close();
        },
      },
    };
  };
}

export function contenderOf(connect: Connect): Contender {
  const start = (server: BenchServer) => {
    const { listed, connection } = connect(server);
    // `listed()` reports a failure; until it is awaited, it must not end the process.
    listed.catch(() => {});
    return { ...connection, listed };
  };
  return {
    open(servers): Fleet {
      const members = new Map(servers.map((server) => [server.name, start(server)]));
      const get = (name: string): ReturnType<typeof start> => {
        const member = members.get(name);
        if (member === undefined) throw new Error(`There is no server ${name}.`);
        return member;
      };
      return {
        listed: async (name) => void (await get(name).listed),
        call: (name, tool, args) => get(name).call(tool, args),
        async change(server) {
          const old = get(server.name);
          const next = start(server);
          members.set(server.name, next);
          await Promise.all([old.close(), next.listed]);
        },
        pid: (name) => get(name).pid?.(),
        lost: (name) => new Promise((resolve) => get(name).onLost?.(resolve)),
        async close() {
          await Promise.all([...members.values()].map((member) => member.close()));
        },
      };
    },
  };
}
