/** A fleet as one writes it by hand around an SDK client: a map, `Promise.all`, no more. */

import type { BenchServer, Contender, Fleet } from '../contender.ts';

/** One client of an SDK and its connection. */
interface HandClient {
  /** Connects and lists; the names of the tools. */
  start(): Promise<readonly string[]>;
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
  pid(): number | undefined;
  onLost(callback: () => void): void;
}

/** What the two lines of the SDK have in common. */
export interface Sdk<Transport> {
  readonly client: () => {
    connect(transport: Transport): Promise<void>;
    listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
    callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
    close(): Promise<void>;
    onclose?: (() => void) | undefined;
  };
  readonly stdio: (launch: {
    command: string;
    args: string[];
    stderr: 'ignore';
  }) => Transport & { readonly pid: number | null };
  readonly http: (url: URL) => Transport;
}

/** The same few lines around a client of either SDK. */
export function createHandmadeOf<Transport>(sdk: Sdk<Transport>): Contender {
  return createHandmade((server) => {
    const client = sdk.client();
    const { transport, pid } = transportOf(sdk, server);
    return {
      async start() {
        await client.connect(transport);
        const { tools } = await client.listTools();
        return tools.map(({ name }) => name);
      },
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
      pid,
      onLost(callback) {
        client.onclose = callback;
      },
    };
  });
}

function transportOf<Transport>(sdk: Sdk<Transport>, server: BenchServer) {
  if (server.kind === 'http')
    return { transport: sdk.http(new URL(server.url)), pid: () => undefined };
  const { command, args } = server;
  const transport = sdk.stdio({ command, args: [...args], stderr: 'ignore' });
  return { transport, pid: () => transport.pid ?? undefined };
}

function createHandmade(connect: (server: BenchServer) => HandClient): Contender {
  return { recovers: false, open: (servers) => openFleet(servers, connect) };
}

interface Member {
  readonly client: HandClient;
  readonly tools: Promise<readonly string[]>;
}

function openFleet(
  servers: readonly BenchServer[],
  connect: (server: BenchServer) => HandClient,
): Fleet {
  const members = new Map<string, Member>();
  const add = (server: BenchServer): Member => {
    const client = connect(server);
    const tools = client.start();
    // `listed()` reports it; a failure that is not awaited must not end the process.
    tools.catch(() => {});
    const member = { client, tools };
    members.set(server.name, member);
    return member;
  };
  const get = (name: string): Member => {
    const member = members.get(name);
    if (member === undefined) throw new Error(`There is no server ${name}.`);
    return member;
  };
  for (const server of servers) add(server);
  return {
    async listed(name) {
      await get(name).tools;
    },
    call: (name, tool, args) => get(name).client.call(tool, args),
    pid: (name) => get(name).client.pid(),
    async change(server, tool) {
      await get(server.name).client.close();
      const tools = await add(server).tools;
      if (!tools.includes(tool)) throw new Error(`The tool ${tool} is missing.`);
    },
    lost: (name) =>
      new Promise((resolve) => {
        get(name).client.onLost(resolve);
      }),
    async close() {
      await Promise.all([...members.values()].map(({ client }) => client.close()));
    },
  };
}
