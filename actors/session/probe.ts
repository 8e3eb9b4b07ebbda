/**
 * Probes whether a server is alive: with `ping` or, in the modern protocol, which has no ping, with
 * `server/discover`. A new probe silently abandons the previous one. A probe has no deadline; the
 * caller decides how long to wait.
 */

import { methodNotFound } from '../../src/domain/rpc-code.ts';
import type { ProbeAnswer } from '../../src/domain/session.ts';
import { describeError } from '../transports/connection/failure.ts';
import type { Client } from './client.ts';

export type Probe = ReturnType<typeof createProbe>;

/** `onAnswer` receives the result of each probe, and the error if it failed. */
export function createProbe(
  client: Pick<Client, 'ping' | 'discover' | 'getProtocolEra'>,
  onAnswer: (answer: ProbeAnswer, error?: unknown) => void,
) {
  let present: AbortController | undefined;

  const ask = async (): Promise<void> => {
    present?.abort('Another probe was sent.');
    const question = new AbortController();
    present = question;
    const options = { signal: question.signal };
    const isModern = client.getProtocolEra() === 'modern';
    try {
      await (isModern ? client.discover(options) : client.ping(options));
      if (present === question) onAnswer('alive');
    } catch (error) {
      if (present === question) onAnswer(answerIn(error), error);
    }
  };

  return {
    ask: () => void ask(),
    /** Abandons the current probe. */
    stop(): void {
      const question = present;
      present = undefined;
      question?.abort('The session ends.');
    },
  };
}

/** Returns whether an error still proves that the server is alive, as an error response does. */
function answerIn(error: unknown): ProbeAnswer {
  const { rpcCode } = describeError(error, []);
  if (rpcCode === undefined) return 'none';
  return rpcCode === methodNotFound ? 'unknownMethod' : 'alive';
}
