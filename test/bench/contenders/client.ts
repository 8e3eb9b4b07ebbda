/** The SDK's client of today, `@modelcontextprotocol/client`, by hand. Everything is compared with it. */

import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import type { Contender } from '../contender.ts';
import { createHandmadeOf } from './handmade.ts';

export const client: Contender = createHandmadeOf<Transport>({
  client: () => new Client({ name: 'bench', version: '1.0.0' }),
  stdio: (launch) => new StdioClientTransport(launch),
  http: (url) => new StreamableHTTPClientTransport(url) as Transport,
});
