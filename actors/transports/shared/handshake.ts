/** The handshake of a shared connection: it is sent once, and later clients get the stored answer. */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { methods } from '../../../src/protocol/methods.ts';
import { methodNotFound } from '../../../src/protocol/rpc-codes.ts';
import type { LeasedConnection } from './leased-connection.ts';

export type Request = Extract<JSONRPCMessage, { method: string; id: unknown }>;
export type Response = Exclude<JSONRPCMessage, { method: string }>;
export type Id = string | number;

/** The requests of a handshake. */
export const handshake: ReadonlySet<string> = new Set([
  methods.initialize.name,
  methods.discover.name,
]);
const unknownMethod = { code: methodNotFound, message: 'Method not found' };

/** The answer to one request, and who waits for it under which id. */
interface Greeting {
  readonly id: Id;
  readonly waiting: Map<Id, LeasedConnection>;
  answer?: Response;
}

export class SharedHandshake {
  readonly #greetings = new Map<string, Greeting>();

  /** Returns the known answer; `awaited` if it will be delivered, `none` if the request is to be sent. */
  answerFor(
    holder: LeasedConnection,
    { id, method }: Pick<Request, 'id' | 'method'>,
  ): Response | 'awaited' | 'none' {
    // Only its first one belongs to a client's handshake; a later one asks for a sign of life.
    if (holder.greeted.has(method)) return 'none';
    holder.greeted.add(method);
    const known = this.#greetings.get(method);
    if (known?.answer !== undefined) return { ...known.answer, id };
    const old = this.#greetings.get(methods.initialize.name)?.answer;
    // A server that accepted the old handshake is not asked for its era any more.
    if (method === methods.discover.name && old !== undefined && 'result' in old)
      return { jsonrpc: '2.0', id, error: unknownMethod };
    if (known === undefined) this.#greetings.set(method, { id, waiting: new Map() });
    else known.waiting.set(id, holder);
    return known === undefined ? 'none' : 'awaited';
  }

  /** Takes the answer to any request. */
  note(id: Id, method: string, message: Response): void {
    const greeting = this.#greetings.get(method);
    // A repeated request may be accepted where the first was not.
    if (greeting === undefined || (greeting.id !== id && !('result' in message))) return;
    greeting.answer = message;
    for (const [waitingId, holder] of greeting.waiting)
      holder.deliver({ ...message, id: waitingId });
    greeting.waiting.clear();
  }

  leave(holder: LeasedConnection): void {
    for (const { waiting } of this.#greetings.values())
      for (const [id, each] of waiting) if (each === holder) waiting.delete(id);
  }
}
