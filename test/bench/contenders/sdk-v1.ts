/** The first line of the SDK, `@modelcontextprotocol/sdk`, by hand. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

import type { Contender } from '../contender.ts';
import { createHandmadeOf } from './handmade.ts';

export const sdkV1: Contender = createHandmadeOf<Transport>({
  client: () => new Client({ name: 'bench', version: '1.0.0' }),
  stdio: (launch) => new StdioClientTransport(launch),
  http: (url) => new StreamableHTTPClientTransport(url) as Transport,
});
