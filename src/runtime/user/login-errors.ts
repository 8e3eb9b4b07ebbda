/** Explains to a user why a login failed. */

import type { AuthorizationFailure } from '../../domain/authorization.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { StatusBoard } from '../status/board.ts';

/** @param failure - null if nothing failed, but the login is over all the same */
export function loginError(
  server: string,
  failure: AuthorizationFailure | null,
  board: Pick<StatusBoard, 'view' | 'status'>,
): TroupeError {
  const { kind, message: why = 'another login or a logout ended it' } = failure ?? {};
  const { file, line, key } = board.view(server)?.desired.source ?? {};
  if (kind === 'discovery' && board.status(server)?.state === 'ready') {
    const message = `${server} works without a login, and has nothing to log in to: ${why}`;
    return new TroupeError('USAGE', message, { server });
  }
  const isInSettings = kind === 'clientNeeded' || kind === 'registration';
  const place =
    file === undefined || !isInSettings
      ? ''
      : ` in ${key} (${line === undefined ? file : `${file}:${line}`})`;
  const message = `the login to ${server} failed: ${why}${place}`;
  return new TroupeError('AUTH_REQUIRED', message, { server });
}
