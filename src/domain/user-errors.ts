/** Errors that a user can fix: in the command line, a settings file or the arguments of a call. */

import { TroupeError } from './troupe-error.ts';

export function usageError(message: string): TroupeError {
  return new TroupeError('USAGE', message);
}

export function settingsError(message: string, server?: string): TroupeError {
  return new TroupeError('INVALID_CONFIG', message, { server });
}

export function argumentsError(message: string): TroupeError {
  return new TroupeError('INVALID_ARGUMENTS', message);
}

/** The same error with another message. */
export function reworded(error: TroupeError, message: string): TroupeError {
  if (message === error.message) return error;
  const { code, server, tool, retryable, outcome, retryAfterMs } = error;
  const details = { server, tool, retryable, outcome, retryAfterMs, cause: error };
  return new TroupeError(code, message, details);
}
