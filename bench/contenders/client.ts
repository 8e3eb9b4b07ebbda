/** The SDK's client of today, `@modelcontextprotocol/client`, by hand. Everything is compared with it. */

import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import type { BenchServer, Contender } from '../contender.ts';
import { createHandmade, type HandClient } from './handmade.ts';

function connect(server: BenchServer): HandClient {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const stdio =
    server.kind === 'stdio'
      ? new StdioClientTransport({
          command: server.command,
          args: [...server.args],
          stderr: 'ignore',
        })
      : undefined;
  const transport =
    stdio ??
    (new StreamableHTTPClientTransport(
      new URL(server.kind === 'http' ? server.url : ''),
    ) as Transport);
  return {
    async start() {
      await client.connect(transport);
      const { tools } = await client.listTools();
      return tools.map(({ name }) => name);
    },
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
    pid: () => stdio?.pid ?? undefined,
    onLost(callback) {
      client.onclose = callback;
    },
  };
}

export const client: Contender = createHandmade(connect);
