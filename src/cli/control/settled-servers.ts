/** Waits until servers have settled, and explains why a settled server is unusable. */

import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import { isOnItsWay } from '../../domain/server-state.ts';
import type { Problem, SourceRef } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { gateFor, refusalAtRest } from '../../runtime/calls/gate.ts';
import { unknownServer } from '../../runtime/errors/refused.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { waitOnce } from '../../runtime/wait-once.ts';
import { type Launch, noServers } from '../launch.ts';

/** Whether a server's state only changes through the user or a timer. */
export function isSettled(status: ServerStatus): boolean {
  return !isOnItsWay(status.state);
}

export interface SettleOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Resolves when the named server, or every server, has settled, or at the deadline. Rejects only when the
 * signal fires. Returns the current statuses.
 */
export async function waitUntilSettled(
  troupe: Troupe,
  name: string | undefined,
  options: SettleOptions,
): Promise<readonly ServerStatus[]> {
  const present = (): readonly ServerStatus[] => {
    const { servers } = troupe.snapshot();
    return name === undefined ? servers : servers.filter((server) => server.name === name);
  };
  const { timeoutMs, signal } = options;
  const bounds = { clock: realClock, deadlineAt: realClock.now() + timeoutMs, signal };
  await waitOnce(bounds, (wake) => {
    const check = (): void => {
      if (present().every(isSettled)) wake();
    };
    check();
    const ends = [troupe.on('status.changed', check), troupe.on('reconciled', check)];
    return () => ends.forEach((end) => end());
  });
  const statuses = present();
  if (signal?.aborted === true && !statuses.every(isSettled))
    throw new TroupeError('CANCELLED', 'interrupted');
  return statuses;
}

/**
 * Starts a server that starts on demand, and waits until it has settled.
 * @throws TroupeError `SERVER_UNKNOWN`
 */
export async function demandServer(
  troupe: Troupe,
  name: string,
  options: SettleOptions,
): Promise<ServerStatus> {
  const status = requireServer(troupe, name);
  const isDemanded = status.state === 'dormant' || status.reason === 'notStartable';
  if (isDemanded) troupe.send({ type: 'server.start', server: name });
  const [settled] = await waitUntilSettled(troupe, name, options);
  return settled ?? requireServer(troupe, name);
}

/**
 * Returns the status of a server.
 * @throws TroupeError `SERVER_UNKNOWN` with the closest name; `INVALID_CONFIG` when a settings file that
 *   may define the server could not be read
 */
export function requireServer(troupe: Troupe, name: string): ServerStatus {
  const status = troupe.status(name);
  if (status !== undefined) return status;
  const snapshot = troupe.snapshot();
  const { problems } = snapshot.troupe;
  const names = snapshot.servers.map((server) => server.name);
  const isExplained =
    closestName(name, names) !== undefined || problems.some(({ server }) => server === name);
  const unread = isExplained ? undefined : unreadSettings(snapshot.servers, problems);
  throw unread ?? unknownServer(name, snapshot.servers, [], problems);
}

/** Returns the error of an unreadable settings file; undefined when all were read. */
export function unreadSettings(
  servers: readonly { readonly source: SourceRef }[],
  problems: readonly Problem[],
): TroupeError | undefined {
  // A file that has servers in the list was read, so its problems are minor.
  const problem = problems.find(
    ({ file, severity }) =>
      severity !== 'warning' && !servers.some((server) => server.source.file === file),
  );
  if (problem === undefined) return undefined;
  const line = problem.line === undefined ? '' : `:${problem.line}`;
  return settingsError(`no server could be read from ${problem.file}${line}: ${problem.message}`);
}

/** Why a troupe has no servers: a settings file could not be read, or there are none yet. */
export function whyNoServers(launch: Launch, { servers, troupe }: TroupeSnapshot): string {
  return unreadSettings(servers, troupe.problems)?.message ?? noServers(launch);
}

/**
 * Returns why a server is unusable; undefined when it is usable. The messages are the runtime's, so
 * `start` and a call report the same.
 */
export function unusableError(status: ServerStatus): TroupeError | undefined {
  // An open circuit only stops calls; the server is up and its tools are known.
  const gate = gateFor(
    { ...status, circuit: 'closed' },
    { wallNowMs: Date.now(), remainingMs: 0, circuitUntilMs: 0 },
  );
  if (gate.pass === 'refuse') return gate.error;
  if (gate.pass === 'go') return undefined;
  const atRest = refusalAtRest(status);
  if (atRest !== undefined) return atRest;
  return new TroupeError(
    'TIMEOUT_WAITING',
    `${status.name} is still ${status.state}${status.mayDownload === true ? ' (it may be downloading)' : ''}; wait longer with --timeout, or see troupe status ${status.name}`,
    { server: status.name, retryable: true },
  );
}
