/**
 * The gateway over stdin and stdout, for the host that started us. It has the two streams for
 * itself: a line of anything else would end the conversation.
 */

import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';

import { isRecord } from '../policies/is-record.ts';
import { GatewayClient } from './client.ts';
import type { Gateway } from './gateway.ts';
import { maxBodyBytes } from './http-body.ts';
import { addressesIn, Listening } from './listening.ts';

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
  const listening = new Listening(gateway);
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: maxBodyBytes });
  const handle = serveStdio(
    async ({ era }) =>
      new GatewayClient(gateway, await gateway.identity(), era, {
        canHear: () => true,
        listensFor: (address) => listening.has(address),
        onClosed: () => listening.close(),
      }).server,
    { transport, onerror: (error) => gateway.faults.add('the host', error) },
  );
  followListening(transport, listening);
  return {
    closed,
    async close(limitMs) {
      await gateway.drain(limitMs);
      // What has ended by now is written within this turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      await handle.close();
    },
  };
}

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** The SDK keeps to itself what a modern client listens for; it is read on the wire. */
function followListening(transport: StdioServerTransport, listening: Listening): void {
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  transport.onmessage = (message) => {
    if (isOf(message, 'notifications/cancelled')) listening.end(message.params['requestId']);
    onmessage?.(message);
  };
  transport.send = async (message) => {
    await send(message);
    // What was agreed to; and what it was, is over, when its request is answered.
    if (isOf(message, 'notifications/subscriptions/acknowledged')) {
      const { _meta: meta } = message.params;
      if (isRecord(meta)) listening.begin(meta[subscriptionKey], addressesIn(message.params));
    } else if ('id' in message && !('method' in message)) listening.end(message.id);
  };
}

function isOf(
  message: JSONRPCMessage,
  method: string,
): message is JSONRPCMessage & { readonly params: Record<string, unknown> } {
  return 'method' in message && message.method === method && isRecord(message.params);
}
