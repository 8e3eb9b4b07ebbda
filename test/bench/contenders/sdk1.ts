/** The SDK's first line, `@modelcontextprotocol/sdk` 1.x. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

import { connectWith, contenderOf } from './sdk.ts';

const connect = connectWith<Transport>({
  newClient: () => new Client({ name: 'bench', version: '1.0.0' }),
  stdio: (command, args) => new StdioClientTransport({ command, args, stderr: 'ignore' }),
  http: (url) =>
    new StreamableHTTPClientTransport(url) as Transport & StreamableHTTPClientTransport,
});

export const sdk1 = contenderOf(connect);
