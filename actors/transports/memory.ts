/**
 * Carries a session to a server inside the host. What crosses is JSON in both
 * directions, as over a wire, so neither side can change what the other holds.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { EmbeddedServer, EmbeddedTransport } from '../../src/domain/host/embedded.ts';
import type { SessionEvidence } from '../../src/domain/session.ts';
import { isRecord } from '../../src/policies/is-record.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import { SettingError } from '../values/target.ts';
import {
  type Connection,
  type ConnectionSetup,
  maxMessageBytes,
  NotSentError,
  type Seen,
  UnwritableError,
} from './connection/connection.ts';
import {
  badResponse,
  type OwnErrorMark,
  ownErrorFor,
  resultTooLarge,
  tooManyBytes,
} from './connection/messages.ts';
import { MessageStages } from './connection/stages.ts';

// The host's own code; what it does not finish by then is not waited for.
const closeMs = 1_000;
const messageCharacters = 300;

export class MemoryTransport implements Transport, Connection {
  readonly kind = 'memory';
  // With these two the SDK takes silence after the question for the era as "no", as over stdio.
  readonly pid = undefined;
  readonly stderr = null;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];

  readonly stages: MessageStages;
  readonly #connect: EmbeddedServer['connect'];
  readonly #setup: ConnectionSetup;
  #end: EmbeddedTransport | undefined;
  #isOver = false;
  #closed: Promise<void> | undefined;

  constructor(connect: EmbeddedServer['connect'], setup: ConnectionSetup) {
    this.#connect = connect;
    this.#setup = setup;
    this.stages = new MessageStages({
      clock: setup.clock,
      events: setup.events,
      send: (message) => this.send(message),
      lose: (seen) => this.#lose(seen),
    });
  }

  get transport(): Transport {
    return this;
  }

  async start(): Promise<void> {
    try {
      const end = await this.#connect();
      assertTransport(end);
      this.#end = end;
      // Closed while the host was making it.
      if (this.#isOver) {
        await end.close();
        return;
      }
      end.onmessage = (message: unknown) => this.#receive(message);
      end.onclose = () =>
        this.#lose({
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
    if (this.#isOver || this.#end === undefined) throw new NotSentError('Not connected');
    let copy: unknown;
    try {
      copy = JSON.parse(JSON.stringify(message));
    } catch (error) {
      throw new UnwritableError(error);
    }
    this.stages.sent(message);
    if ('method' in message) this.#setup.events.sending(message.method);
    await this.#end.send(copy);
  }

  context(): Record<string, never> {
    return {};
  }

  evidence(): SessionEvidence {
    return {};
  }

  close(): Promise<void> {
    this.#over();
    this.#closed ??= this.#closeEnd();
    return this.#closed;
  }

  dispose(): void {
    void this.close();
  }

  async #closeEnd(): Promise<void> {
    const { clock } = this.#setup;
    let timer: unknown;
    const late = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, closeMs);
    });
    await Promise.race([late, this.#askToClose()]);
    clock.clearTimeout(timer);
  }

  /** The host's own code, which may throw in any way. */
  async #askToClose(): Promise<void> {
    try {
      await this.#end?.close();
    } catch {
      // It is let go of in any case.
    }
  }

  #receive(message: unknown): void {
    if (this.#isOver) return;
    this.stages.fence(() => {
      for (const read of this.#readValue(message)) this.stages.deliver(read, this.onmessage);
    });
  }

  #lose(seen: Seen): void {
    if (this.#isOver) return;
    this.#setup.events.ended(seen);
    this.#over();
  }

  /** The SDK fails all that is in flight; what arrives later is dropped. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.stages.stop();
    this.onclose?.();
  }

  #readValue(message: unknown): readonly JSONRPCMessage[] {
    const fault = (text: string, mark: OwnErrorMark = badResponse): readonly JSONRPCMessage[] => {
      const id = isRecord(message) ? message['id'] : undefined;
      const isAnswer = isRecord(message) && !('method' in message);
      return isAnswer && (typeof id === 'number' || typeof id === 'string')
        ? [ownErrorFor(id, mark, text)]
        : [];
    };
    let text: string | undefined;
    try {
      text = JSON.stringify(message);
    } catch {
      return fault('The server answered with something that is no JSON.');
    }
    if (text === undefined) return [];
    if (text.length > maxMessageBytes) {
      const isResult = isRecord(message) && 'result' in message;
      return fault(tooManyBytes, isResult ? resultTooLarge : badResponse);
    }
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
