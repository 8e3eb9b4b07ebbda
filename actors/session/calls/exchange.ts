/**
 * Sends and times a caller's request. A server may ask questions first, so a request may be sent
 * several times, but its caller sees a single request.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { LogLevel } from '../../../src/domain/log-level.ts';
import type { ClassifyRule } from '../../../src/domain/policy.ts';
import type { InputRound } from '../../../src/domain/question.ts';
import type { SessionCallOptions } from '../../../src/domain/session.ts';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import type { Connection, Seen } from '../../transports/connection/connection.ts';
import type { Client } from '../client.ts';
import { type CallDeadline, timeOf, withDeadline } from './deadline.ts';
import type { LightCallOptions } from './light-calls.ts';
import { inRounds, type RoundParams, withVisit } from './question-rounds.ts';
import { QuestionWire } from './question-wire.ts';
import type { SessionQuestions } from './questions.ts';

// Written out, because importing a value would load the SDK.
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
const logLevelKey = 'io.modelcontextprotocol/logLevel';

export interface CallerSetup {
  readonly server: string;
  readonly clock: Clock;
  readonly client: Client;
  readonly connection: Connection;
  readonly secrets: readonly string[];
  /** Answers the server's questions; absent if there can be none. */
  readonly questions?: SessionQuestions | undefined;
  /**
   * Aborted as soon as the session starts to end; nothing is sent from then on. The abort reason
   * says how the session ends.
   */
  readonly over: AbortSignal;
  readonly toolNamed: (name: string) => ListedTool | undefined;
  /** The wanted log level of a modern server, which is sent with each request. */
  readonly logLevel: () => LogLevel | undefined;
  /** Reads the policy from the current settings. */
  readonly rules: () => readonly ClassifyRule[];
  /** Called when a call fails in a way that may affect the whole session. */
  readonly onTrouble: (failure: Failure, seen: Seen) => void;
}

export function createExchange({ client, clock, connection, questions, logLevel }: CallerSetup) {
  const isModern = client.getProtocolEra() === 'modern';
  const isLogging = client.getServerCapabilities()?.logging !== undefined;
  const isAskable = questions?.isAskable === true;
  const wire =
    isModern || questions === undefined || !isAskable
      ? undefined
      : new QuestionWire(connection, clock, questions);
  const onWire = <Result>(
    party: SessionCallOptions['party'],
    send: (call: { deadline: CallDeadline | undefined } | undefined) => Promise<Result>,
  ): Promise<Result> => (wire === undefined ? send(undefined) : wire.during(party, send));
  return {
    /** Sends through the SDK's client. */
    inFull<Result extends object>(
      options: SessionCallOptions,
      send: (added: RoundParams, options: SessionCallOptions) => Promise<Result>,
    ): Promise<Result> {
      const { party, signal } = options;
      const time = timeOf(options);
      const rounds = { clock, questions, party, signal, time };
      const once = (added: RoundParams) =>
        onWire(party, (call) =>
          withDeadline(clock, { signal, time }, (own, deadline) => {
            if (call !== undefined) call.deadline = deadline;
            const renewed = renewing(options, () => deadline.renew());
            const params = isModern && isLogging ? withLevel(added, logLevel()) : added;
            return send({ ...params, ...metaOf(options, params) }, { ...renewed, signal: own });
          }),
        );
      if (isModern && options.round !== undefined) return once(paramsOf(options.round));
      return withVisit(rounds, () => (isModern ? inRounds(rounds, once) : once({})));
    },
    /** Sends without the SDK's client; `send` itself enforces the deadline. */
    lightly<Result>(
      options: SessionCallOptions,
      send: (options: LightCallOptions) => Promise<Result>,
    ): Promise<Result> {
      const { party, signal } = options;
      const time = timeOf(options);
      const once = () =>
        onWire(party, (call) => {
          const onDeadline = call && ((it: CallDeadline) => void (call.deadline = it));
          return send({ signal, time, onDeadline });
        });
      // No user could visit an address, so nothing needs to be resent.
      if (!isAskable && party?.onQuestion === undefined) return once();
      return withVisit({ clock, questions, party, signal, time }, once);
    },
  };
}

/** Parameters added by a caller that handles the rounds itself. */
function paramsOf({ inputResponses, requestState, capabilities }: InputRound): RoundParams {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
    // Replaces the capabilities of the SDK's client.
    ...(capabilities !== undefined && { _meta: { [capabilitiesKey]: capabilities } }),
  };
}

function withLevel(added: RoundParams, level: LogLevel | undefined): RoundParams {
  if (level === undefined) return added;
  const meta = added['_meta'];
  return { ...added, _meta: { ...(isRecord(meta) && meta), [logLevelKey]: level } };
}

/** Returns a request's metadata, with what a round adds. */
export function metaOf(
  { meta }: SessionCallOptions,
  { _meta: added }: { readonly _meta?: unknown } = {},
): { readonly _meta?: object } {
  return meta === undefined ? {} : { _meta: { ...meta, ...(isRecord(added) && added) } };
}

export function hearsProgress({ onProgress, renewal }: SessionCallOptions): boolean {
  return onProgress !== undefined || renewal !== undefined;
}

/** Each progress notification renews the deadline before it reaches the caller. */
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
