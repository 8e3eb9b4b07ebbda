/**
 * The stages that every message of a server passes, in one list, over every transport:
 *
 *  1. structure  depth and number of values, counted on the text       `session-messages.ts`
 *  2. parsing    JSON, then the shape of JSON-RPC                      `session-messages.ts`
 *  3. budget     what nobody asked for is counted, refused or dropped  `input-budget.ts`
 *  4. questions  what the server asks of a person                      `session-question-wire.ts`
 *  5. calls      answers to calls that went beside the SDK's client    `session-light-calls.ts`
 *  6. result     what the SDK would reject of a modern result          `session-list.ts`
 *  7. client     everything else, to the SDK's client
 *
 * A fence stands around all of them: an exception while a server's input is handled ends that
 * session with a reason, which settles its calls, and reaches neither the host nor a neighbour.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../src/domain/clock.ts';
import type { FailureDescription } from '../src/policies/classify-failure.ts';
import { InputBudget, type InputEvents } from './input-budget.ts';
import { readText } from './session-messages.ts';

/** Says true when it took the message, which then goes no further. */
export type Stage = (message: JSONRPCMessage) => boolean;

// JSON-RPC reserves -32000 to -32099 for servers; this one means "slow down".
const tooManyRequests = {
  code: -32_000,
  message: 'Too many requests; send fewer than 200 a second.',
} as const;
// Far more than may be at work; what is older was given up and is answered by nobody.
const maxAwaited = 4_096;

export interface StageSetup {
  readonly clock: Clock;
  readonly events: InputEvents;
  /** Sends a message to the server; may reject. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  /** The input of the server cannot be handled: ends the connection, and with it all that waits. */
  readonly lose: (seen: Pick<FailureDescription, 'code' | 'message'>) => void;
}

export class MessageStages {
  /** Set when the session opens; before, everything goes to the client. */
  questions: Stage | undefined;
  calls: Stage | undefined;
  /** Changes a result before the client gets it; told which method it answers. */
  rewriteResult:
    | ((result: Record<string, unknown>, method: string) => Record<string, unknown>)
    | undefined;
  readonly budget: InputBudget;
  readonly #setup: StageSetup;
  /** Methods of the requests that were sent and not answered, by their ids. */
  readonly #awaited = new Map<string | number, string>();

  constructor(setup: StageSetup) {
    this.#setup = setup;
    this.budget = new InputBudget(setup.clock, setup.events);
  }

  /** A message leaves for the server; an answer to it will be welcome. */
  sent(message: JSONRPCMessage): void {
    if (!('method' in message) || !('id' in message)) return;
    if (this.#awaited.size >= maxAwaited) {
      const [oldest] = this.#awaited.keys();
      if (oldest !== undefined) this.#awaited.delete(oldest);
    }
    this.#awaited.set(message.id, message.method);
  }

  /** Stages 1 to 3 of a text: its messages, none when it holds no JSON-RPC. */
  read(text: string): readonly JSONRPCMessage[] {
    const { messages, work } = readText(text);
    if (
      messages.length === 0 ||
      messages.some((message) => this.#awaitedIdOf(message) === undefined)
    )
      this.budget.charge(Math.max(work, messages.length));
    return messages;
  }

  /** The stages from 3 on. Never throws. */
  deliver(message: JSONRPCMessage, client: Transport['onmessage']): void {
    this.fence(() => this.#pass(message, client));
  }

  /** Runs what handles input of the server: an exception ends the connection. */
  fence(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.fault(error);
    }
  }

  /** Ends the connection because of an exception while its input was handled. */
  fault(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `The server sent something that could not be handled: ${why}`;
    this.#setup.lose({ code: 'BAD_RESPONSE', message });
  }

  /** The connection is over: nothing is told any more. */
  stop(): void {
    this.budget.stop();
  }

  #pass(message: JSONRPCMessage, client: Transport['onmessage']): void {
    const method = 'method' in message ? undefined : this.#methodAnsweredBy(message);
    if ('method' in message ? !this.#admits(message) : method === undefined) return;
    if (this.questions?.(message) === true) return;
    if (this.calls?.(message) === true) return;
    client?.(method === undefined ? message : this.#rewritten(message, method));
  }

  #admits(message: Extract<JSONRPCMessage, { method: string }>): boolean {
    if (!('id' in message)) return this.budget.admitsNotification();
    if (this.budget.admitsRequest()) return true;
    // A connection that cannot take it has other ways to say so.
    const { id } = message;
    this.#setup.send({ jsonrpc: '2.0', id, error: tooManyRequests }).catch(() => {});
    return false;
  }

  /** The method of the request that this answers for the first time, if there is one. */
  #methodAnsweredBy(message: JSONRPCMessage): string | undefined {
    const id = this.#awaitedIdOf(message);
    const method = id === undefined ? undefined : this.#awaited.get(id);
    if (id !== undefined) this.#awaited.delete(id);
    return method;
  }

  #awaitedIdOf(message: JSONRPCMessage): string | number | undefined {
    if ('method' in message || message.id === undefined) return undefined;
    // Some servers make a text of a number.
    return [message.id, Number(message.id)].find((id) => this.#awaited.has(id));
  }

  #rewritten(message: JSONRPCMessage, method: string): JSONRPCMessage {
    if (this.rewriteResult === undefined || !('result' in message)) return message;
    return { ...message, result: this.rewriteResult(message.result, method) };
  }
}
