/** Decides whether a call may be sent a second time. The safest answer is no. */

import type { CallFailure } from '../domain/session.ts';

/** Says whether the request provably never ran, so that sending it again is no second run. */
export function provablyNeverRan(failure: CallFailure): boolean {
  return (
    !failure.written &&
    (failure.reason === 'notSent' ||
      failure.reason === 'sessionMissing' ||
      failure.reason === 'unavailable' ||
      failure.reason === 'crashed')
  );
}
