/** Turns a session's report of a failed call into the caller's error. */

import type { CallerCode, Outcome } from '../../domain/caller-code.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ToolPin } from '../../domain/host/approval.ts';
import type { BreakerPolicy } from '../../domain/policy.ts';
import type { CallFailure } from '../../domain/session.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import {
  internalError,
  invalidRequest,
  methodNotFound,
  parseError,
} from '../../protocol/rpc-codes.ts';

// JSON-RPC 2.0: parse error, invalid request, method not found. Usually the call did not run, but a
// server may relay such a code from elsewhere in the middle of its work. Invalid parameters (-32602)
// are not included, because tools check their arguments themselves.
const refusedByProtocol: ReadonlySet<number> = new Set([
  parseError,
  invalidRequest,
  methodNotFound,
]);
// Enough to recognize an exception by its message.
const faultCharacters = 500;

/**
 * Returns whether a failed call counts against its server. Responses do not, except an internal
 * error; neither do logins, limits, the caller's faults and our own refusals. A redirect is the
 * server's doing. A policy may count only calls whose connection broke.
 */
export function countsForCircuit(
  failure: CallFailure,
  counts: BreakerPolicy['counts'] = 'callFailures',
): boolean {
  switch (failure.reason) {
    case 'crashed':
    case 'streamLost':
      return true;
    case 'unavailable':
      // The connection works if the server responded that it is too busy.
      return counts === 'callFailures' || !failure.written;
    case 'redirectBlocked':
    case 'timeout':
    case 'badResponse':
      return counts === 'callFailures';
    case 'serverError':
      return counts === 'callFailures' && failure.rpcCode === internalError;
    case 'resultTooLarge':
    case 'cancelled':
    case 'addressBlocked':
    case 'invalidArguments':
    case 'unsupported':
    case 'inputRequired':
    case 'notSent':
    case 'sessionMissing':
    case 'authRequired':
    case 'rateLimited':
      return false;
  }
}

/** What was requested from a server. */
export interface Subject {
  /** The tool's name as its caller sees it, for a tool call. */
  readonly tool?: string;
  /** The tool as it is currently shown. */
  readonly shown?: ExposedTool;
  /** The kind of what is requested, for requests other than tool calls. */
  readonly kind?: ToolPin['kind'];
  /** The subject's name in messages. */
  readonly words: string;
}

/** Creates the caller's error, with the outcome as far as it is known. */
export function callErrorOf(failure: CallFailure, server: string, about: Subject): TroupeError {
  const outcome = outcomeOf(failure);
  const message = failure.message.replace(/[.\s]*$/, '');
  return new TroupeError(
    codeOf(failure),
    `${about.words} on ${server}: ${message}. ${nextStep(failure, outcome, server, about)}`,
    {
      server,
      ...(about.tool === undefined ? {} : { tool: about.tool }),
      outcome,
      retryable: outcome === 'not_executed' && !isPointless(failure),
      retryAfterMs: failure.retryAfterMs,
      rpcCode: failure.reason === 'serverError' ? failure.rpcCode : undefined,
      rpcData: failure.reason === 'serverError' ? failure.rpcData : undefined,
    },
  );
}

/** Wraps any other exception, which is our bug; the caller still needs the call's outcome. */
export function asTroupeError(error: unknown, server: string, outcome: Outcome): TroupeError {
  if (error instanceof TroupeError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const why = printableLine(text, faultCharacters).replace(/\.$/, '');
  const message = `The call to ${server} failed because of a bug in mcp-troupe: ${why}. Report it.`;
  return new TroupeError('INTERNAL', message, { server, outcome, cause: error });
}

/**
 * Failures for which repeating the call would not help: the caller cancelled or misstated it, or
 * its address is wrong.
 */
function isPointless({ reason }: CallFailure): boolean {
  if (reason === 'unsupported' || reason === 'inputRequired' || isBlocked(reason)) return true;
  return reason === 'cancelled' || reason === 'invalidArguments';
}

function isBlocked(reason: CallFailure['reason']): boolean {
  return reason === 'addressBlocked' || reason === 'redirectBlocked';
}

function outcomeOf(failure: CallFailure): Outcome {
  if (!failure.written) return 'not_executed';
  if (failure.reason === 'resultTooLarge' || failure.wasAnswered === true) return 'executed';
  if (failure.reason !== 'serverError') return 'unknown';
  return refusedByProtocol.has(failure.rpcCode ?? 0) ? 'unknown' : 'executed';
}

const codeOfReason: Readonly<Record<CallFailure['reason'], CallerCode>> = {
  crashed: 'CRASHED',
  streamLost: 'STREAM_LOST',
  timeout: 'TIMEOUT',
  cancelled: 'CANCELLED',
  serverError: 'SERVER_ERROR',
  badResponse: 'BAD_RESPONSE',
  resultTooLarge: 'RESULT_TOO_LARGE',
  invalidArguments: 'INVALID_ARGUMENTS',
  unsupported: 'CAPABILITY_MISSING',
  inputRequired: 'INPUT_REQUIRED',
  notSent: 'UNAVAILABLE',
  sessionMissing: 'UNAVAILABLE',
  authRequired: 'AUTH_REQUIRED',
  rateLimited: 'RATE_LIMITED',
  unavailable: 'UNAVAILABLE',
  addressBlocked: 'ADDRESS_BLOCKED',
  redirectBlocked: 'REDIRECT_BLOCKED',
};

// After a crash before anything was written, the outcome is known: nothing was requested.
function codeOf(failure: CallFailure): CallerCode {
  if (failure.reason === 'crashed' && !failure.written) return 'UNAVAILABLE';
  return codeOfReason[failure.reason];
}

const nextStepOf: Readonly<Partial<Record<CallFailure['reason'], string>>> = {
  resultTooLarge: 'It did run: ask for less.',
  invalidArguments: 'Correct them and call again.',
  unsupported: 'Ask a server that does.',
  inputRequired:
    'Check whether it ran, then call again where its question can be answered (onQuestion, or troupe up and troupe questions).',
};

/** What to do about an answer that shows that the call ran. */
function stepAfterRun(
  { reason, unanswered, perhapsUnanswered }: CallFailure,
  server: string,
  kind: Subject['kind'],
): string | undefined {
  if (reason === 'badResponse') return 'It did run; only its answer is unusable.';
  if (reason !== 'serverError') return undefined;
  if (unanswered !== undefined)
    return `It asked a question that was not answered (${unanswered}): call again where it can be.`;
  if (kind === 'resource') return `List its resources: troupe resources ${server}`;
  const step = 'Check the arguments and call again.';
  return perhapsUnanswered === undefined
    ? step
    : `${step} If it asked a question: one was not answered (${perhapsUnanswered}).`;
}

function nextStep(
  failure: CallFailure,
  outcome: Outcome,
  server: string,
  { kind }: Subject,
): string {
  const { reason } = failure;
  if (reason === 'authRequired')
    return outcome === 'not_executed'
      ? `Log in to ${server} and call again.`
      : `Log in to ${server}, and check whether the call ran before you repeat it.`;
  const step =
    (outcome === 'executed' ? stepAfterRun(failure, server, kind) : undefined) ??
    nextStepOf[reason];
  if (step !== undefined) return step;
  if (outcome === 'unknown') {
    const how = reason === 'timeout' ? ' with a longer timeout' : '';
    return `It is unknown whether it ran: check before you call again${how}.`;
  }
  if (isBlocked(reason)) return `It did not run: correct the address of ${server} in the settings.`;
  if (reason === 'cancelled') return 'It was not sent.';
  return 'It did not run and may be called again.';
}
