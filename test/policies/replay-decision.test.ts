import { describe, expect, it } from 'vitest';
import type { CallFailure } from '../../src/domain/session.ts';
import { provablyNeverRan } from '../../src/policies/replay-decision.ts';

describe('a call may be sent again', () => {
  const never: readonly CallFailure['reason'][] = [
    'notSent',
    'sessionMissing',
    'unavailable',
    'crashed',
  ];
  const all: readonly CallFailure['reason'][] = [
    ...never,
    'streamLost',
    'timeout',
    'cancelled',
    'serverError',
    'badResponse',
    'authRequired',
    'rateLimited',
    'invalidArguments',
  ];

  it.each(all)('only when it provably never ran: %s', (reason) => {
    expect(provablyNeverRan({ reason, written: true, message: '' })).toBe(false);
    expect(provablyNeverRan({ reason, written: false, message: '' })).toBe(never.includes(reason));
  });
});
