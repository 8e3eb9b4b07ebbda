/**
 * The gateway over stdin and stdout, for the host that started us. It has the two streams for
 * itself: a line of anything else would end the conversation.
 */

import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

import { GatewayClient } from './client.ts';
import type { Gateway } from './gateway.ts';
import { maxBodyBytes } from './http-body.ts';

export interface StdioGatewayOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
}

export interface StdioGateway {
  /** Settles when the host has closed its end. */
  readonly closed: Promise<undefined>;
  /** Lets what is under way finish within the limit, and leaves. */
  close(limitMs: number): Promise<void>;
}

export function startStdioGateway(
  gateway: Gateway,
  { stdin, stdout }: StdioGatewayOptions,
): StdioGateway {
  const closed = new Promise<undefined>((resolve) => {
    for (const end of ['end', 'close', 'error'] as const) stdin.once(end, () => resolve(undefined));
  });
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: maxBodyBytes });
  const handle = serveStdio(
    async ({ era }) => new GatewayClient(gateway, await gateway.identity(), era).server,
    { transport, onerror: (error) => gateway.report(error.message) },
  );
  return {
    closed,
    async close(limitMs) {
      await gateway.drain(limitMs);
      await handle.close();
    },
  };
}
