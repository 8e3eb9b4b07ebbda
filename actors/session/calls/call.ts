/**
 * Makes tool calls over an open session. Results are read only as far as callers rely on them. A
 * failure is a value that says whether the server may have run the tool.
 */

import type { Clock } from '../../../src/domain/clock.ts';
import { keepNumbers, unwritablePart } from '../../../src/domain/data/exact-json.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import { printableLine, printableText } from '../../../src/domain/data/printable.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import type { LogLevel } from '../../../src/domain/log-level.ts';
import type { ClassifyRule } from '../../../src/domain/policy.ts';
import type { InputRound } from '../../../src/domain/question.ts';
import type {
  CallFailure,
  ServerProfile,
  SessionCallOptions,
  SessionHandle,
} from '../../../src/domain/session.ts';
import type { ListedTool, ToolResult } from '../../../src/domain/tool.ts';
import { verdictOf } from '../../../src/policies/calls/failure-verdict.ts';
import { classifyFailure } from '../../../src/policies/failures/classify.ts';
import { explanationInWords } from '../../../src/policies/failures/explaining-line.ts';
import { redactData, redactWords } from '../../../src/policies/text/redact-words.ts';
import { argumentHeaders } from '../../../src/protocol/argument-headers.ts';
import { NotSentError } from '../../../src/protocol/errors.ts';
import { completed, withoutType } from '../../../src/protocol/handshake.ts';
import type { Client } from '../../../src/protocol/mcp-client.ts';
import { forwardedMeta, metaKeys } from '../../../src/protocol/meta.ts';
import { methods } from '../../../src/protocol/methods.ts';
import {
  closedMessage,
  type OpenRequest,
  type Outgoing,
  Requests,
} from '../../../src/protocol/requests.ts';
import {
  type Fields,
  type Read,
  readerFor,
  readToolResult,
} from '../../../src/protocol/results.ts';
import { urlRequired } from '../../../src/protocol/rpc-codes.ts';
import { type Connection, type Seen } from '../../transports/connection/connection.ts';
import { describeError, endOf } from '../../transports/connection/failure.ts';
import type { Ending } from '../leaf-actors.ts';
import { inRounds, type RoundParams, withVisit } from './question-rounds.ts';
import { QuestionWire } from './question-wire.ts';
import type { SessionQuestions } from './session-questions.ts';

// Users read a server's error message; a longer one helps none of them.
const messageCharacters = 4_096;
// Enough for a list of missing fields or an address.
const rpcDataCharacters = 4_096;
// The limit for every displayed name.
const nameCharacters = 128;
// As for the icons of a tool: small pictures.
const iconCharacters = 65_536;
// Most are about a tool, and all calls of a tool get the same.
const maxRemarks = 64;

export interface CallerSetup {
  readonly server: string;
  readonly clock: Clock;
  readonly client: Client;
  readonly connection: Connection;
  readonly secrets: readonly string[];
  /** Answers the server's questions; absent if there can be none. */
  readonly questions?: SessionQuestions | undefined;
  /** Returns how the session ends, as soon as it starts to; nothing is sent from then on. */
  readonly ending: () => Ending | undefined;
  readonly toolNamed: (name: string) => ListedTool | undefined;
  /** The wanted log level of a modern server, which is sent with each request. */
  readonly logLevel: () => LogLevel | undefined;
  /** Reads the policy from the current settings. */
  readonly rules: () => readonly ClassifyRule[];
  /** Returns what to add to a failure's message: why there is no valid token. */
  readonly reasonFor: (failure: Failure) => string;
  /** Called when a call fails in a way that may affect the whole session. */
  readonly onTrouble: (failure: Failure, seen: Seen) => void;
  /** Writes a line about the server into its log. */
  readonly remark: (line: string) => void;
}

type Answer<Result> = { readonly result: Result } | { readonly failure: CallFailure };

/** Sends the requests of callers, in rounds where the server asks questions first. */
export class Caller implements Pick<SessionHandle, 'profile' | 'callTool' | 'request'> {
  readonly profile: ServerProfile | undefined;
  readonly #setup: CallerSetup;
  /** Created for the first call: most servers of many get none for a long time. */
  #requests: Requests | undefined;
  readonly #isModern: boolean;
  readonly #isAskable: boolean;
  /** Whether a wanted log level is sent with each request. */
  readonly #isLogging: boolean;
  /** The questions of a server that asks while a request is in flight. */
  readonly #wire: QuestionWire | undefined;
  /** The reported lines; created for the first. */
  #remarks: Set<string> | undefined;

  constructor(setup: CallerSetup) {
    const { client, clock, connection, questions } = setup;
    this.#setup = setup;
    this.profile = profileOf(client);
    this.#isModern = client.getProtocolEra() === 'modern';
    this.#isLogging = this.#isModern && client.getServerCapabilities()?.logging !== undefined;
    this.#isAskable = questions?.isAskable === true;
    if (!this.#isModern && this.#isAskable && questions !== undefined)
      this.#wire = new QuestionWire(connection, clock, questions);
  }

  callTool(
    ...[name, args, options]: Parameters<SessionHandle['callTool']>
  ): Promise<Answer<ToolResult>> {
    const { connection, toolNamed, secrets } = this.#setup;
    const outgoing = {
      kind: 'callTool' as const,
      params: { name, arguments: args },
      meta: forwardedMeta(options.meta),
    };
    // Arguments are checked here, because JSON silently omits functions.
    if (!this.#isModern || connection.kind !== 'http')
      return this.#send(args, outgoing, options, readToolResult);
    try {
      const headers = argumentHeaders(toolNamed(name)?.inputSchema, args);
      return this.#send(args, { ...outgoing, headers }, options, readToolResult);
    } catch (error) {
      // An argument that throws when it is read.
      const why = error instanceof Error ? error.message : String(error);
      return Promise.resolve({ failure: invalidArguments(redactWords(why, secrets)) });
    }
  }

  request(
    ...[{ kind, params }, options]: Parameters<SessionHandle['request']>
  ): Promise<Answer<Fields>> {
    const { client, ending } = this.#setup;
    const { capability } = methods[kind];
    if (ending() === undefined && client.getServerCapabilities()?.[capability] === undefined) {
      const message = `The server does not offer ${capability}.`;
      return Promise.resolve({ failure: failed('unsupported', false, message) });
    }
    const outgoing = { kind, params: { ...params }, meta: forwardedMeta(options.meta) };
    return this.#send(params, outgoing, options, readerFor(kind));
  }

  #send<Result extends object>(
    given: unknown,
    outgoing: Outgoing,
    options: SessionCallOptions,
    read: Read<Result>,
  ): Promise<Answer<Result>> {
    const refusal = this.#refusalOf(given, options);
    if (refusal !== undefined) return Promise.resolve({ failure: refusal });
    const requests = this.#openRequests();
    const request = requests.begin(options);
    const hasStages = this.#isModern || this.#isAskable || options.party?.onQuestion !== undefined;
    return new Promise((resolve) => {
      const onFailure = (error: unknown): void => {
        requests.end(request);
        resolve({ failure: this.#failureOf(error, request) });
      };
      const onResult = (result: Fields): void => {
        try {
          const readResult = hasStages
            ? (result as unknown as Result)
            : this.#read(read, outgoing, withoutType(result));
          requests.end(request);
          resolve({ result: readResult });
        } catch (error) {
          onFailure(error);
        }
      };
      if (hasStages)
        this.#inStages(request, outgoing, options, read).then(
          (result) => onResult(result as unknown as Fields),
          onFailure,
        );
      else requests.send(request, outgoing, onResult, onFailure);
    });
  }

  #openRequests(): Requests {
    if (this.#requests === undefined) {
      const { client, clock, connection } = this.#setup;
      const envelope = this.#isModern ? client.envelope() : undefined;
      this.#requests = new Requests(clock, connection, envelope, client.isClosed);
    }
    return this.#requests;
  }

  /** Sends a request whose server may ask questions before it answers. */
  #inStages<Result extends object>(
    request: OpenRequest,
    outgoing: Outgoing,
    { party, round }: SessionCallOptions,
    read: Read<Result>,
  ): Promise<Result> {
    const { clock, questions } = this.#setup;
    const exchange = async (
      added: RoundParams,
      onSending?: (id: number) => void,
    ): Promise<Result> => {
      const params = { ...outgoing.params, ...added };
      const meta = this.#isModern ? this.#metaOf(outgoing, round) : outgoing.meta;
      const sent = { ...outgoing, params, meta };
      const result = await this.#openRequests().exchange(request, sent, onSending);
      if (!this.#isModern) return this.#read(read, outgoing, withoutType(result));
      // Otherwise it asks before it goes on, or the server does what is not supported.
      request.isAnswered = (result['resultType'] ?? 'complete') === 'complete';
      // A completion may ask too, although the specification has no questions for it.
      const answer = completed(methods[outgoing.kind].name, result, true);
      return request.isAnswered
        ? this.#read(read, outgoing, answer)
        : (answer as unknown as Result);
    };
    const rounds = { clock, questions, party, request };
    if (this.#isModern) {
      if (round !== undefined) return exchange(paramsOf(round));
      return withVisit(rounds, () => inRounds(rounds, exchange));
    }
    const wire = this.#wire;
    return withVisit(rounds, () =>
      wire === undefined
        ? exchange({})
        : wire.during(party, request, (onSending) => exchange({}, onSending)),
    );
  }

  #read<Result>(read: Read<Result>, { kind, params }: Outgoing, result: Fields): Result {
    const notes: string[] = [];
    const readResult = read(result, (what) => notes.push(what));
    if (notes.length > 0) {
      const name = typeof params['name'] === 'string' ? ` of ${params['name']}` : '';
      this.#remark(`its answer to ${methods[kind].name}${name} was corrected: ${notes.join('; ')}`);
    }
    return readResult;
  }

  /** Reports a line once in a session. */
  #remark(line: string): void {
    this.#remarks ??= new Set();
    if (this.#remarks.has(line) || this.#remarks.size === maxRemarks) return;
    this.#remarks.add(line);
    this.#setup.remark(line);
  }

  #metaOf({ meta = {} }: Outgoing, round: InputRound | undefined): Outgoing['meta'] {
    const level = this.#isLogging ? this.#setup.logLevel() : undefined;
    const own = {
      // Those of a caller that handles the rounds itself replace ours.
      ...(round?.capabilities !== undefined && {
        [metaKeys.clientCapabilities]: round.capabilities,
      }),
      ...(level !== undefined && { [metaKeys.logLevel]: level }),
    };
    return keepNumbers({ ...meta, ...own }, meta);
  }

  #refusalOf(given: unknown, { signal }: SessionCallOptions): CallFailure | undefined {
    if (isAborted(signal)) return cancelled(false);
    if (this.#setup.ending() !== undefined) return failed('notSent', false, closedMessage);
    if (!isRecord(given)) return invalidArguments('they are not an object');
    const part = unwritablePart(given);
    return part === undefined ? undefined : invalidArguments(part);
  }

  #failureOf(error: unknown, request: OpenRequest): CallFailure {
    const { signal, sends, unanswered, perhapsUnanswered, isAnswered } = request;
    const known = callFailureOf(error, isAborted(signal), this.#setup);
    const failure = {
      ...known,
      ...(isAnswered && known.reason === 'badResponse' && { wasAnswered: true as const }),
      ...(unanswered !== undefined && { unanswered }),
      ...(perhapsUnanswered !== undefined && { perhapsUnanswered }),
    };
    // The server responded to an earlier attempt with a question, and may already have begun.
    return sends > 1 ? { ...failure, written: true } : failure;
  }
}

/** Parameters added by a caller that handles the rounds itself. */
function paramsOf({ inputResponses, requestState }: InputRound): RoundParams {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** The server's name, version and capabilities; undefined if it did not send them. */
function profileOf(client: Client): ServerProfile | undefined {
  const info = client.getServerVersion();
  if (info === undefined) return undefined;
  const { name, version, title, description, websiteUrl, icons = [] } = info;
  return {
    name: printableLine(name, nameCharacters),
    version: printableLine(version, nameCharacters),
    ...(title !== undefined && { title: printableLine(title, nameCharacters) }),
    ...(description !== undefined && {
      description: printableText(description, messageCharacters),
    }),
    ...(websiteUrl !== undefined && {
      websiteUrl: printableLine(websiteUrl, messageCharacters),
    }),
    ...(icons.length > 0 && JSON.stringify(icons).length <= iconCharacters && { icons }),
    capabilities: { ...client.getServerCapabilities() },
  };
}

/** This is a function because TypeScript assumes that the value survives an `await`. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function callFailureOf(error: unknown, wasAborted: boolean, setup: CallerSetup): CallFailure {
  // The caller's reason for an abort may be any value, so the signal decides first.
  if (wasAborted) return cancelled(!(error instanceof NotSentError));
  if (error instanceof NotSentError)
    return error.isUnwritable
      ? invalidArguments(redactWords(error.message, setup.secrets))
      : failed('notSent', false, error.message);
  const described = describeError(error, setup.secrets);
  // The response cannot prove whether the server has begun.
  if (described.rpcCode === urlRequired) return failed('inputRequired', true, described.message);
  const seen = { ...described, ...setup.connection.context(described.status) };
  const byTable = classifyFailure({ ...seen, phase: 'ready' });
  const failure = classifyFailure({ ...seen, phase: 'ready' }, setup.rules());
  const isRuled = failure.kind !== byTable.kind;
  // A tool may respond with any error; one that a settings rule reclassifies may affect more than
  // the call.
  if (described.rpcCode === undefined || failure.kind === 'sessionMissing' || isRuled)
    setup.onTrouble(failure, seen);
  const era = setup.client.getProtocolEra() === 'modern' ? 'modern' : 'legacy';
  const verdict = verdictOf(failure, seen, { kind: setup.connection.kind, era });
  const isLost = verdict.reason === 'crashed' || verdict.reason === 'streamLost';
  if (isLost && setup.ending() === 'orderly') return cutOff(setup);
  return {
    ...verdict,
    message: printableLine(`${inWords(seen)}${setup.reasonFor(failure)}`, messageCharacters),
    ...(described.rpcCode !== undefined && {
      rpcCode: described.rpcCode,
      ...rpcDataOf(error, setup.secrets),
    }),
    ...(failure.retryAfterMs !== undefined && { retryAfterMs: failure.retryAfterMs }),
  };
}

/** Returns the data of a server's error unless it is too long to be useful. */
function rpcDataOf(error: unknown, secrets: readonly string[]): Pick<CallFailure, 'rpcData'> {
  const data = error instanceof Error && 'data' in error ? error.data : undefined;
  if (!isRecord(data) || JSON.stringify(data).length > rpcDataCharacters) return {};
  return { rpcData: redactData(data, secrets) as typeof data };
}

/**
 * Returns the message for a failed call. Its error says only "Connection closed"; the connection adds
 * how the process ended.
 */
function inWords(seen: Seen): string {
  const end = endOf(seen);
  if (end === undefined) return seen.message;
  return `The server process ${end} during the call.${explanationInWords(seen)}`;
}

function failed(reason: CallFailure['reason'], written: boolean, message: string): CallFailure {
  return { reason, written, message: printableLine(message, messageCharacters) };
}

function invalidArguments(why: string): CallFailure {
  const message = `The arguments cannot be written as JSON: ${why}`;
  return failed('invalidArguments', false, message);
}

function cancelled(written: boolean): CallFailure {
  return failed('cancelled', written, 'The call was cancelled.');
}

/**
 * Returns the failure for a session that the user or the settings ended, for which the server is
 * not at fault.
 */
function cutOff({ server, connection }: CallerSetup): CallFailure {
  const message =
    connection.kind === 'stdio'
      ? `${server} was stopped during the call.`
      : `The session with ${server} was closed during the call.`;
  return failed('cancelled', true, message);
}
