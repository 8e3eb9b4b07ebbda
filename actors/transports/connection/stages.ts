/**
 * The stages that every message from a server passes, over every transport, in one list:
 *
 *  1. structure  depth and number of values, counted on the text         `messages.ts`
 *  2. parsing    JSON, then the shape of JSON-RPC                        `messages.ts`
 *  3. budget     unsolicited input is counted, refused or dropped        `input-budget.ts`
 *  4. questions  requests for the user: elicitation, sampling, roots     `question-wire.ts`
 *  5. requests   answers and progress of requests of callers             `requests.ts`
 *  6. client     everything else                                         `mcp-client.ts`
 *
 * All of them are guarded: an exception while a server's input is handled ends that session with a
 * reason, which settles its calls. It reaches neither the host nor another server.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Clock } from '../../../src/domain/clock.ts';
import type { FailureDescription } from '../../../src/policies/failures/classify.ts';
import { readText } from '../../../src/protocol/messages.ts';
import { serverError } from '../../../src/protocol/rpc-codes.ts';
import { InputBudget, type InputEvents, requestsPerSecond } from './input-budget.ts';

/** Returns true if it consumed the message, which then goes no further. */
type Stage = (message: JSONRPCMessage) => boolean;

// JSON-RPC reserves -32000 to -32099 for servers; this one means "slow down".
const tooManyRequests = {
  code: serverError,
  message: `Too many requests; send fewer than ${requestsPerSecond} a second.`,
} as const;
// Far more than may be in flight; older requests were given up, and nothing waits for their
// responses.
const maxAwaited = 4_096;

export interface StageSetup {
  readonly clock: Clock;
  readonly events: InputEvents;
  /** Sends a message to the server; may reject. */
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  /** Ends the connection, and with it every pending request, because input cannot be handled. */
  readonly lose: (seen: Pick<FailureDescription, 'code' | 'message'>) => void;
}

export class MessageStages {
  /** Set when the session opens; until then, everything goes to the client. */
  questions: Stage | undefined;
  calls: Stage | undefined;
  /** Called with each batch of messages that the server sent; set while its silence would count. */
  onRead: ((messages: readonly JSONRPCMessage[]) => void) | undefined;
  readonly budget: InputBudget;
  readonly #setup: StageSetup;
  /** Ids of the requests that were sent but not yet answered. */
  readonly #awaited = new Set<string | number>();

  constructor(setup: StageSetup) {
    this.#setup = setup;
    this.budget = new InputBudget(setup.clock, setup.events);
  }

  /** Records a message that is sent to the server; a response to it will be accepted. */
  sent(message: JSONRPCMessage): void {
    if (!('method' in message) || !('id' in message)) return;
    if (this.#awaited.size >= maxAwaited) {
      const [oldest] = this.#awaited;
      if (oldest !== undefined) this.#awaited.delete(oldest);
    }
    this.#awaited.add(message.id);
  }

  /** Runs stages 1 to 3 on a string. Returns its messages; none if it is not JSON-RPC. */
  read(text: string): readonly JSONRPCMessage[] {
    const { messages, work } = readText(text);
    if (
      messages.length === 0 ||
      messages.some((message) => this.#awaitedIdOf(message) === undefined)
    )
      this.budget.charge(Math.max(work, messages.length));
    if (messages.length > 0) this.onRead?.(messages);
    return messages;
  }

  /** Runs the stages from 3 on. Never throws. */
  deliver(message: JSONRPCMessage, client: Transport['onmessage']): void {
    this.fence(() => this.#pass(message, client));
  }

  /** Runs the stages from 4 on, for a message that passed the others on a shared connection. */
  relay(message: JSONRPCMessage, client: Transport['onmessage']): void {
    this.fence(() => this.#handOver(message, client));
  }

  /** Runs a handler for the server's input; an exception ends the connection. */
  fence(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.fault(error);
    }
  }

  /** Ends the connection because of an exception while the server's input was handled. */
  fault(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `The server sent something that could not be handled: ${why}`;
    this.#setup.lose({ code: 'BAD_RESPONSE', message });
  }

  #pass(message: JSONRPCMessage, client: Transport['onmessage']): void {
    if ('method' in message ? this.#admits(message) : this.#isFirstAnswer(message))
      this.#handOver(message, client);
  }

  #handOver(message: JSONRPCMessage, client: Transport['onmessage']): void {
    if (this.questions?.(message) === true) return;
    if (this.calls?.(message) === true) return;
    client?.(message);
  }

  #admits(message: Extract<JSONRPCMessage, { method: string }>): boolean {
    if (!('id' in message)) return this.budget.admitsNotification();
    if (this.budget.admitsRequest()) return true;
    // A connection that cannot send reports that elsewhere.
    const { id } = message;
    this.#setup.send({ jsonrpc: '2.0', id, error: tooManyRequests }).catch(() => {});
    return false;
  }

  /** Returns whether this message is the first to answer a request. */
  #isFirstAnswer(message: JSONRPCMessage): boolean {
    const id = this.#awaitedIdOf(message);
    return id !== undefined && this.#awaited.delete(id);
  }

  #awaitedIdOf(message: JSONRPCMessage): string | number | undefined {
    if ('method' in message || message.id === undefined) return undefined;
    const { id } = message;
    if (this.#awaited.has(id)) return id;
    // Some servers return a numeric id as a string.
    return typeof id === 'string' && this.#awaited.has(Number(id)) ? Number(id) : undefined;
  }
}
