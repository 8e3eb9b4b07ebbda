/**
 * How a request of a caller is sent and timed, and how it goes on where the server asks something
 * first: it may be sent several times, and is one request for its caller.
 */

import type { Client } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import type { LogLevel } from '../../../src/domain/log-level.ts';
import type { InputRound } from '../../../src/domain/question.ts';
import type { SessionCallOptions } from '../../../src/domain/session.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import type { Connection } from '../../transports/connection/connection.ts';
import { type CallTime, timeOf, withDeadline } from './deadline.ts';
import type { LightCallOptions } from './light-calls.ts';
import { inRounds, type RoundParams, type RoundsSetup, withVisit } from './question-rounds.ts';
import { createQuestionWire, type WireCall } from './question-wire.ts';
import type { SessionQuestions } from './questions.ts';

// Written out, because a value of the SDK is loaded with a session and by nobody else.
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const logLevelKey = 'io.modelcontextprotocol/logLevel';

export interface ExchangeSetup {
  readonly client: Client;
  readonly connection: Connection;
  readonly clock: Clock;
  readonly questions?: SessionQuestions | undefined;
  /** Of a modern server's log, told with each request. */
  readonly logLevel?: () => LogLevel | undefined;
}

export interface Exchange {
  /** Through the SDK's client. */
  inFull<Result extends object>(
    options: SessionCallOptions,
    send: (added: RoundParams, options: SessionCallOptions) => Promise<Result>,
  ): Promise<Result>;
  /** Beside it: `send` keeps the deadline itself. */
  lightly<Result>(
    options: SessionCallOptions,
    send: (options: LightCallOptions) => Promise<Result>,
  ): Promise<Result>;
}

export function createExchange({
  client,
  clock,
  connection,
  questions,
  logLevel,
}: ExchangeSetup): Exchange {
  const isModern = client.getProtocolEra() === 'modern';
  const isLogging = client.getServerCapabilities()?.logging !== undefined;
  const isAskable = questions?.isAskable === true;
  const wire =
    isModern || questions === undefined || !isAskable
      ? undefined
      : createQuestionWire(connection, clock, questions);
  const onWire = <Result>(
    party: SessionCallOptions['party'],
    send: (call: WireCall | undefined) => Promise<Result>,
  ): Promise<Result> => {
    if (wire === undefined) return send(undefined);
    const call: WireCall = { party, deadline: undefined };
    return wire.during(call, () => send(call));
  };
  const roundsOf = ({ party, signal }: SessionCallOptions, time: CallTime): RoundsSetup => ({
    clock,
    questions,
    party,
    signal,
    time,
  });
  return {
    inFull(options, send) {
      const { party, signal } = options;
      const time = timeOf(options);
      const rounds = roundsOf(options, time);
      const once = (added: RoundParams) =>
        onWire(party, (call) =>
          withDeadline(clock, { signal, time }, (own, deadline) => {
            if (call !== undefined) call.deadline = deadline;
            const renewed = renewing(options, () => deadline.renew());
            const told = isModern && isLogging ? withLevel(added, logLevel?.()) : added;
            return send({ ...told, ...metaOf(options, told) }, { ...renewed, signal: own });
          }),
        );
      if (isModern && options.round !== undefined) return once(paramsOf(options.round));
      return withVisit(rounds, () => (isModern ? inRounds(rounds, once) : once({})));
    },
    lightly(options, send) {
      const { party, signal } = options;
      const time = timeOf(options);
      const once = () =>
        onWire(party, (call) => {
          const onDeadline = call && ((it: WireCall['deadline']) => void (call.deadline = it));
          return send({ signal, time, onDeadline });
        });
      // Nobody could visit anything: the shortest way.
      if (!isAskable && party?.onQuestion === undefined) return once();
      return withVisit(roundsOf(options, time), once);
    },
  };
}

/** What a caller who goes through the rounds himself adds to the parameters of this one. */
function paramsOf({ inputResponses, requestState, capabilities }: InputRound): RoundParams {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
    // What the SDK's client would say of itself gives way to it.
    ...(capabilities !== undefined && { _meta: { [capabilitiesKey]: capabilities } }),
  };
}

function withLevel(added: RoundParams, level: LogLevel | undefined): RoundParams {
  if (level === undefined) return added;
  const meta = added['_meta'];
  return { ...added, _meta: { ...(isRecord(meta) && meta), [logLevelKey]: level } };
}

/** The metadata of a request, with what a round adds of its own. */
export function metaOf(
  { meta }: SessionCallOptions,
  { _meta: added }: { readonly _meta?: unknown } = {},
): { readonly _meta?: object } {
  return meta === undefined ? {} : { _meta: { ...meta, ...(isRecord(added) && added) } };
}

export function hearsProgress({ onProgress, renewal }: SessionCallOptions): boolean {
  return onProgress !== undefined || renewal !== undefined;
}

/** Every news of progress renews the deadline before the caller hears of it. */
function renewing(options: SessionCallOptions, renew: () => void): SessionCallOptions {
  const { onProgress, renewal } = options;
  if (renewal === undefined) return options;
  return {
    ...options,
    onProgress: (progress) => {
      renew();
      onProgress?.(progress);
    },
  };
}
