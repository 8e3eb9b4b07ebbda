/** Errors for users whose login fails, or goes on after a mistake. */

import { sentence } from '../../../actors/authorization/outcome.ts';
import type { AuthorizationContext } from '../../../machines/authorization/authorization-setup.ts';
import type { AuthorizationFailure } from '../../domain/authorization.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { SharedPorts } from '../shared-ports.ts';

/** @param failure - null if nothing failed, but the login is over all the same */
export function loginError(
  server: string,
  failure: AuthorizationFailure | null,
  { board, book }: Pick<SharedPorts, 'board' | 'book'>,
): TroupeError {
  const { kind, message: why = 'another login or a logout ended it' } = failure ?? {};
  const { file, line, key } = book.of(server)?.source ?? {};
  if (kind === 'discovery' && board().status(server)?.state === 'ready') {
    const message = `${server} works without a login, and has nothing to log in to: ${why}`;
    return new TroupeError('USAGE', message, { server });
  }
  const isInSettings = kind === 'clientNeeded' || kind === 'registration';
  // After a key of the entry, the sentence goes on.
  const link = why.endsWith('"') ? ' in' : '; see';
  const place =
    file === undefined || !isInSettings
      ? ''
      : `${link} ${key} (${line === undefined ? file : `${file}:${line}`})`;
  const message = `the login to ${server} failed: ${why}${place}`;
  return new TroupeError('AUTH_REQUIRED', message, { server });
}

/** Returns why there is no valid token, as a sentence; undefined if nothing failed. */
export function missingToken({
  token,
  needsUser,
  failure,
}: Pick<AuthorizationContext, 'token' | 'needsUser' | 'failure'>): string | undefined {
  const refusal = token?.renewalRefusal;
  // A user's login that failed later does not explain it; a request without a user does.
  const why = needsUser ? (refusal ?? failure) : (failure ?? refusal);
  if (!why) return undefined;
  const without = needsUser ? 'The last login failed' : 'No token was obtained';
  return `${token === null ? without : 'Its token was not renewed'}: ${sentence(why.message)}.`;
}

/** @throws TroupeError `INVALID_ARGUMENTS` unless a URL responds to the address that was opened */
export function refuseOther(opened: URL, { searchParams }: URL): void {
  // The opened address has the state as well.
  const isResponse = searchParams.has('code') || searchParams.has('error');
  if (isResponse && searchParams.get('state') === opened.searchParams.get('state')) return;
  throw argumentsError(
    'this is not the address that the browser was sent to after this login; agree there first, then copy the whole address line',
  );
}

export function notWaiting(server: string): TroupeError {
  return new TroupeError('USAGE', `no login to ${server} is waiting for the browser`, { server });
}
