/** The SDK's client, `@modelcontextprotocol/client`, used directly: a map of clients and promises. */

import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import type { BenchServer, Contender } from '../contender.ts';

function connect(server: BenchServer) {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const transport =
    server.kind === 'http'
      ? (new StreamableHTTPClientTransport(new URL(server.url)) as Transport)
      : new StdioClientTransport({ ...server, args: [...server.args], stderr: 'ignore' });
  const listed = client.connect(transport).then(async () => void (await client.listTools()));
  // `listed()` reports a failure; until it is awaited, it must not end the process.
  listed.catch(() => {});
  const pid = (): number | undefined =>
    transport instanceof StdioClientTransport ? (transport.pid ?? undefined) : undefined;
  return { client, listed, pid };
}

export const client: Contender = {
  open(servers) {
    const members = new Map(servers.map((server) => [server.name, connect(server)]));
    const get = (name: string): ReturnType<typeof connect> => {
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
        await Promise.all([...members.values()].map((member) => member.client.close()));
      },
    };
  },
};
