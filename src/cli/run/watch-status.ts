/** Keeps showing the statuses of the running troupe: `troupe status --watch`. */

import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { createTroupeView } from '../show/troupe-view.ts';
import { followEvents } from './follow-events.ts';

/** Assembles the table from the status changes that the socket sends. */
export async function watchStatus(
  session: CliSession,
  client: ControlClient,
  first: TroupeSnapshot,
  isShown: (status: ServerStatus) => boolean,
): Promise<number> {
  const servers = new Map(first.servers.map((server) => [server.name, server]));
  const source = {
    snapshot: (): TroupeSnapshot => ({
      troupe: first.troupe,
      servers: [...servers.values()].filter(isShown).sort((a, b) => (a.name < b.name ? -1 : 1)),
    }),
    footer: [`pid ${first.troupe.pid}; Ctrl-C closes this view, not the troupe`],
  };
  const view = createTroupeView(session, source);
  for (const status of first.servers.filter(isShown))
    view.event({ type: 'status.changed', status });
  const refresh = async (): Promise<void> => {
    const { servers: present } = await client.request('status', {});
    const names = new Set(present.map((server) => server.name));
    for (const name of servers.keys()) if (!names.has(name)) servers.delete(name);
  };
  const followed = ['status.changed', 'reconciled', 'settings.invalid'] as const;
  try {
    return await followEvents(session.host, client, followed, (event) => {
      if (event.type === 'status.changed') {
        const before = servers.get(event.status.name);
        servers.set(event.status.name, event.status);
        // A server that no longer needs attention leaves the view with its last change.
        if (!isShown(event.status) && (before === undefined || !isShown(before))) return;
      }
      // A removed server sends no last status, so compare the names after each pass.
      if (event.type === 'reconciled') refresh().catch(() => undefined);
      view.event(event);
    });
  } finally {
    view.end();
  }
}
