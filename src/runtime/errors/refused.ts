/**
 * Errors for calls that were never sent, and for unknown names. Errors that follow from the
 * server's status are in `calls/gate.ts`.
 */

import type { CallerCode } from '../../domain/caller-code.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { DesiredServer, Problem } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { isEditable, placeOf } from '../status/next-step.ts';

// A name may be long, and the caller already knows it.
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

export function outOfTime(
  server: string,
  { state, mayDownload }: Pick<ServerStatus, 'state' | 'mayDownload'>,
): TroupeError {
  const isBusy = isUsable(state);
  const why = mayDownload === true ? ' (it may be downloading)' : '';
  return new TroupeError(
    isBusy ? 'OVERLOADED' : 'CONNECTING',
    isBusy
      ? `Server ${server} was busy with other calls until the end of the call's deadline. Call again later, or allow more time with timeoutMs (--timeout).`
      : `Server ${server} was still ${state}${why} at the end of the call's deadline. Call again, or allow more time with timeoutMs (--timeout).`,
    { server, retryable: true },
  );
}

/** Creates the error for a server that became ready too late for a response within the deadline. */
export function tooLate(server: string, wasQueued: boolean): TroupeError {
  return outOfTime(server, { state: wasQueued ? 'ready' : 'loadingTools' });
}

/**
 * Replaces an error whose outcome is `not_executed` after a first attempt that was lost and may
 * have run.
 *
 * @param lost - the first attempt's error
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

/** @param words - what is limited, as in "calls to db" */
export function rateLimited(
  server: string,
  words: string,
  most: number,
  retryAfterMs: number,
): TroupeError {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  return new TroupeError(
    'RATE_LIMITED',
    `The settings allow ${most} ${printableLine(words, shownLength)} a minute, and that many were made. Call again in ${seconds} s, or raise "limits" in the settings.`,
    { server, retryable: true, retryAfterMs: Math.ceil(retryAfterMs) },
  );
}

/**
 * Creates the error for a call that a hook refused, or whose result it withholds.
 *
 * @param reason - what the hook did, as in `hook "check" refused it: why`
 */
export function hookRefused(
  code: CallerCode,
  when: 'before' | 'after',
  { server, tool }: Pick<ExposedTool, 'server' | 'tool'>,
  { reason, place }: { readonly reason: string; readonly place: string },
): TroupeError {
  const why = reason.replace(/[.\s]*$/u, '');
  if (when === 'before') {
    const message = `Tool ${tool} of ${server} was not called: ${why}. Change the call, or the hook (${place}).`;
    return new TroupeError(code, message, { server, tool });
  }
  const message = `Tool ${tool} of ${server} ran, but its result is withheld: ${why}. Do not repeat the call for its result; change the hook (${place}).`;
  return new TroupeError(code, message, { server, tool, outcome: 'executed' });
}

export function toolChangedSince({ server, name }: ExposedTool): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${name} differs from the one in this catalog. Take a new catalog and check the tool: troupe.catalog()`,
    { server, tool: name },
  );
}

export function toolChangedWhileAsked(server: string, tool: string): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${tool} of ${server} changed while its permission was requested, so it was not called. Check it and call it again: troupe tools ${server}`,
    { server, tool },
  );
}

export function changedTool(server: string, tool: string): TroupeError {
  const shown = printableLine(tool, shownLength);
  return new TroupeError(
    'TOOL_CHANGED',
    `Tool ${shown} of ${server} differs from the approved one and is withheld. See what changed and decide: troupe approve ${server}`,
    { server, tool: shown },
  );
}

export function taskTool(server: string, tool: string): TroupeError {
  const shown = printableLine(tool, shownLength);
  return new TroupeError(
    'CAPABILITY_MISSING',
    `Tool ${shown} of ${server} runs only as a task, which is not supported yet. Use another tool: troupe tools ${server}`,
    { server, tool: shown },
  );
}

/** @param offer - such as `prompt review` */
export function changedOffer(server: string, offer: string): TroupeError {
  return new TroupeError(
    'TOOL_CHANGED',
    `The ${offer} of ${server} differs from what was approved and is withheld. See what changed and decide: troupe approve ${server}`,
    { server },
  );
}

/**
 * Creates the error for a server that does not exist: a problem explains it, it was removed, or it
 * is unknown.
 *
 * @param list - the command that lists the servers
 */
export function unknownServer(
  name: string,
  known: readonly { readonly name: string }[],
  removed: readonly string[],
  problems: readonly Problem[],
  list = 'troupe status',
): TroupeError {
  const shown = printableLine(name, shownLength);
  const problem = problems.find(({ server }) => server === name);
  if (problem !== undefined) {
    const { message } = problem;
    const sentence = message.charAt(0).toUpperCase() + message.slice(1);
    return new TroupeError('UNAVAILABLE', sentence, { server: shown });
  }
  if (removed.includes(name)) {
    return new TroupeError(
      'SERVER_REMOVED',
      `Server ${shown} was removed from the settings. Add it again, or list what is there: troupe status`,
      { server: shown },
    );
  }
  const names = known.map((server) => server.name);
  const hint = nameHint(name, names, `List what is there: ${list}`);
  return new TroupeError('SERVER_UNKNOWN', `There is no server ${shown}. ${hint}`, {
    server: shown,
  });
}

export function unknownTool(
  name: string,
  known: readonly { readonly name: string }[],
  server?: string,
): TroupeError {
  const shown = printableLine(name, shownLength);
  const where = server === undefined ? '' : ` on ${server}`;
  const names = known.map((tool) => tool.name);
  const command = server === undefined ? 'troupe tools' : `troupe tools ${server}`;
  const hint = nameHint(name, names, `List what is there: ${command}`);
  return new TroupeError('TOOL_UNKNOWN', `There is no tool ${shown}${where}. ${hint}`, {
    server,
    tool: shown,
  });
}

/** @param kind - such as `prompt` */
export function unknownOffer(
  server: string,
  kind: 'prompt' | 'resource',
  name: string,
): TroupeError {
  const shown = printableLine(name, shownLength);
  return new TroupeError(
    'TOOL_UNKNOWN',
    `There is no ${kind} ${shown} on ${server}. List what is there: troupe ${kind}s`,
    { server },
  );
}

/** Creates the error for an alias that several tools share. */
export function ambiguousAlias(
  name: string,
  meant: readonly { readonly server: string; readonly tool: string }[],
): TroupeError {
  const shown = printableLine(name, shownLength);
  const servers = [...new Set(meant.map(({ server }) => server))].slice(0, 5).join(', ');
  return new TroupeError(
    'TOOL_UNKNOWN',
    `${shown} may mean several tools, of ${servers}. Call one by its own name: troupe tools`,
    { tool: shown },
  );
}

/** Creates the error for a tool that the settings hide. */
export function hiddenTool(desired: DesiredServer, tool: string): TroupeError {
  const { name: server, source, tools } = desired;
  const shown = printableLine(tool, shownLength);
  const place = placeOf(source.file, source.line);
  const isSwitched = tools.overrides?.some((each) => each.tool === tool && each.enabled === false);
  const why =
    isSwitched === true && isEditable(desired)
      ? `disabled in ${place}. Enable it: troupe enable ${quotedFor('shell', `${server}/${shown}`)}`
      : `left out by the settings. Change "tools" of ${server} in ${place}, or list what is shown: troupe tools ${server}`;
  return new TroupeError('TOOL_UNKNOWN', `The tool ${shown} of ${server} is ${why}`, {
    server,
    tool: shown,
  });
}
