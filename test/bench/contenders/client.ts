/** The SDK's second line, `@modelcontextprotocol/client`. */

import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { connectWith, contenderOf } from './sdk.ts';

const connect = connectWith<Transport>({
  newClient: () => new Client({ name: 'bench', version: '1.0.0' }),
  stdio: (command, args) => new StdioClientTransport({ command, args, stderr: 'ignore' }),
  http: (url) =>
    new StreamableHTTPClientTransport(url) as Transport & StreamableHTTPClientTransport,
});

export const client = contenderOf(connect);
