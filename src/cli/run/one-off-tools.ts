/** What `troupe tools` adds when no troupe is running: why servers and tools are missing. */

import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { isSettled, unreadSettings, unusableError } from '../control/settled-servers.ts';
import { type Launch, noServers, unknownAllowed } from '../launch.ts';
import type { UsedTroupe } from './used-troupe.ts';

interface Listed {
  readonly tools: readonly ExposedTool[];
  /** The only server that was asked for. */
  readonly server: string | undefined;
}

interface Notes {
  /** To print before the tools. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** @throws TroupeError `INVALID_CONFIG` when there are no tools because of a settings file */
export function notesOfRun(
  launch: Launch,
  { servers, troupe }: TroupeSnapshot,
  { explained }: UsedTroupe,
  { tools, server }: Listed,
): Notes {
  const unread = unreadSettings(servers, troupe.problems);
  if (unread !== undefined && tools.length === 0) throw unread;
  return {
    before: unread === undefined ? [] : [unread.message],
    after: [
      ...unknownAllowed(launch, servers),
      ...(servers.length === 0 ? [noServers(launch)] : []),
      ...(server === undefined ? servers.flatMap((each) => toolless(each, explained)) : []),
    ],
  };
}

/** Why a server has no tools. */
function toolless(status: ServerStatus, explained: UsedTroupe['explained']): readonly string[] {
  if (status.tools !== 0) return [];
  const next = `see troupe tools ${status.name}`;
  if (status.state === 'dormant') return [`${status.name} starts on demand; ${next}`];
  if (!isSettled(status)) return [`${status.name} is still ${status.state}; ${next}`];
  const error = unusableError(status);
  return error === undefined ? [] : [explained(error).message];
}
