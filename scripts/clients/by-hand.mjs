/** A host that connects to each server with a client of the SDK: `node by-hand.mjs SETTINGS`. */

import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const { mcpServers } = JSON.parse(readFileSync(process.argv[2], 'utf8'));

await Promise.all(
  Object.values(mcpServers).map(async (entry) => {
    const client = new Client({ name: 'by-hand', version: '1.0.0' });
    await client.connect(new StdioClientTransport(entry));
    process.stdout.write(`${JSON.stringify(await client.listTools())}\n`);
  }),
);
