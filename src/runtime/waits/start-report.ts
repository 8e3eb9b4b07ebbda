import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay, isUsable, needsUser } from '../../domain/server-state.ts';
import type { StatusBoard } from '../status/board.ts';
import type { StartReport } from '../troupe.ts';

/** The servers that `ready()` waits for: all but those that start in the background. */
export function awaitedStatuses(board: StatusBoard): readonly ServerStatus[] {
  const isInBackground = ({ name }: ServerStatus): boolean =>
    board.sighting(name)?.desired.policy.startup.mode === 'background';
  return board.statuses().filter((status) => !isInBackground(status));
}

/** Those of them that hold it up however long they take: nothing is known of their tools. */
export function blockingStatuses(board: StatusBoard): readonly ServerStatus[] {
  return awaitedStatuses(board).filter(
    ({ name, catalog }) =>
      catalog === 'none' && board.sighting(name)?.desired.policy.startup.withoutCache === 'block',
  );
}

/** Says whether no server is on its way to something. */
export function areSettled(statuses: readonly ServerStatus[]): boolean {
  return statuses.every(({ state }) => !isOnItsWay(state));
}

/**
 * Sorts the servers by what a host can do with them at this moment. Servers that
 * a person switched off or stopped are in no list.
 */
export function startReportOf(statuses: readonly ServerStatus[], elapsedMs: number): StartReport {
  const namesWhere = (matches: (status: ServerStatus) => boolean): string[] =>
    statuses.filter(matches).map(({ name }) => name);
  return {
    live: namesWhere(isLive),
    deferred: namesWhere((status) => !isLive(status) && status.catalog !== 'none'),
    pending: namesWhere(isPending),
    failed: statuses.filter(isFailed).map(({ name, state, reason }) => ({
      name,
      state,
      ...(reason === undefined ? {} : { reason }),
    })),
    elapsedMs,
  };
}

function isLive({ state }: ServerStatus): boolean {
  return isUsable(state);
}

function isPending({ state, catalog }: ServerStatus): boolean {
  return catalog === 'none' && (isOnItsWay(state) || state === 'dormant');
}

function isFailed({ state, catalog }: ServerStatus): boolean {
  if (catalog !== 'none') return false;
  return state === 'backingOff' || needsUser(state);
}
