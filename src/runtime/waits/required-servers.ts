/** Waits for the required servers, each as long as its policy allows. */

import type { Clock } from '../../domain/clock.ts';
import {
  type MissingServer,
  RequiredServersError,
} from '../../domain/host/required-servers-error.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { ServerView, StatusBoard } from '../status/board.ts';
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
 * Resolves when every required server is ready, or known not to become ready by itself.
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
  const answer = (view: ServerView | undefined) =>
    view !== undefined && !view.leaving && (isReady(view) || hasGivenUp(view))
      ? view.status
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
  const view = board.view(name);
  return view !== undefined && isReady(view);
}

function isReady({ status }: ServerView): boolean {
  return isUsable(status.state);
}

/** The user may still approve or log in; a server that failed, or is dormant after a failure, has given up. */
function hasGivenUp({ status }: ServerView): boolean {
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
