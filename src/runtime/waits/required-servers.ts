/** Waits for the servers that a host insists on, each for as long as its policy gives it. */

import type { Clock } from '../../domain/clock.ts';
import {
  type MissingServer,
  RequiredServersError,
} from '../../domain/host/required-servers-error.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { Sighting, StatusBoard } from '../status/board.ts';
import { waitForStatus } from './for-status.ts';

export interface RequiredWait {
  readonly board: StatusBoard;
  readonly clock: Clock;
  readonly servers: readonly DesiredServer[];
  /** Monotonic milliseconds: the startup timeouts count from here. */
  readonly since: number;
  readonly isOver: () => boolean;
}

/**
 * Settles when every required server is ready, or known not to become so by itself.
 *
 * @throws RequiredServersError with those that are not; TroupeError `SHUTTING_DOWN`.
 */
export async function waitForRequired(wait: RequiredWait): Promise<void> {
  const required = wait.servers.filter(({ enabled, policy }) => enabled && policy.startup.required);
  const outcomes = await Promise.all(required.map((server) => isReadyInTime(wait, server)));
  const missing = required.filter((_, place) => outcomes[place] === false);
  if (missing.length > 0) throw new RequiredServersError(missing.map((it) => missingOf(wait, it)));
}

async function isReadyInTime(
  { board, clock, since, isOver }: RequiredWait,
  { name, policy }: DesiredServer,
): Promise<boolean> {
  const answer = (sighting: Sighting | undefined) =>
    sighting !== undefined && !sighting.leaving && (isReady(sighting) || hasGivenUp(sighting))
      ? sighting.status
      : undefined;
  const timeoutMs = Math.max(0, since + policy.startup.timeoutMs - clock.now());
  try {
    await waitForStatus(
      { board, clock, server: name, answer, wanted: 'ready', isOver },
      { timeoutMs },
    );
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'TIMEOUT_WAITING') throw error;
  }
  const sighting = board.sighting(name);
  return sighting !== undefined && isReady(sighting);
}

function isReady({ status }: Sighting): boolean {
  return isUsable(status.state);
}

/** A person may still approve or log in; what has failed or sleeps after it failed is decided. */
function hasGivenUp({ status }: Sighting): boolean {
  return (
    status.state === 'failed' || (status.state === 'dormant' && status.lastError !== undefined)
  );
}

function missingOf({ board }: RequiredWait, { name }: DesiredServer): MissingServer {
  const status = board.status(name);
  return {
    name,
    state: status?.state ?? 'stopped',
    ...(status?.reason === undefined ? {} : { reason: status.reason }),
  };
} // prettier-ignore
