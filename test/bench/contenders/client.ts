/** The SDK's second line, `@modelcontextprotocol/client`, used by hand. */

import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { contenderOf } from './sdk.ts';

export const client = contenderOf<Transport>({
  newClient: () => new Client({ name: 'bench', version: '1.0.0' }),
  stdio: ({ command, args }) =>
    new StdioClientTransport({ command, args: [...args], stderr: 'ignore' }),
  http: ({ url }) =>
    new StreamableHTTPClientTransport(new URL(url)) as Transport & StreamableHTTPClientTransport,
});
