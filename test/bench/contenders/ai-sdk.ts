/** `@ai-sdk/mcp`, the AI SDK's own client. */

import { type Connection, contenderOf } from './sdk.ts';

interface AiClient {
  listTools(): Promise<unknown>;
  callTool(call: { name: string; args: Readonly<Record<string, unknown>> }): Promise<unknown>;
  close(): Promise<void>;
}

// Installed when it is first used, so its types are not at hand.
const [main, stdio] = ['@ai-sdk/mcp', '@ai-sdk/mcp/mcp-stdio'];
const { createMCPClient } = (await import(main)) as {
  readonly createMCPClient: (config: object) => Promise<AiClient>;
};
const { StdioMCPTransport } = (await import(stdio)) as {
  StdioMCPTransport: new (config: object) => object;
};

export const aiSdk = contenderOf((server) => {
  const transport =
    server.kind === 'http'
      ? { type: 'http', url: server.url }
      : new StdioMCPTransport({ command: server.command, args: server.args, stderr: 'ignore' });
  const client = createMCPClient({ transport });
  const connection: Connection = {
    call: async (name, args) => (await client).callTool({ name, args }),
    close: async () => (await client).close(),
  };
  return { listed: client.then((open) => open.listTools()), connection };
});
