/**
 * Sends `tools/call` without the client, which handles everything else: handshake, lists,
 * progress and questions. A call is one map entry and one timer; in the client it would cost
 * schemas, a second timer and a signal.
 *
 * Works only for protocols before the 2026-07-28 revision, in which a request is nothing but its
 * parameters and every response is final. Each call settles exactly once: by its response, its
 * deadline, its caller's abort, a failed send, or the end of the connection. A later response goes
 * to the client, which ignores it.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import type { MessageStages } from '../../transports/connection/stages.ts';
import { CallDeadline, type CallTime, timedOut } from './deadline.ts';

export interface LightCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly time: CallTime;
  /** Receives the call's deadline before the call is sent. */
  readonly onDeadline?: ((deadline: CallDeadline) => void) | undefined;
}

type Result = Readonly<Record<string, unknown>>;
/** Resolves with the unchecked result; rejects with the code, message and data of the SDK's errors. */
export type CallLightly = (params: Result, options: LightCallOptions) => Promise<Result>;

interface Waiting {
  resolve(result: Result): void;
  reject(error: unknown): void;
  /** Removes its timer and its listener. */
  release(): void;
}

/** Consumes the responses to its own calls; the client gets all other messages. */
export function createLightCalls(
  clock: Clock,
  transport: Transport,
  stages: MessageStages,
): CallLightly {
  const waiting = new Map<number, Waiting>();

  const take = (id: number): Waiting | undefined => {
    const call = waiting.get(id);
    if (call === undefined) return undefined;
    waiting.delete(id);
    call.release();
    return call;
  };
  const fail = (id: number, error: unknown): boolean => {
    const call = take(id);
    call?.reject(error);
    return call !== undefined;
  };
  const giveUp = (id: number, reason: unknown): void => {
    if (!fail(id, reason)) return;
    const params = { requestId: id, reason: String(reason) };
    // A connection that cannot send reports that elsewhere.
    transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {});
  };
  const answer = (message: JSONRPCMessage): boolean => {
    if ('method' in message || !('id' in message)) return false;
    // Some servers return a numeric id as a string.
    const call = take(Number(message.id));
    if (call === undefined) return false;
    if ('error' in message) call.reject(answeredError(message.error));
    else call.resolve(withoutType(message.result));
    return true;
  };

  stages.calls = answer;
  const { onclose } = transport;
  transport.onclose = () => {
    try {
      onclose?.();
    } finally {
      const closed = { code: 'CONNECTION_CLOSED' };
      for (const id of [...waiting.keys()])
        fail(id, Object.assign(new Error('Connection closed'), closed));
    }
  };

  return (params, { signal, time, onDeadline }) =>
    new Promise((resolve, reject) => {
      const id = takeRequestId();
      const abort = (): void => giveUp(id, signal?.reason);
      const deadline = new CallDeadline(clock, time, () => giveUp(id, timedOut()));
      onDeadline?.(deadline);
      signal?.addEventListener('abort', abort, { once: true });
      const release = (): void => {
        deadline.stop();
        signal?.removeEventListener('abort', abort);
      };
      waiting.set(id, { resolve, reject, release });
      transport
        .send({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...params } })
        .catch((error: unknown) => fail(id, error));
    });
}

/**
 * Request ids form one sequence for all of this process's connections. An id is never reused, so a
 * late response matches no other request, even if a server or proxy sends it on another connection.
 * The sequence starts at 0, which leaves two billion ids for servers that store them in 32 bits.
 */
let nextRequestId = 0;

/** Returns the next id. */
export function takeRequestId(): number {
  const id = nextRequestId;
  nextRequestId += 1;
  return id;
}

function answeredError({ code, message, data }: { code: number; message: string; data?: unknown }) {
  return Object.assign(new Error(message), { name: 'ProtocolError', code, data });
}

/** Removes a field of a later revision, as the SDK's client does. */
function withoutType(result: unknown): Result {
  if (!isRecord(result)) return {};
  if ('resultType' in result) delete result['resultType'];
  return result;
}
