/**
 * A table of the kinds of failures. The first row that matches decides; a row matches when
 * all its conditions do.
 *
 * The order matters: the end of the process, the phase of the handshake, a required login,
 * the server's answer over HTTP or JSON-RPC, the end of the socket, the SDK's errors, and
 * finally the text of messages. Aborted calls are not classified here: the SDK reports an
 * abort as a timeout, so callers check the signal first.
 */

import type { FailureCause, FailureKind, Missing } from '../../domain/failure.ts';
import {
  invalidRequest,
  methodNotFound,
  missingCapability,
  sessionNotFound,
  unsupportedVersion,
} from '../../protocol/rpc-codes.ts';

/** The phase of the connection. */
export type SessionPhase = 'connect' | 'initialize' | 'initialized' | 'ready';

/** A failure as an actor observed it, before it is classified. It has no secrets. */
export interface FailureDescription extends FailureCause {
  readonly phase: SessionPhase;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Code of a JSON-RPC error answer. */
  readonly rpcCode?: number;
  /** Body of an error response. It is searched like a message and never shown. */
  readonly body?: string;
  /** Its causes, nearest first. */
  readonly causes?: readonly FailureCause[];
  /** The server had given the session an id. */
  readonly hasSessionId?: boolean;
  /** The process ended: its exit code, or the signal that ended it. */
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderrTail?: readonly string[];
  /** What the process wrote about it. */
  readonly explanation?: string;
  readonly missing?: Missing;
  readonly retryAfterMs?: number;
  /** The address of a remote server, without its query and without secrets. */
  readonly address?: string;
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
  /** Names of the error or of one of its causes. */
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
  // Ours: the issuer did not renew the token.
  'TOKEN_UNAVAILABLE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_ARG_VALUE',
  'ERR_INVALID_URL',
  'INVALID_SETTING',
  'ERR_CONNECT_TIMEOUT',
  'ERR_ADDRESS_BLOCKED',
  'ERR_PROXY_UNREACHABLE',
  'ERR_PROXY_REFUSED',
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

// Servers on version 1 of the SDK report an expired session with the first code, others with the
// second. Both codes also have other uses.
const refusedWholeRpc = [sessionNotFound, invalidRequest];

const versionWords =
  /protocol version is not supported|unsupported protocol version|did not offer pinned protocol version|no modern evidence/iu;
// Zod's message about an answer whose only fault is a missing version.
const versionShapeWords =
  /for initialize: \[\s*\{[^{}]*"path":\s*\[\s*"protocolVersion"\s*\][^{}]*\}\s*\]/u;
const sessionWords =
  /session (?:id |has )?(?:not found|expired|unknown|invalid|missing|terminated)|(?:no|invalid|unknown|missing) (?:valid )?(?:mcp-)?session|mcp-session-id|not initialized/iu;
// The error of an authorization server. "Unauthorized" alone is too common elsewhere.
const tokenWords = /\binvalid[_ ]token\b/iu;
const unreachableWords = /connection refused|no such file or directory/iu;
const brokenWords =
  /the request to \S+ failed|fetch failed|\bterminated\b|\bstream\b|\bsocket\b|not connected|maximum reconnection attempts|connection reset|broken pipe|unexpected eof/iu;

const beforeReady: readonly SessionPhase[] = ['connect', 'initialize', 'initialized'];

const failureTable: readonly FailureRow[] = [
  // The end of the process explains every other symptom.
  { kind: 'cleanExit', ended: 0, phases: ['ready'] },
  { kind: 'crashed', ended: true },
  // No answer came. Failures of `initialized` are below.
  { kind: 'initTimeout', codes: timeoutCodes, phases: ['connect', 'initialize'] },

  // Before `initNotification`: a second handshake does not help without a login.
  { kind: 'authRequired', status: 401 },
  { kind: 'authRequired', status: 403 },
  { kind: 'authRequired', names: authNames },
  { kind: 'authRequired', codes: authCodes },

  // Before `initNotification` as well: the requested wait is respected.
  { kind: 'rateLimited', status: 429 },
  // Only a session with an id can expire: 404 before that means a wrong address. Servers of
  // the modern era also use this status for an unknown method.
  { kind: 'sessionMissing', status: 404, hadSessionId: true, notRpcCode: methodNotFound },
  { kind: 'sessionMissing', status: 400, hadSessionId: true, words: sessionWords },
  // Some servers answer with status 200. Both codes are for requests that were refused as a
  // whole; a tool that lost a session of its own uses other codes.
  {
    kind: 'sessionMissing',
    rpcCodes: refusedWholeRpc,
    hadSessionId: true,
    phases: ['ready'],
    words: sessionWords,
  },
  { kind: 'versionUnsupported', rpcCodes: [unsupportedVersion] },
  { kind: 'versionUnsupported', words: versionWords },
  { kind: 'versionUnsupported', phases: ['initialize'], words: versionShapeWords },
  { kind: 'capabilityMissing', rpcCodes: [missingCapability] },
  { kind: 'capabilityMissing', codes: ['CAPABILITY_NOT_SUPPORTED'] },
  { kind: 'initNotification', phases: ['initialized'] },
  // The server, or a proxy in front of it, timed out.
  { kind: 'unavailable', status: 408 },
  { kind: 'unavailable', status: [500, 599] },
  // Redirects are not followed, so the server was not reached.
  { kind: 'transport', status: [300, 399] },
  { kind: 'protocol', status: [100, 599] },
  { kind: 'protocol', rpcCodes: 'any' },

  // This process lacks resources, so nothing was started; the server is not at fault.
  { kind: 'notStarted', codes: starved, phases: beforeReady },
  { kind: 'unavailable', codes: starved },

  // A broken route gives the same error before and after the connection was made.
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

/** Lists a failure, the body of its response, and its causes, nearest first. */
export function chainOf(seen: FailureDescription): readonly FailureCause[] {
  const { body, causes = [] } = seen;
  return [seen, ...(body === undefined ? [] : [{ message: body }]), ...causes];
}

function fits(row: FailureRow, seen: FailureDescription): boolean {
  return (
    (row.phases?.includes(seen.phase) ?? true) &&
    (row.hadSessionId === undefined || seen.hasSessionId === true) &&
    (row.wasConnected === undefined || seen.wasConnected === true) &&
    (row.notRpcCode === undefined || row.notRpcCode !== seen.rpcCode) &&
    fitsEnd(row, seen) &&
    fitsStatus(row, seen) &&
    fitsRpcCode(row, seen) &&
    fitsChain(row, chainOf(seen))
  );
}

function fitsStatus({ status }: FailureRow, seen: FailureDescription): boolean {
  if (status === undefined || seen.status === undefined) return status === undefined;
  const [lowest, highest] = typeof status === 'number' ? [status, status] : status;
  return seen.status >= lowest && seen.status <= highest;
}

function fitsChain({ names, codes, words }: FailureRow, chain: readonly FailureCause[]): boolean {
  return (
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
