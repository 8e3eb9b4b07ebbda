/** The active states of a server's chart, as far as its status tells; calls under way are not in it. */

import type { ServerStatus, TroupeSnapshot } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';

/** What of a status says where the chart is. */
export type StatusState = Pick<ServerStatus, 'state'> &
  Partial<Pick<ServerStatus, 'reason' | 'catalog' | 'circuit'>>;

// Where the states with a session, or on the way to one, are in the chart. The others are parked.
const engaged: Partial<Readonly<Record<ServerState, string>>> = {
  queued: 'queued',
  connecting: 'live.connecting',
  loadingTools: 'live.loadingTools',
  ready: 'live.ready',
  degraded: 'live.ready',
  stopping: 'live.closing',
};

export function leavesOf({ state, reason, catalog, circuit }: StatusState): readonly string[] {
  const place = engaged[state];
  const parked = [state, reason].filter((part) => part !== undefined).join('.');
  return [
    place === undefined ? `connection.parked.${parked}` : `connection.engaged.${place}`,
    ...(catalog === undefined ? [] : [`catalog.${catalog}`]),
    ...(circuit === undefined ? [] : [`circuit.${circuit}`]),
  ];
}

/** The status of one server among what a host gives: its own, or that of all servers. */
export function statusIn(
  given: ServerStatus | TroupeSnapshot | undefined,
  server: string,
): ServerStatus | undefined {
  if (given === undefined || !('servers' in given)) return given;
  return given.servers.find(({ name }) => server === '' || name === server);
}

/** Reads `backingOff.retrying`. */
export function stateIn(text: string): StatusState | undefined {
  const [state, reason] = text.trim().split(/[\s.]+/u);
  if (state === undefined || state === '') return undefined;
  return { state, ...(reason === undefined ? {} : { reason }) } as StatusState;
}
