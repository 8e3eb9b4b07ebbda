/**
 * Asks a server whether it is alive: `ping`, or `server/discover` where the
 * protocol has no ping any more. One question at a time: a new one gives the old
 * one up, and nothing of that is told. It has no deadline; whoever asks waits as
 * long as it likes.
 */

import type { Client } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../../src/domain/clock.ts';
import { describeError } from '../transports/connection/failure.ts';

const methodNotFound = -32601;

export type ProbeAnswer = 'alive' | 'unknownMethod' | 'none';

export interface Probe {
  ask(): void;
  /** Gives up the question that is out. */
  stop(): void;
}

/** `onAnswer` gets what became of each question, and what it failed with when nobody answered. */
export function createProbe(
  client: Pick<Client, 'ping' | 'discover' | 'getProtocolEra'>,
  onAnswer: (answer: ProbeAnswer, error?: unknown) => void,
): Probe {
  let present: AbortController | undefined;

  const ask = async (): Promise<void> => {
    present?.abort('It is asked anew.');
    const question = new AbortController();
    present = question;
    const options = { timeout: longestTimerMs, signal: question.signal };
    const told = await (client.getProtocolEra() === 'modern'
      ? client.discover(options)
      : client.ping(options)
    ).then(
      () => ({ answer: 'alive' as const, error: undefined }),
      (error: unknown) => ({ answer: answerIn(error), error }),
    );
    if (present === question) onAnswer(told.answer, told.error);
  };

  return {
    ask: () => void ask(),
    stop() {
      const question = present;
      present = undefined;
      question?.abort('The session ends.');
    },
  };
}

/** An error answer, too, was sent by somebody alive. */
function answerIn(error: unknown): ProbeAnswer {
  const { rpcCode } = describeError(error, []);
  if (rpcCode === undefined) return 'none';
  return rpcCode === methodNotFound ? 'unknownMethod' : 'alive';
}
