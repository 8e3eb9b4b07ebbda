/** Turns what a session says of a failed call into what its caller is told. */

import type { CallerCode, Outcome } from '../domain/caller-code.ts';
import type { BreakerPolicy } from '../domain/policy.ts';
import type { CallFailure } from '../domain/session.ts';
import { TroupeError } from '../domain/troupe-error.ts';

// JSON-RPC 2.0: not understood, not a request, no such method. Invalid parameters
// (-32602) are not among them: a tool may find its arguments wrong half-way.
const refusedByProtocol: ReadonlySet<number> = new Set([-32700, -32600, -32601]);
const internalError = -32603;

/**
 * Says whether a failed call speaks against its server. Answers do not, with
 * one exception (an internal error); neither do log-in, limits and the caller.
 * A policy may let only those count in which the connection itself broke.
 */
export function countsForCircuit(
  failure: CallFailure,
  counts: BreakerPolicy['counts'] = 'callFailures',
): boolean {
  switch (failure.reason) {
    case 'crashed':
    case 'streamLost':
    case 'unavailable':
      return true;
    case 'timeout':
    case 'badResponse':
      return counts === 'callFailures';
    case 'serverError':
      return counts === 'callFailures' && failure.rpcCode === internalError;
    case 'cancelled':
    case 'invalidArguments':
    case 'notSent':
    case 'sessionMissing':
    case 'authRequired':
    case 'rateLimited':
      return false;
  }
}

/** The error a caller gets, with what is known of the outcome. */
export function callErrorOf(failure: CallFailure, server: string, tool: string): TroupeError {
  const outcome = outcomeOf(failure);
  const message = failure.message.replace(/[.\s]*$/, '');
  return new TroupeError(
    codeOf(failure),
    `${tool} on ${server}: ${message}. ${nextStep(failure, outcome, server)}`,
    {
      server,
      tool,
      outcome,
      retryable: outcome === 'not_executed' && !isOfCaller(failure),
      retryAfterMs: failure.retryAfterMs,
    },
  );
}

/** The caller ended or misstated the call: the same again would be no better. */
function isOfCaller({ reason }: CallFailure): boolean {
  return reason === 'cancelled' || reason === 'invalidArguments';
}

function outcomeOf(failure: CallFailure): Outcome {
  if (!failure.written) return 'not_executed';
  if (failure.reason === 'authRequired' || failure.reason === 'rateLimited') return 'not_executed';
  if (failure.reason !== 'serverError') return 'unknown';
  return refusedByProtocol.has(failure.rpcCode ?? 0) ? 'not_executed' : 'executed';
}

const codeOfReason: Readonly<Record<CallFailure['reason'], CallerCode>> = {
  crashed: 'CRASHED',
  streamLost: 'STREAM_LOST',
  timeout: 'TIMEOUT',
  cancelled: 'CANCELLED',
  serverError: 'SERVER_ERROR',
  badResponse: 'BAD_RESPONSE',
  invalidArguments: 'INVALID_ARGUMENTS',
  notSent: 'UNAVAILABLE',
  sessionMissing: 'UNAVAILABLE',
  authRequired: 'AUTH_REQUIRED',
  rateLimited: 'RATE_LIMITED',
  unavailable: 'UNAVAILABLE',
};

// A crash before anything was written is no unknown outcome: nothing was asked.
function codeOf(failure: CallFailure): CallerCode {
  if (failure.reason === 'crashed' && !failure.written) return 'UNAVAILABLE';
  return codeOfReason[failure.reason];
}

function nextStep(failure: CallFailure, outcome: Outcome, server: string): string {
  if (failure.reason === 'authRequired') return `Log in to ${server} and call again.`;
  if (failure.reason === 'serverError') return 'Check the arguments and call again.';
  if (failure.reason === 'invalidArguments') return 'Correct them and call again.';
  if (failure.reason === 'cancelled' && outcome === 'not_executed') return 'It was not sent.';
  return outcome === 'unknown'
    ? 'Nobody can know whether it ran: check before you call again.'
    : 'It did not run and may be called again.';
}
