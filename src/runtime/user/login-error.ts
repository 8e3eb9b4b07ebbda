/** What a user is told when a login fails, or goes on after a mistake. */

import type { AuthorizationFailure } from '../../domain/authorization.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';

/** Where the entry of a server stands, and how the server is. */
interface FailedServer {
  readonly isReady: boolean;
  readonly file?: string;
  readonly line?: number;
  readonly key?: string;
}

export function loginError(
  server: string,
  failure: AuthorizationFailure | null,
  { isReady, file, line, key }: FailedServer,
): TroupeError {
  const { kind, message: why = 'another login replaced it' } = failure ?? {};
  if (kind === 'discovery' && isReady) {
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
  return new TroupeError('AUTH_REQUIRED', `the login to ${server} failed: ${why}${place}`, {
    server,
  });
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
