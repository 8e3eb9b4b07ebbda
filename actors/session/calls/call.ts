/**
 * Makes tool calls over an open session. Results are checked only as far as callers rely on them. A
 * failure is a value that says whether the server may have run the tool.
 */

import type {
  CallFailure,
  ServerProfile,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../../src/domain/session.ts';
import type { ToolResult } from '../../../src/domain/tool.ts';
import { argumentHeaders } from '../../../src/policies/calls/argument-headers.ts';
import { verdictOf } from '../../../src/policies/calls/verdict.ts';
import { classifyFailure } from '../../../src/policies/failures/classify.ts';
import { explanationInWords } from '../../../src/policies/failures/explaining-line.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import { printableLine } from '../../../src/policies/text/printable.ts';
import { redactData, redactWords } from '../../../src/policies/text/redact-words.ts';
import {
  type Connection,
  NotSentError,
  type Seen,
  UnwritableError,
} from '../../transports/connection/connection.ts';
import { describeError, endOf } from '../../transports/connection/failure.ts';
import type { Client, RequestOptions } from '../client.ts';
import { type CallerSetup, createExchange, hearsProgress, metaOf } from './exchange.ts';
import { type CallLightly, createLightCalls, type LightCallOptions } from './light-calls.ts';
import { InputRequiredError, urlRequiredCode } from './question-rounds.ts';

// Users read a server's error message; a longer one helps none of them.
const messageCharacters = 4_096;
// Enough for a list of missing fields or an address.
const rpcDataCharacters = 4_096;
// The limit for every displayed name.
const nameCharacters = 128;
const closedMessage = 'The session is closed.';

const wrongShape = 'the result of the tool has a wrong shape';

function isToolResult(value: unknown): value is ToolResult {
  if (!isRecord(value)) return false;
  // Servers of early revisions omitted the content when there was none.
  value['content'] ??= [];
  const { content, structuredContent, isError } = value;
  return (
    Array.isArray(content) &&
    content.every((block) => isRecord(block) && typeof block['type'] === 'string') &&
    (structuredContent === undefined || isRecord(structuredContent)) &&
    (isError === undefined || typeof isError === 'boolean')
  );
}

/** The required shape of each method's result, and the capability that the method requires. */
const shapes: Readonly<
  Record<
    SessionRequest['method'],
    { readonly capability: 'resources' | 'prompts' | 'completions'; readonly isFit: IsFit }
  >
> = {
  'resources/read': { capability: 'resources', isFit: ({ contents }) => areRecords(contents) },
  'prompts/get': { capability: 'prompts', isFit: ({ messages }) => areRecords(messages) },
  'completion/complete': {
    capability: 'completions',
    isFit: ({ completion }) =>
      isRecord(completion) &&
      Array.isArray(completion['values']) &&
      completion['values'].every((value) => typeof value === 'string'),
  },
};

type IsFit = (result: Record<string, unknown>) => boolean;

function areRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every((part) => isRecord(part));
}

function checked(
  method: SessionRequest['method'],
  result: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (isAsked(result) || shapes[method].isFit(result)) return result;
  throw invalidResult(method, `the result of ${method} has a wrong shape`);
}

function invalidResult(method: string, why: string): Error {
  const error = new Error(`Invalid result for ${method}: ${why}`);
  return Object.assign(error, { code: 'INVALID_RESULT' });
}

/** Whether the server responds with questions. */
function isAsked(result: Readonly<Record<string, unknown>>): boolean {
  return result['resultType'] === 'input_required';
}

const lightKinds: ReadonlySet<Connection['kind']> = new Set(['stdio', 'http']);

/** Creates the part of a session's handle that sends requests. */
export function createCaller(
  setup: CallerSetup,
): Pick<SessionHandle, 'profile' | 'callTool' | 'request'> {
  const { client, clock, connection } = setup;
  const isLight = lightKinds.has(connection.kind) && client.getProtocolEra() !== 'modern';
  const light = isLight
    ? createLightCalls(clock, connection.transport, connection.stages)
    : undefined;
  const exchange = createExchange(setup);
  return {
    profile: profileOf(client),
    // Arguments are checked here, because JSON silently omits functions.
    callTool: (tool, args, options) =>
      attempt(setup, args, options, (leave) => {
        // The SDK's client matches progress to its own request ids.
        const lightly = hearsProgress(options) ? undefined : light;
        return lightly === undefined
          ? exchange.inFull(options, (added, own) =>
              leave(() => callTool(setup, tool, { arguments: args, ...added }, own)),
            )
          : exchange.lightly(options, (own) =>
              leave(() =>
                callLightly(lightly, { name: tool, arguments: args, ...metaOf(options) }, own),
              ),
            );
      }),
    async request({ method, params }, options) {
      const { capability } = shapes[method];
      if (!setup.over.aborted && client.getServerCapabilities()?.[capability] === undefined)
        return {
          failure: failed('unsupported', false, `The server does not offer ${capability}.`),
        };
      return attempt(setup, params, options, (leave) =>
        exchange.inFull(options, (added, own) =>
          leave(async () =>
            checked(
              method,
              await client.request(method, { ...params, ...added }, sendOptions(own)),
            ),
          ),
        ),
      );
    },
  };
}

/** The server's name, version and capabilities; undefined if it did not send them. */
function profileOf(client: Client): ServerProfile | undefined {
  const info = client.getServerVersion();
  if (info === undefined) return undefined;
  const { name, version, title } = info;
  return {
    name: printableLine(name, nameCharacters),
    version: printableLine(version, nameCharacters),
    ...(title !== undefined && { title: printableLine(title, nameCharacters) }),
    capabilities: { ...client.getServerCapabilities() },
  };
}

type Leave = <Result>(send: () => Promise<Result>) => Promise<Result>;

async function attempt<Result>(
  setup: CallerSetup,
  args: unknown,
  { signal }: SessionCallOptions,
  send: (leave: Leave) => Promise<Result>,
): Promise<{ readonly result: Result } | { readonly failure: CallFailure }> {
  if (isAborted(signal)) return { failure: cancelled(false) };
  if (setup.over.aborted) return { failure: failed('notSent', false, closedMessage) };
  if (!isRecord(args)) return { failure: invalidArguments('they are not an object') };
  let sendings = 0;
  const leave: Leave = (sendOnce) => {
    sendings += 1;
    return setup.client.isClosed ? Promise.reject(new NotSentError(closedMessage)) : sendOnce();
  };
  try {
    return { result: await send(leave) };
  } catch (error) {
    const failure = callFailureOf(error, isAborted(signal), setup);
    // The server responded to an earlier attempt with a question, and may already have begun.
    return { failure: sendings > 1 ? { ...failure, written: true } : failure };
  }
}

/** This is a function because TypeScript assumes that the value survives an `await`. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function sendOptions({ signal, onProgress }: SessionCallOptions): RequestOptions {
  return {
    ...(signal !== undefined && { signal }),
    mayAsk: true,
    ...(onProgress !== undefined && { onProgress }),
  };
}

async function callLightly(
  light: CallLightly,
  params: Readonly<Record<string, unknown>>,
  options: LightCallOptions,
): Promise<ToolResult> {
  const result = await light(params, options);
  if (isToolResult(result)) return result;
  throw invalidResult('tools/call', wrongShape);
}

async function callTool(
  { client, connection, toolNamed }: CallerSetup,
  name: string,
  rest: Readonly<Record<string, unknown>>,
  callOptions: SessionCallOptions,
): Promise<ToolResult> {
  // Some tools of modern servers also require arguments as headers.
  const hasHeaders = connection.kind === 'http' && client.getProtocolEra() === 'modern';
  const headers = hasHeaders
    ? argumentHeaders(toolNamed(name)?.inputSchema, rest['arguments'])
    : undefined;
  const options = { ...sendOptions(callOptions), headers };
  const result = await client.request('tools/call', { name, ...rest }, options);
  if (isAsked(result) || isToolResult(result)) return result as unknown as ToolResult;
  throw invalidResult('tools/call', wrongShape);
}

function callFailureOf(error: unknown, wasAborted: boolean, setup: CallerSetup): CallFailure {
  // The SDK reports an abort as a timeout, so the signal decides first.
  if (wasAborted) return cancelled(!(error instanceof NotSentError));
  if (error instanceof UnwritableError)
    return invalidArguments(redactWords(error.message, setup.secrets));
  if (error instanceof NotSentError) return failed('notSent', false, error.message);
  const described = describeError(error, setup.secrets);
  // The response cannot prove whether the server has begun.
  if (error instanceof InputRequiredError || described.rpcCode === urlRequiredCode)
    return failed('inputRequired', true, described.message);
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
  if (isLost && setup.over.reason === 'orderly') return cutOff(setup);
  return {
    ...verdict,
    message: printableLine(inWords(seen), messageCharacters),
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
 * Returns the message for a failed call. The SDK reports only "Connection closed"; the connection
 * adds how the process ended.
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
