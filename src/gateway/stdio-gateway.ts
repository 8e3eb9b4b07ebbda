/**
 * The gateway over stdin and stdout, for the host that started it. Nothing else may use the two streams.
 *
 * A host that stops reading first loses log lines and progress. Changes of lists and resources are held back and
 * sent once when it reads again. When its unread output exceeds an {@link Outbox}'s limit for one reader, the
 * gateway ends as if the host had closed stdin.
 */

import type { Readable, Writable } from 'node:stream';
import { type JSONRPCMessage, serializeMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { Outbox, type OutboxLimits, outboxLimits } from '../../actors/host/slow-readers.ts';
import { LineReader } from '../../actors/transports/stdio/lines.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { metaKeys } from '../protocol/meta.ts';
import { methods } from '../protocol/methods.ts';
import { isNote } from './droppable-messages.ts';
import { readMessage, withoutMarks } from './exact-numbers.ts';
import type { Gateway } from './gateway.ts';
import { GatewayClient } from './gateway-client.ts';
import { maxBodyBytes } from './request-guard.ts';
import { addressesIn, Listening } from './resource-subscriptions.ts';

interface StdioGatewayOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Limits of unread output. Default: {@link outboxLimits} */
  readonly limits?: Partial<OutboxLimits>;
  /**
   * Begins the ids of our requests, for a host that may still answer those of another gateway. Default: the
   * SDK's numbers.
   */
  readonly idPrefix?: string;
  /** Called when the host left too much unread; pending output to stdout will then never be read. */
  readonly onUnread?: () => void;
}

export interface StdioGateway {
  /** Resolves when the host has closed stdin or left too much unread. */
  readonly closed: Promise<undefined>;
  /** Waits for requests in progress, up to the limit, then closes. */
  close(limitMs: number): Promise<void>;
}

export function startStdioGateway(
  gateway: Gateway,
  { stdin, stdout, limits, idPrefix = '', onUnread }: StdioGatewayOptions,
): StdioGateway {
  let close = (): void => undefined;
  const closed = new Promise<undefined>((resolve) => {
    close = () => resolve(undefined);
  });
  for (const end of ['end', 'close', 'error'] as const) stdin.once(end, () => close());
  const outbox = new Outbox(
    { ...outboxLimits, ...limits },
    { dropped: () => gateway.metrics.droppedNote(), unread: () => gateway.metrics.leftUnread() },
  );
  const clients = new Set<GatewayClient>();
  const listening = new Listening(gateway);
  const transport = new ExactTransport(stdin, stdout, idPrefix);
  const handle = serveStdio(
    async ({ era }) => {
      const client = new GatewayClient(gateway, await gateway.identity(), era, {
        canReceive: () => !outbox.lags(stdout),
        listensFor: (address) => listening.has(address),
        onClosed: () => {
          clients.delete(client);
          listening.close();
        },
      });
      clients.add(client);
      return client.server;
    },
    { transport, onerror: (error) => gateway.faults.add('the host', error) },
  );
  outbox.add(stdout, 'streams', () => {
    gateway.faults.add('the host', new Error('does not read its answers; the gateway ends'));
    onUnread?.();
    close();
    void handle.close();
  });
  stdout.on('drain', () => {
    for (const client of clients) client.sendMissed();
  });
  // Replaces the SDK's `send`, which waits for the host with every message and buffers without limit.
  transport.send = (message) => {
    if (stdout.destroyed) return Promise.reject(new Error('Not connected'));
    const line = withoutMarks(serializeMessage(transport.outward(message)));
    if (isNote(message)) outbox.note(stdout, line);
    else outbox.write(stdout, line);
    return Promise.resolve();
  };
  followListening(transport, listening);
  return {
    closed,
    async close(limitMs) {
      await gateway.drain(limitMs);
      // Results that are ready are written within this turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      await handle.close();
    },
  };
}

/** Reads numbers as they are written; the SDK's transport does not. */
class ExactTransport extends StdioServerTransport {
  readonly #idPrefix: string;
  readonly #lines = new LineReader(maxBodyBytes, {
    onLine: (line) => this.#onLine(line),
    onSkipping: () => this.#end(),
    onTooLong: () => this.#end(),
    onSkipped: () => undefined,
  });

  constructor(stdin: Readable, stdout: Writable, idPrefix: string) {
    super(stdin, stdout);
    this.#idPrefix = idPrefix;
  }

  override _ondata = (chunk: Buffer): void => this.#lines.push(chunk);

  #onLine(line: string): void {
    try {
      this.onmessage?.(this.#inward(readMessage(line)));
    } catch (error) {
      // As with the SDK, what is not JSON is noise.
      if (error instanceof Error && !(error instanceof SyntaxError)) this.onerror?.(error);
    }
  }

  /** Gives our requests ids of our own, also where we withdraw one. */
  outward(message: JSONRPCMessage): JSONRPCMessage {
    const prefix = this.#idPrefix;
    if (prefix === '' || !('method' in message)) return message;
    if ('id' in message) return { ...message, id: `${prefix}${message.id}` };
    if (!isOf(message, methods.cancelled.name)) return message;
    const requestId = `${prefix}${String(message.params['requestId'])}`;
    return { ...message, params: { ...message.params, requestId } };
  }

  /** An answer to a request that we did not send keeps its id, which the SDK then does not know. */
  #inward(message: JSONRPCMessage): JSONRPCMessage {
    const prefix = this.#idPrefix;
    const isAnswer = prefix !== '' && !('method' in message) && 'id' in message;
    if (!isAnswer) return message;
    const id = String(message.id);
    return {
      ...message,
      id: id.startsWith(prefix) ? Number(id.slice(prefix.length)) : `foreign-${id}`,
    };
  }

  #end(): void {
    this.onerror?.(new Error(`a message exceeds the limit of ${maxBodyBytes} bytes`));
    void this.close();
  }
}

/** Reads a modern client's resource subscriptions from its messages, because the SDK does not expose them. */
function followListening(transport: StdioServerTransport, listening: Listening): void {
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  transport.onmessage = (message) => {
    if (isOf(message, methods.cancelled.name)) listening.end(message.params['requestId']);
    onmessage?.(message);
  };
  transport.send = async (message) => {
    await send(message);
    // The acknowledgement names the accepted resources; the answer to the request ends the stream.
    if (isOf(message, methods.listening.name)) {
      const { _meta: meta } = message.params;
      if (isRecord(meta))
        listening.begin(meta[metaKeys.subscriptionId], addressesIn(message.params));
    } else if ('id' in message && !('method' in message)) listening.end(message.id);
  };
}

function isOf(
  message: JSONRPCMessage,
  method: string,
): message is JSONRPCMessage & { readonly params: Record<string, unknown> } {
  return 'method' in message && message.method === method && isRecord(message.params);
}
