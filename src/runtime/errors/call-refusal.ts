/** Errors of calls that were never sent, apart from those that follow from the server's status. */

import { isUsable, type ServerState } from '../../domain/server-state.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';

// A name may be as long as a line, and the caller knows it.
const shownLength = 128;

export function cancelled(server: string): TroupeError {
  return new TroupeError('CANCELLED', `The call to ${server} was cancelled before it was sent.`, {
    server,
  });
}

export function shuttingDown(server: string): TroupeError {
  return new TroupeError(
    'SHUTTING_DOWN',
    `The troupe is stopping; the call to ${server} was not sent. Start it again: troupe up`,
    { server },
  );
}

export function outOfTime(server: string, state: ServerState): TroupeError {
  const isBusy = isUsable(state);
  return new TroupeError(
    isBusy ? 'OVERLOADED' : 'CONNECTING',
    isBusy
      ? `Server ${server} was busy with other calls until the end of the call's deadline. Call again later, or allow more time with --timeout.`
      : `Server ${server} was still ${state} at the end of the call's deadline. Call again, or allow more time with --timeout.`,
    { server, retryable: true },
  );
}

/** The server became ready, but too late for an answer within the deadline. */
export function tooLate(server: string, wasQueued: boolean): TroupeError {
  return outOfTime(server, wasQueued ? 'ready' : 'loadingTools');
}

/**
 * The error instead of one that says "not executed", after a first sending that was lost and may have
 * run.
 *
 * @param lost - the error of that sending
 */
export function ifNeverSent(error: TroupeError, lost: TroupeError): TroupeError {
  if (error.outcome !== 'not_executed') return error;
  if (error.code !== 'CANCELLED') return lost;
  const { server, tool, outcome } = lost;
  return new TroupeError('CANCELLED', lost.message, { server, tool, outcome, cause: lost });
}

export function badTimeout(server: string): TroupeError {
  return new TroupeError(
    'INVALID_ARGUMENTS',
    'The deadline of a call must be a positive number of milliseconds. Give timeoutMs such a number, or leave it out.',
    { server },
  );
}

export function overloaded(server: string): TroupeError {
  return new TroupeError(
    'OVERLOADED',
    `Too many calls wait for ${server} already. Wait for some to finish and call again.`,
    { server, retryable: true },
  );
}

export function toolChangedSince({ server, name }: ExposedTool): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${name} differs from the one in this catalog. Take a new catalog and check the tool: troupe.catalog()`,
    { server, tool: name },
  );
}

export function toolChangedWhileAsked({ server, name }: ExposedTool): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${name} changed while its permission was requested, so it was not called. Check it and call it again: troupe tools ${server}`,
    { server, tool: name },
  );
}

export function changedTool(server: string, tool: string): TroupeError {
  const shown = printableLine(tool, shownLength);
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${shown} of ${server} differs from the approved one and is held back. See what changed and decide: troupe approve ${server}`,
    { server, tool: shown },
  );
}

/** @param offer - such as `prompt review` */
export function changedOffer(server: string, offer: string): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `The ${offer} of ${server} differs from what was approved and is held back. See what changed and decide: troupe approve ${server}`,
    { server },
  );
}
