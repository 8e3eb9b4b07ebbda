/**
 * Decides what a failed request means for its call: the reason, and whether the request may have run.
 *
 * The reason may follow from anything in the failure. That the request did not run may not: only
 * evidence that the server cannot write into an answer proves that. A request without a connection
 * never left this process, and a few HTTP statuses are defined as "not applied". An error's text and
 * code prove nothing, because a server may relay both from elsewhere after it began.
 */

import type { Failure } from '../../domain/failure.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import type { CallFailure } from '../../domain/session.ts';
import { methodNotFound } from '../../protocol/rpc-codes.ts';
import type { FailureDescription } from '../failures/failure-table.ts';

/** The transport of the request. */
export interface Carrier {
  readonly kind: TransportKind;
  readonly era: 'legacy' | 'modern';
}

type Seen = Omit<FailureDescription, 'phase'>;
export type CallVerdict = Pick<CallFailure, 'reason' | 'written'>;

/** @param failure - what `classifyFailure` made of the same description */
export function verdictOf(failure: Failure, seen: Seen, carrier: Carrier): CallVerdict {
  return { reason: reasonOf(failure, seen, carrier), written: !provesNotRun(seen, carrier) };
}

function provesNotRun(
  { wasConnected, status, hasSessionId, rpcCode }: Seen,
  { kind, era }: Carrier,
): boolean {
  // Refused, or not reached: no byte of the request left.
  if (wasConnected === false) return true;
  switch (status) {
    // RFC 9110, section 15.5.2: the request has not been applied.
    case 401:
      return true;
    // RFC 6585, section 4: the limit is on requests, so it is checked before one is served.
    case 429:
      return true;
    // RFC 9110, sections 15.4.8 and 15.4.9: the request still has to be made, elsewhere.
    case 307:
    case 308:
      return true;
    // MCP, Streamable HTTP, session management: a server refuses a session that it has ended with this
    // status. The 2026-07-28 revision has no sessions and uses the status for "no such method".
    case 404:
      return (
        kind === 'http' && era === 'legacy' && hasSessionId === true && rpcCode !== methodNotFound
      );
    default:
      return false;
  }
}

function reasonOf(failure: Failure, seen: Seen, { kind }: Carrier): CallFailure['reason'] {
  // No rule of the settings makes this a loss, after which a call that did not run is sent again.
  if (seen.status === 429) return 'rateLimited';
  if (seen.code === 'RESULT_TOO_LARGE') return 'resultTooLarge';
  if (seen.code === 'REQUEST_TIMEOUT') return 'timeout';
  if (failure.code === 'ADDRESS_BLOCKED') return 'addressBlocked';
  if (failure.code === 'REDIRECT_BLOCKED') return 'redirectBlocked';
  switch (failure.kind) {
    case 'sessionMissing':
    case 'authRequired':
    case 'rateLimited':
    case 'unavailable':
      return failure.kind;
    case 'crashed':
    case 'cleanExit':
      return 'crashed';
    default:
  }
  // Only a rule of the settings classifies an error answer as a broken connection.
  if (seen.rpcCode !== undefined && failure.kind !== 'transport') return 'serverError';
  if (failure.kind !== 'transport') return 'badResponse';
  if (seen.wasConnected === false) return 'unavailable';
  return kind === 'stdio' ? 'crashed' : 'streamLost';
}
