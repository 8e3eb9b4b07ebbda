/** What a gateway notes for its host's log. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay } from '../../domain/server-state.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { unreadSettings, whyNoServers } from '../control/settled-servers.ts';
import { type Launch, unknownAllowed } from '../launch.ts';
import { problemLines, statusLine } from '../show/status-lines.ts';

/** How long calls in progress get to finish; servers then have the rest of the five seconds of a stop. */
export const drainMs = 2_000;

export const longestNote = 500;

/** What is served, in words. */
export function servedWhat({ only, view }: { only?: string; view?: string }): string {
  const what = only ?? 'all servers';
  return view === undefined ? what : `${what} of the view ${view}`;
}

/** @throws TroupeError `INVALID_ARGUMENTS` if the settings have no such view, `INVALID_CONFIG` if they cannot be read */
export function requireView(troupe: Troupe, view: string | undefined): void {
  if (view === undefined) return;
  try {
    troupe.view(view);
  } catch (error) {
    const {
      servers,
      troupe: { problems },
    } = troupe.snapshot();
    throw unreadSettings(servers, problems) ?? error;
  }
}

/** Notes the servers' states, now and as they change. */
export function logStates(
  note: (line: string) => void,
  launch: Launch,
  troupe: Troupe,
  only: string | undefined,
): void {
  const snapshot = troupe.snapshot();
  const { servers } = snapshot;
  for (const line of unknownAllowed(launch, servers)) note(line);
  if (servers.length === 0) note(whyNoServers(launch, snapshot));
  const logged = new Map<string, string>();
  const log = (status: ServerStatus): void => {
    if (only !== undefined && status.name !== only) return;
    const condition = `${status.state} ${status.reason ?? ''}`;
    // States that last only moments would hide the others.
    if (logged.get(status.name) === condition || isOnItsWay(status.state)) return;
    logged.set(status.name, condition);
    note(statusLine(status, Date.now()));
  };
  for (const status of servers) log(status);
  troupe.on('status.changed', ({ status }) => log(status));
  troupe.on('settings.invalid', ({ problems }) => {
    for (const line of problemLines(problems)) note(line);
  });
}
