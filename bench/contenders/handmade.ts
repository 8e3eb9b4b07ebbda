/** A fleet as one writes it by hand around an SDK client: a map, `Promise.all`, no more. */

import type { BenchServer, Contender, Fleet } from '../contender.ts';

/** One client of an SDK and its connection. */
export interface HandClient {
  /** Connects and lists; the names of the tools. */
  start(): Promise<readonly string[]>;
  call(tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): Promise<void>;
  pid(): number | undefined;
  onLost(callback: () => void): void;
}

export function createHandmade(connect: (server: BenchServer) => HandClient): Contender {
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
    // Whoever waits for it is told; a server that nobody waits for must not end the process.
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
