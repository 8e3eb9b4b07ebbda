/**
 * Which kind a failure is of, as a table. It is read from top to bottom, and the
 * first row that fits decides; a row fits when all that it names fits.
 *
 * The order is the sense of it: what became of the process, and how far the
 * handshake had come; whether a log-in is wanted, anywhere among the causes; what
 * the server answered, by HTTP or by JSON-RPC; how the socket ended; what the SDK
 * made of it; and words last of all. A failure that the caller brought about by an
 * abort never gets here: its caller checks the signal first, because the SDK
 * calls an abort a timeout.
 */

import type { FailureCause, FailureKind } from '../../domain/failure.ts';

/** The phase of the connection. */
export type SessionPhase = 'connect' | 'initialize' | 'initialized' | 'ready';

/** A failure as an actor saw it, before anybody decided what it means. Without secrets. */
export interface FailureDescription extends FailureCause {
  readonly phase: SessionPhase;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Code of a JSON-RPC error answer. */
  readonly rpcCode?: number;
  /** Of an answer that refuses. Searched like a message, never shown. */
  readonly body?: string;
  /** Its causes, nearest first. */
  readonly causes?: readonly FailureCause[];
  /** The server had given the session an id. */
  readonly hasSessionId?: boolean;
  /** The process ended: its exit code, or the signal that ended it. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderrTail?: readonly string[];
  readonly retryAfterMs?: number;
  /** A request failed without an answer, before or after its connection was made. */
  readonly wasConnected?: boolean;
}

interface FailureRow {
  readonly kind: FailureKind;
  readonly phases?: readonly SessionPhase[];
  /** The process ended, or ended with this exit code. */
  readonly ended?: true | number;
  /** One status, or the first and the last of a range. */
  readonly status?: number | readonly [number, number];
  readonly rpcCodes?: 'any' | readonly number[];
  readonly notRpcCode?: number;
  /** Of the error or of one of its causes. */
  readonly names?: readonly string[];
  readonly codes?: readonly string[];
  readonly words?: RegExp;
  readonly hadSessionId?: true;
  readonly wasConnected?: true;
}

// This process, not the server, lacks file descriptors or process slots.
const starved = ['EMFILE', 'ENFILE', 'EAGAIN'];

const neverReached = [
  'ENOENT',
  'EACCES',
  'ENOTDIR',
  'EISDIR',
  'E2BIG',
  'ENOMEM',
  'ENOEXEC',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_URL',
  'INVALID_SETTING',
  'ERR_CONNECT_TIMEOUT',
  'ERR_ADDRESS_BLOCKED',
];

const brokenOff = [
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNABORTED',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'CONNECTION_CLOSED',
  'NOT_CONNECTED',
  'SEND_FAILED',
  'STREAM_LOST',
];

const wrongAnswer = [
  'INVALID_RESULT',
  'UNSUPPORTED_RESULT_TYPE',
  'CLIENT_HTTP_UNEXPECTED_CONTENT',
  'BAD_RESPONSE',
  'RESULT_TOO_LARGE',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
  'LIST_PAGINATION_EXCEEDED',
];
const wrongAnswerNames = ['SyntaxError', 'ZodError', '$ZodError'];

const authNames = ['UnauthorizedError', 'OAuthError', 'InsufficientScopeError'];
const authCodes = ['CLIENT_HTTP_AUTHENTICATION', 'CLIENT_HTTP_FORBIDDEN'];

const timeoutCodes = ['REQUEST_TIMEOUT'];

const methodNotFoundRpc = -32_601;
// Servers made with the SDK's first line say the former of a session that is gone, others the latter.
// Both numbers have other uses, too.
const refusedWholeRpc = [-32_001, -32_600];
// Of the 2026-07-28 revision.
const missingCapabilityRpc = [-32_021];
const unsupportedVersionRpc = [-32_022];

const versionWords =
  /protocol version is not supported|unsupported protocol version|did not offer pinned protocol version|no modern evidence/iu;
// The only thing wrong with the answer is that its version is none; the words are those of Zod.
const versionShapeWords =
  /for initialize: \[\s*\{[^{}]*"path":\s*\[\s*"protocolVersion"\s*\][^{}]*\}\s*\]/u;
const sessionWords =
  /session (?:id |has )?(?:not found|expired|unknown|invalid|missing|terminated)|(?:no|invalid|unknown|missing) (?:valid )?(?:mcp-)?session|mcp-session-id|not initialized/iu;
// What an authorization server calls it. "Unauthorized" alone is said of too much else.
const tokenWords = /\binvalid[_ ]token\b/iu;
const unreachableWords = /connection refused|no such file or directory/iu;
const brokenWords =
  /the request to \S+ failed|fetch failed|\bterminated\b|\bstream\b|\bsocket\b|not connected|maximum reconnection attempts|connection reset|broken pipe|unexpected eof/iu;

const beforeReady: readonly SessionPhase[] = ['connect', 'initialize', 'initialized'];

const failureTable: readonly FailureRow[] = [
  // The end of the process explains everything else that was seen around it.
  { kind: 'cleanExit', ended: 0, phases: ['ready'] },
  { kind: 'crashed', ended: true },
  // An answer that never came. Failures of `initialized` come below.
  { kind: 'initTimeout', codes: timeoutCodes, phases: ['connect', 'initialize'] },

  // Before `initNotification`: without a log-in no second try of the handshake helps.
  { kind: 'authRequired', status: 401 },
  { kind: 'authRequired', status: 403 },
  { kind: 'authRequired', names: authNames },
  { kind: 'authRequired', codes: authCodes },

  // Before `initNotification` as well: a server that says how long to wait is given that time.
  { kind: 'rateLimited', status: 429 },
  // Only a session that had an id can lose it: 404 before that is a wrong address. And a
  // server of the modern era says "no such method" by this status.
  { kind: 'sessionMissing', status: 404, hadSessionId: true, notRpcCode: methodNotFoundRpc },
  { kind: 'sessionMissing', status: 400, hadSessionId: true, words: sessionWords },
  // Some answer with status 200. Both codes are for requests that were refused as a whole; a
  // tool that lost a session of its own uses others.
  {
    kind: 'sessionMissing',
    rpcCodes: refusedWholeRpc,
    hadSessionId: true,
    phases: ['ready'],
    words: sessionWords,
  },
  { kind: 'versionUnsupported', rpcCodes: unsupportedVersionRpc },
  { kind: 'versionUnsupported', words: versionWords },
  { kind: 'versionUnsupported', phases: ['initialize'], words: versionShapeWords },
  { kind: 'capabilityMissing', rpcCodes: missingCapabilityRpc },
  { kind: 'capabilityMissing', codes: ['CAPABILITY_NOT_SUPPORTED'] },
  { kind: 'initNotification', phases: ['initialized'] },
  // The server, or what stands before it, had no time.
  { kind: 'unavailable', status: 408 },
  { kind: 'unavailable', status: [500, 599] },
  // Not followed, so the server was not reached.
  { kind: 'transport', status: [300, 399] },
  { kind: 'protocol', status: [100, 599] },
  { kind: 'protocol', rpcCodes: 'any' },

  // Nothing was started or reached because we lack resources, which says nothing about the server.
  { kind: 'notStarted', codes: starved, phases: beforeReady },
  { kind: 'unavailable', codes: starved },

  // A route that breaks down looks alike before and after a connection was made.
  { kind: 'transport', codes: neverReached, wasConnected: true },
  { kind: 'unavailable', codes: neverReached },
  { kind: 'transport', codes: brokenOff },

  { kind: 'transport', codes: timeoutCodes },
  { kind: 'protocol', codes: wrongAnswer },
  { kind: 'protocol', names: wrongAnswerNames },

  { kind: 'authRequired', words: tokenWords },
  { kind: 'unavailable', words: unreachableWords, phases: beforeReady },
  { kind: 'transport', words: brokenWords },
];

/** Returns the kind of the first matching row; undefined = none. */
export function kindByTable(seen: FailureDescription): FailureKind | undefined {
  return failureTable.find((row) => fits(row, seen))?.kind;
}

/** A failure, what a refusal said and its causes, nearest first. */
export function chainOf(seen: FailureDescription): readonly FailureCause[] {
  const { body, causes = [] } = seen;
  return [seen, ...(body === undefined ? [] : [{ message: body }]), ...causes];
}

function fits(row: FailureRow, seen: FailureDescription): boolean {
  const { names, codes, words, status } = row;
  const chain = chainOf(seen);
  const [lowest, highest] = typeof status === 'number' ? [status, status] : (status ?? []);
  const seenStatus = seen.status ?? Number.NaN;
  return (
    (row.phases?.includes(seen.phase) ?? true) &&
    (row.hadSessionId === undefined || seen.hasSessionId === true) &&
    (row.wasConnected === undefined || seen.wasConnected === true) &&
    (row.notRpcCode === undefined || row.notRpcCode !== seen.rpcCode) &&
    fitsEnd(row, seen) &&
    (lowest === undefined || (seenStatus >= lowest && seenStatus <= Number(highest))) &&
    fitsRpcCode(row, seen) &&
    (names === undefined || chain.some(({ name = '' }) => names.includes(name))) &&
    (codes === undefined || chain.some(({ code = '' }) => codes.includes(code))) &&
    (words === undefined || chain.some(({ message }) => words.test(message)))
  );
}

function fitsEnd({ ended }: FailureRow, { exitCode, signal }: FailureDescription): boolean {
  if (ended === true) return exitCode !== undefined || signal !== undefined;
  return ended === undefined || exitCode === ended;
}

function fitsRpcCode({ rpcCodes }: FailureRow, { rpcCode }: FailureDescription): boolean {
  if (rpcCodes === undefined) return true;
  if (rpcCode === undefined) return false;
  return rpcCodes === 'any' || rpcCodes.includes(rpcCode);
}
