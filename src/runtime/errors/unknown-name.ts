/** Errors for unknown names, with the closest known one. */

import type { Problem } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { printableLine } from '../../policies/text/printable.ts';

const shownLength = 128;

/** The error for a server that does not exist: a problem explains it, it was removed, or it is unknown. */
export function unknownServer(
  name: string,
  known: readonly { readonly name: string }[],
  removed: readonly string[],
  problems: readonly Problem[],
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
  const hint = nameHint(name, names, 'List what is there: troupe status');
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

/** The error for an alias that several tools share. */
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

/** The error for a tool that the settings leave out. */
export function hiddenTool(server: string, tool: string): TroupeError {
  const shown = printableLine(tool, shownLength);
  return new TroupeError(
    'TOOL_UNKNOWN',
    `The tool ${shown} of ${server} is left out by the settings. Change "tools" of ${server} there, or list what is shown: troupe tools ${server}`,
    { server, tool: shown },
  );
}
