/** A fleet written by hand around an SDK client: a map and promises, nothing else. */

import type { BenchServer, Contender, Fleet } from '../contender.ts';

/** The common part of the two SDK versions. */
export interface Sdk<Transport> {
  readonly client: () => SdkClient<Transport>;
  readonly stdio: (launch: {
    command: string;
    args: string[];
    stderr: 'ignore';
  }) => Transport & { readonly pid: number | null };
  readonly http: (url: URL) => Transport;
}

interface SdkClient<Transport> {
  connect(transport: Transport): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
}

interface Member<Transport> {
  readonly client: SdkClient<Transport>;
  readonly tools: Promise<readonly string[]>;
  pid(): number | undefined;
}

export function createHandmadeOf<Transport>(sdk: Sdk<Transport>): Contender {
  return { recovers: false, open: (servers) => openFleet(sdk, servers) };
}

function memberOf<Transport>(sdk: Sdk<Transport>, server: BenchServer): Member<Transport> {
  const client = sdk.client();
  const start = async (transport: Transport): Promise<readonly string[]> => {
    await client.connect(transport);
    const { tools } = await client.listTools();
    return tools.map(({ name }) => name);
  };
  if (server.kind === 'http')
    return { client, tools: start(sdk.http(new URL(server.url))), pid: () => undefined };
  const { command, args } = server;
  const transport = sdk.stdio({ command, args: [...args], stderr: 'ignore' });
  return { client, tools: start(transport), pid: () => transport.pid ?? undefined };
}

function openFleet<Transport>(sdk: Sdk<Transport>, servers: readonly BenchServer[]): Fleet {
  const members = new Map<string, Member<Transport>>();
  const add = (server: BenchServer): Member<Transport> => {
    const member = memberOf(sdk, server);
    // `listed()` reports it; a failure that is not awaited must not end the process.
    member.tools.catch(() => {});
    members.set(server.name, member);
    return member;
  };
  const get = (name: string): Member<Transport> => {
    const member = members.get(name);
    if (member === undefined) throw new Error(`There is no server ${name}.`);
    return member;
  };
  for (const server of servers) add(server);
  return {
    async listed(name) {
      await get(name).tools;
    },
    call: (name, tool, args) => get(name).client.callTool({ name: tool, arguments: args }),
    pid: (name) => get(name).pid(),
    async change(server, tool) {
      await get(server.name).client.close();
      const tools = await add(server).tools;
      if (!tools.includes(tool)) throw new Error(`The tool ${tool} is missing.`);
    },
    lost: (name) =>
      new Promise((resolve) => {
        get(name).client.onclose = resolve;
      }),
    async close() {
      await Promise.all([...members.values()].map(({ client }) => client.close()));
    },
  };
}
