/**
 * Says what kind of failure something was, from what an actor saw of it. The
 * table is read from top to bottom and the first rule that fits decides: what
 * the process or the server said of itself counts more than what the SDK made
 * of it, and patterns in messages count least.
 */

import type { BlockedCode, Failure, FailureKind } from '../domain/failure.ts';
import { printableLine } from './printable.ts';

/** How far the connection had come. */
export type SessionPhase = 'connect' | 'initialize' | 'initialized' | 'ready';

export interface FailureCause {
  readonly name?: string;
  /** Code of Node, undici or the SDK, for example `ECONNREFUSED`. */
  readonly code?: string;
  readonly message: string;
}

/** A failure as an actor saw it, before anybody decided what it means. Without secrets. */
export interface FailureDescription extends FailureCause {
  readonly phase: SessionPhase;
  /** HTTP status of the answer. */
  readonly status?: number;
  /** Code of a JSON-RPC error answer. */
  readonly rpcCode?: number;
  /** What caused it, nearest first. */
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

interface Rule {
  readonly kind: FailureKind;
  readonly fits: (description: FailureDescription) => boolean;
}

const messageLimit = 500;

const neverReached: ReadonlySet<string> = new Set([
  'ENOENT',
  'EACCES',
  'ENOTDIR',
  'EISDIR',
  'E2BIG',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
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
]);

const brokenOff: ReadonlySet<string> = new Set([
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
]);

const addressCodes: ReadonlySet<string> = new Set(['ERR_ADDRESS_BLOCKED']);
const redirectCodes: ReadonlySet<string> = new Set(['ERR_REDIRECT_BLOCKED']);
// An answer with one of them reaches us only when it was not followed.
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const wrongAnswer: ReadonlySet<string> = new Set([
  'INVALID_RESULT',
  'UNSUPPORTED_RESULT_TYPE',
  'CLIENT_HTTP_UNEXPECTED_CONTENT',
  'BAD_RESPONSE',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
  'LIST_PAGINATION_EXCEEDED',
]);

const versionMessage =
  /protocol version is not supported|unsupported protocol version|did not offer pinned protocol version|no modern evidence/iu;
const sessionMessage =
  /session (?:id |has )?(?:not found|expired|unknown|invalid|missing|terminated)|(?:no|invalid|unknown|missing) (?:valid )?(?:mcp-)?session|mcp-session-id|not initialized/iu;

function hasCode(description: FailureDescription, codes: ReadonlySet<string>): boolean {
  return [description, ...(description.causes ?? [])].some(
    ({ code }) => code !== undefined && codes.has(code),
  );
}

function isNamed(description: FailureDescription, names: ReadonlySet<string>): boolean {
  return [description, ...(description.causes ?? [])].some(
    ({ name }) => name !== undefined && names.has(name),
  );
}

function says(description: FailureDescription, pattern: RegExp): boolean {
  return [description, ...(description.causes ?? [])].some(({ message }) => pattern.test(message));
}

const authNames: ReadonlySet<string> = new Set([
  'UnauthorizedError',
  'OAuthError',
  'InsufficientScopeError',
]);
const authCodes: ReadonlySet<string> = new Set([
  'CLIENT_HTTP_AUTHENTICATION',
  'CLIENT_HTTP_FORBIDDEN',
]);
const capabilityCodes: ReadonlySet<string> = new Set(['CAPABILITY_NOT_SUPPORTED']);
const timeoutCodes: ReadonlySet<string> = new Set(['REQUEST_TIMEOUT']);
const syntaxNames: ReadonlySet<string> = new Set(['SyntaxError', 'ZodError', '$ZodError']);
// Of the 2026-07-28 revision: missing client capability, unsupported version.
const missingCapabilityRpc = -32_021;
const unsupportedVersionRpc = -32_022;
const methodNotFoundRpc = -32_601;
const invalidRequestRpc = -32_600;
// Servers made with the SDK's first line say so; others use the same number for a timeout.
const sessionNotFoundRpc = -32_001;

const rules: readonly Rule[] = [
  // The end of the process explains everything else that was seen around it.
  { kind: 'cleanExit', fits: (it) => it.exitCode === 0 && it.phase === 'ready' },
  { kind: 'crashed', fits: (it) => it.exitCode !== undefined || it.signal !== undefined },
  { kind: 'authRequired', fits: (it) => it.status === 401 || it.status === 403 },
  { kind: 'authRequired', fits: (it) => isNamed(it, authNames) || hasCode(it, authCodes) },
  { kind: 'rateLimited', fits: (it) => it.status === 429 },
  // Only a session that had an id can lose it: 404 before that is a wrong address. And a
  // server of the modern era says "no such method" by this status.
  {
    kind: 'sessionMissing',
    fits: (it) => it.status === 404 && it.hasSessionId === true && it.rpcCode !== methodNotFoundRpc,
  },
  {
    kind: 'sessionMissing',
    fits: (it) => it.status === 400 && it.hasSessionId === true && says(it, sessionMessage),
  },
  // Some answer with status 200. Both codes are for requests that were refused as a whole; a
  // tool that lost a session of its own uses others.
  {
    kind: 'sessionMissing',
    fits: (it) =>
      (it.rpcCode === sessionNotFoundRpc || it.rpcCode === invalidRequestRpc) &&
      it.hasSessionId === true &&
      it.phase === 'ready' &&
      says(it, sessionMessage),
  },
  {
    kind: 'versionUnsupported',
    fits: (it) => it.rpcCode === unsupportedVersionRpc || says(it, versionMessage),
  },
  {
    kind: 'capabilityMissing',
    fits: (it) => it.rpcCode === missingCapabilityRpc || hasCode(it, capabilityCodes),
  },
  { kind: 'initNotification', fits: (it) => it.phase === 'initialized' },
  { kind: 'unavailable', fits: (it) => it.status !== undefined && it.status >= 500 },
  // A route that breaks down looks alike before and after a connection was made.
  { kind: 'transport', fits: (it) => it.wasConnected === true && hasCode(it, neverReached) },
  { kind: 'unavailable', fits: (it) => hasCode(it, neverReached) },
  { kind: 'initTimeout', fits: (it) => it.phase !== 'ready' && hasCode(it, timeoutCodes) },
  { kind: 'transport', fits: (it) => hasCode(it, timeoutCodes) || hasCode(it, brokenOff) },
  {
    kind: 'transport',
    fits: (it) => it.status !== undefined && it.status >= 300 && it.status < 400,
  },
  { kind: 'protocol', fits: (it) => it.status !== undefined || it.rpcCode !== undefined },
  { kind: 'protocol', fits: (it) => hasCode(it, wrongAnswer) || isNamed(it, syntaxNames) },
  {
    kind: 'transport',
    fits: (it) =>
      says(it, /the request to \S+ failed|fetch failed|terminated|stream|socket|not connected/iu),
  },
];

/** Turns a description into a failure; a failure passes as it is. */
export function classifyFailure(seen: FailureDescription | Failure): Failure {
  if ('kind' in seen) return seen;
  const kind = rules.find((rule) => rule.fits(seen))?.kind ?? 'unknown';
  const code = blockedCodeOf(seen);
  return {
    kind,
    message: printableLine(seen.message, messageLimit),
    ...(code !== undefined && { code }),
    ...(seen.exitCode !== undefined && { exitCode: seen.exitCode }),
    ...(seen.signal !== undefined && { signal: seen.signal }),
    ...(seen.stderrTail !== undefined && { stderrTail: seen.stderrTail }),
    ...(seen.status !== undefined && { httpStatus: seen.status }),
    ...(seen.retryAfterMs !== undefined && { retryAfterMs: seen.retryAfterMs }),
  };
}

function blockedCodeOf(seen: FailureDescription): BlockedCode | undefined {
  if (hasCode(seen, addressCodes)) return 'ADDRESS_BLOCKED';
  const isRedirect = seen.status !== undefined && redirectStatuses.has(seen.status);
  return isRedirect || hasCode(seen, redirectCodes) ? 'REDIRECT_BLOCKED' : undefined;
}
