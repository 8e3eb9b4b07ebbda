/**
 * Probes whether a server is alive: with `ping` or, in the modern protocol, which has no ping, with
 * `server/discover`. Any message that arrives meanwhile answers the probe. A server that left the
 * first probe unanswered is asked for its tools instead, because some servers ignore `ping`.
 *
 * A new probe silently abandons the previous one. A probe has no deadline; the caller decides how
 * long to wait.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { ProbeAnswer } from '../../src/domain/session.ts';
import type { Client } from '../../src/protocol/mcp-client.ts';
import { methods } from '../../src/protocol/methods.ts';
import { methodNotFound } from '../../src/protocol/rpc-codes.ts';
import { describeError } from '../transports/connection/failure.ts';
import type { MessageStages } from '../transports/connection/stages.ts';

export type Probe = ReturnType<typeof createProbe>;

interface ProbePorts {
  readonly client: Pick<Client, 'ping' | 'discover' | 'request' | 'getProtocolEra'>;
  readonly stages: Pick<MessageStages, 'onRead'>;
  /** Whether the server is known to leave probes unanswered, and to answer lists. */
  readonly isByList: boolean;
  /** Called when the server answered a list after it had left the other probe unanswered. */
  readonly onListed: (unanswered: string) => void;
  /** Receives the result of each probe, and the error if it failed. */
  readonly onAnswer: (answer: ProbeAnswer, error?: unknown) => void;
}

export function createProbe({ client, stages, onListed, onAnswer, ...known }: ProbePorts) {
  let { isByList } = known;
  let present: AbortController | undefined;
  let isListing = false;
  /** What the server has made of `ping`, or of `server/discover`. */
  let ping: 'new' | 'unanswered' | 'answered' = 'new';

  const conclude = (question: AbortController, answer: ProbeAnswer, error?: unknown): void => {
    if (present !== question || stages.onRead === undefined) return;
    stages.onRead = undefined;
    onAnswer(answer, error);
  };

  const noteError = (question: AbortController, answer: ProbeAnswer): void => {
    if (answer !== 'none') ping = 'answered';
    // A failure does not mean that the server ignores it; silence is ended by the next probe.
    else if (present === question && ping === 'unanswered') ping = 'new';
  };

  const ask = async (): Promise<void> => {
    present?.abort('Another probe was sent.');
    const question = new AbortController();
    present = question;
    stages.onRead = (messages) => {
      if (!messages.every(isUnknownMethod)) conclude(question, 'alive');
    };
    const options = { signal: question.signal };
    const isModern = client.getProtocolEra() === 'modern';
    const asksForList = isByList || ping === 'unanswered';
    if (ping === 'new') ping = 'unanswered';
    isListing = asksForList;
    try {
      if (asksForList) await client.request('listTools', {}, options);
      else await (isModern ? client.discover(options) : client.ping(options));
      if (!asksForList) ping = 'answered';
      else if (!isByList) onListed(methods[isModern ? 'discover' : 'ping'].name);
      isByList ||= asksForList;
      conclude(question, 'alive');
    } catch (error) {
      const answer = answerIn(error);
      if (!asksForList) noteError(question, answer);
      conclude(question, answer, error);
    }
  };

  return {
    ask: () => void ask(),
    /** Whether a list is the current probe, or was the last one. */
    get isListing(): boolean {
      return isListing;
    },
    /** Abandons the current probe. */
    stop(): void {
      const question = present;
      present = undefined;
      stages.onRead = undefined;
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

/** Returns whether a message is the answer that a policy may refuse to count. */
function isUnknownMethod(message: JSONRPCMessage): boolean {
  return 'error' in message && message.error.code === methodNotFound;
}
