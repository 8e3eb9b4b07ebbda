/** A stdio server as most are: written with the SDK, which is most of its start. */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'bench', version: '1.0.0' });
server.registerTool(
  'echo',
  { description: 'Echoes.', inputSchema: { text: z.string() } },
  (args) => ({
    content: [{ type: 'text', text: args.text }],
  }),
);
await server.connect(new StdioServerTransport());
