/**
 * Sends `tools/call` over an open connection beside the SDK's client, which keeps all
 * else: handshake, lists, progress, what the server asks of us. One call is one entry in
 * a map and one timer; the SDK's own way costs schemas, a second timer and a signal.
 *
 * Only for the protocol before the 2026-07-28 revision, where a request is no more than
 * its parameters and an answer is final. Each call settles exactly once: by its answer,
 * its deadline, its caller's abort, a message that could not be sent, or the end of the
 * connection. After that its answer is unknown, and passed on to the client as such.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import type { MessageStages } from '../../transports/connection/stages.ts';
import { CallDeadline, type CallTime, timedOut } from './deadline.ts';
import { nextRequestId } from './request-ids.ts';

export interface LightCallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly time: CallTime;
  /** Is given the deadline of the call, before it is sent. */
  readonly onDeadline?: ((deadline: CallDeadline) => void) | undefined;
}

export interface LightCalls {
  /**
   * Settles with the result as it came, unchecked.
   *
   * @throws what the SDK's client throws, as far as its code, message and data go
   */
  call(
    params: Readonly<Record<string, unknown>>,
    options: LightCallOptions,
  ): Promise<Readonly<Record<string, unknown>>>;
}

interface Waiting {
  resolve(result: Readonly<Record<string, unknown>>): void;
  reject(error: unknown): void;
  /** Takes its timer and its listener away. */
  release(): void;
}

/** Takes the answers to its own calls out of what arrives; the client gets the rest. */
export function createLightCalls(
  clock: Clock,
  transport: Transport,
  stages: MessageStages,
): LightCalls {
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
    // Nobody waits for it, and a connection that cannot take it has other ways to say so.
    transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {});
  };
  const answer = (message: JSONRPCMessage): boolean => {
    if ('method' in message || !('id' in message)) return false;
    // Some servers make a text of it.
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
      for (const id of [...waiting.keys()]) fail(id, connectionClosed());
    }
  };

  return {
    call: (params, { signal, time, onDeadline }) =>
      new Promise((resolve, reject) => {
        const id = nextRequestId();
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
      }),
  };
}

function answeredError({ code, message, data }: { code: number; message: string; data?: unknown }) {
  return Object.assign(new Error(message), { name: 'ProtocolError', code, data });
}

function connectionClosed(): Error {
  return Object.assign(new Error('Connection closed'), { code: 'CONNECTION_CLOSED' });
}

/** A word of a later revision, which the client leaves out here, too. */
function withoutType(result: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(result)) return {};
  if ('resultType' in result) delete result['resultType'];
  return result;
}
