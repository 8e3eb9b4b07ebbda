/**
 * Carries a session to a server inside the host. Messages are copied as JSON in both directions, as
 * they would be over a wire, so neither side can change the other's objects.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { parseJson, unwritablePart, writeJson } from '../../src/domain/data/exact-json.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { EmbeddedServer, EmbeddedTransport } from '../../src/domain/host/embedded.ts';
import { NotSentError } from '../../src/protocol/errors.ts';
import {
  badResponse,
  type OwnErrorMark,
  ownErrorFor,
  resultTooLarge,
  serialize,
  tooManyBytes,
} from '../../src/protocol/messages.ts';
import { withinTime } from '../host/time-limit.ts';
import { SettingError } from '../values/setting-error.ts';
import { Connection, type ConnectionSetup, maxMessageBytes } from './connection/connection.ts';

// The host's own code closes the server; the session waits no longer than this.
const closeMs = 1_000;
const messageCharacters = 300;

export class MemoryTransport extends Connection {
  readonly kind = 'memory';
  readonly #server: EmbeddedServer;
  #end: EmbeddedTransport | undefined;
  #closed: Promise<void> | undefined;

  constructor(server: EmbeddedServer, setup: ConnectionSetup) {
    super(setup);
    this.#server = server;
  }

  async start(): Promise<void> {
    try {
      const end = await this.#server.connect();
      assertTransport(end);
      this.#end = end;
      // The session closed while the host was connecting its server.
      if (this.isOver) {
        await end.close();
        return;
      }
      end.onmessage = (message: unknown) => this.#receive(message);
      end.onclose = () =>
        this.lose({
          code: 'CONNECTION_CLOSED',
          message: 'The embedded server closed its connection.',
        });
      end.onerror = (error) => this.onerror?.(error);
      await end.start();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new SettingError(
        `The host could not connect its server: ${printableLine(why, messageCharacters)}`,
        { cause: error },
      );
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.isOver || this.#end === undefined) throw new NotSentError('Not connected');
    const copy: unknown = parseJson(serialize(message));
    this.noteSent(message);
    await this.#end.send(copy);
  }

  close(): Promise<void> {
    this.over();
    this.#closed ??= withinTime(this.setup.clock, closeMs, this.#closeEnd());
    return this.#closed;
  }

  dispose(): void {
    void this.close();
  }

  async #closeEnd(): Promise<void> {
    try {
      await this.#end?.close();
    } catch {
      // The host's own code may throw anything; the session drops it in any case.
    }
  }

  #receive(message: unknown): void {
    if (this.isOver) return;
    this.stages.fence(() => {
      for (const read of this.#readValue(message)) this.stages.deliver(read, this.onmessage);
    });
  }

  #readValue(message: unknown): readonly JSONRPCMessage[] {
    const fault = (text: string, mark: OwnErrorMark = badResponse): readonly JSONRPCMessage[] => {
      if (!isRecord(message) || 'method' in message) return [];
      const { id } = message;
      return typeof id === 'number' || typeof id === 'string' ? [ownErrorFor(id, mark, text)] : [];
    };
    let text: string | undefined;
    try {
      text = writeJson(message);
    } catch {
      return fault('The server answered with something that is not JSON.');
    }
    if (text === undefined) return [];
    if (text.length > maxMessageBytes) {
      const isResult = isRecord(message) && 'result' in message;
      return fault(tooManyBytes, isResult ? resultTooLarge : badResponse);
    }
    // Where JSON cannot hold a value, the text has null.
    const part = text.includes('null') ? unwritablePart(message) : undefined;
    if (part !== undefined)
      return fault(`The server answered with something that JSON cannot hold: ${part}.`);
    return this.stages.read(text);
  }
}

function assertTransport(value: unknown): asserts value is EmbeddedTransport {
  const isFit =
    typeof value === 'object' &&
    value !== null &&
    ['start', 'send', 'close'].every((name) => name in value);
  if (!isFit) throw new TypeError('"connect" gave nothing that can start, send and close');
}
