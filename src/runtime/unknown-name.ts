/** Errors for names that mean nothing, with the closest one that does. */

import { TroupeError } from '../domain/troupe-error.ts';
import { closestName } from '../policies/closest-name.ts';
import { printableLine } from '../policies/printable.ts';

const shownLength = 128;

export function unknownServer(
  name: string,
  known: readonly { readonly name: string }[],
  removed: readonly string[],
): TroupeError {
  const shown = printableLine(name, shownLength);
  if (removed.includes(name)) {
    return new TroupeError(
      'SERVER_REMOVED',
      `Server ${shown} was removed from the settings. Add it again, or list what is there: troupe status`,
      { server: shown },
    );
  }
  const closest = closestName(
    name,
    known.map((server) => server.name),
  );
  const hint =
    closest === undefined ? 'List what is there: troupe status' : `Did you mean ${closest}?`;
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
  const closest = closestName(
    name,
    known.map((tool) => tool.name),
  );
  const command = server === undefined ? 'troupe tools' : `troupe tools ${server}`;
  const hint =
    closest === undefined ? `List what is there: ${command}` : `Did you mean ${closest}?`;
  return new TroupeError('TOOL_UNKNOWN', `There is no tool ${shown}${where}. ${hint}`, {
    server,
    tool: shown,
  });
}
