import { describe, expect, it } from 'vitest';

import { type Failure, failureKinds } from '../../../src/domain/failure.ts';
import { type Carrier, verdictOf } from '../../../src/policies/calls/failure-verdict.ts';
import {
  classifyFailure,
  type FailureDescription,
} from '../../../src/policies/failures/classify.ts';

const http: Carrier = { kind: 'http', era: 'legacy' };
const stdio: Carrier = { kind: 'stdio', era: 'legacy' };
type Seen = Omit<FailureDescription, 'phase'>;

function verdict(seen: Partial<Seen>, carrier: Carrier = http) {
  const described = { message: 'It failed.', ...seen };
  const failure = classifyFailure({ ...described, phase: 'ready' });
  return verdictOf(failure, described, carrier);
}

describe("a failed call's outcome", () => {
  it.each<readonly [Partial<Seen>, string, Carrier]>([
    [{ code: 'RESULT_TOO_LARGE' }, 'resultTooLarge', http],
    [{ code: 'REQUEST_TIMEOUT' }, 'timeout', http],
    [{ code: 'ERR_ADDRESS_BLOCKED' }, 'addressBlocked', http],
    [{ code: 'ERR_REDIRECT_BLOCKED' }, 'redirectBlocked', http],
    [{ status: 302 }, 'redirectBlocked', http],
    [
      { rpcCode: -32_001, message: 'Session not found', hasSessionId: true },
      'sessionMissing',
      http,
    ],
    [{ status: 403 }, 'authRequired', http],
    [{ status: 503 }, 'unavailable', http],
    [{ exitCode: 1 }, 'crashed', stdio],
    [{ exitCode: 0 }, 'crashed', stdio],
    [{ rpcCode: -32_000 }, 'serverError', http],
    [{ code: 'CONNECTION_CLOSED' }, 'crashed', stdio],
    [{ code: 'CONNECTION_CLOSED' }, 'streamLost', http],
    [{ code: 'BAD_RESPONSE' }, 'badResponse', http],
    [{ status: 404 }, 'badResponse', http],
  ])('is "may have run" for %j: %s', (seen, reason, carrier) => {
    expect(verdict(seen, carrier)).toEqual({ reason, written: true });
  });

  const sessionGone = { status: 404, hasSessionId: true };
  it.each<readonly [Partial<Seen>, string]>([
    [{ status: 401 }, 'authRequired'],
    [{ status: 429 }, 'rateLimited'],
    [{ status: 307 }, 'redirectBlocked'],
    [{ status: 308 }, 'redirectBlocked'],
    [sessionGone, 'sessionMissing'],
    [{ code: 'ECONNREFUSED', wasConnected: false }, 'unavailable'],
    [{ code: 'ERR_ADDRESS_BLOCKED', wasConnected: false }, 'addressBlocked'],
    [{ code: 'ECONNRESET', wasConnected: false }, 'unavailable'],
  ])('is "did not run" for %j: %s', (seen, reason) => {
    expect(verdict(seen)).toEqual({ reason, written: false });
  });

  it('accepts a lost session as proof only for a status that the specification defines', () => {
    expect(verdict(sessionGone, { kind: 'sse', era: 'legacy' }).written).toBe(true);
    expect(verdict(sessionGone, { kind: 'http', era: 'modern' }).written).toBe(true);
    expect(verdict({ ...sessionGone, rpcCode: -32_601 }).written).toBe(true);
  });

  it('depends on the evidence, not on the kind that a settings rule assigns', () => {
    for (const kind of failureKinds) {
      const failure: Failure = { kind, message: '' };
      expect(verdictOf(failure, { message: '', rpcCode: -32_001 }, http).written).toBe(true);
      expect(verdictOf(failure, { message: '', status: 401 }, http).written).toBe(false);
    }
  });
});
