/** Waits until servers have settled, and gives the error of a settled server that is unusable. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { gateFor } from '../../runtime/calls/gate.ts';
import { unknownServer } from '../../runtime/errors/call-refusal.ts';
import type { Troupe } from '../../runtime/troupe.ts';

/** A package runner with a cold cache needs several seconds; after this, report which server is late. */
export const settleTimeoutMs = 30_000;

const moving: ReadonlySet<ServerState> = new Set([
  'queued',
  'connecting',
  'loadingTools',
  'stopping',
]);

/** Whether a server's state only changes through the user or a timer. */
export function isSettled(status: ServerStatus): boolean {
  return !moving.has(status.state);
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
  if (present().every(isSettled)) return present();
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => finish(resolve), options.timeoutMs);
    const look = (): void => {
      if (present().every(isSettled)) finish(resolve);
    };
    const ends = [troupe.on('status.changed', look), troupe.on('reconciled', look)];
    const abort = (): void => finish(() => reject(new TroupeError('CANCELLED', 'interrupted')));
    const finish = (then: () => void): void => {
      clearTimeout(timer);
      for (const end of ends) end();
      options.signal?.removeEventListener('abort', abort);
      then();
    };
    options.signal?.addEventListener('abort', abort);
    if (options.signal?.aborted === true) abort();
  });
  return present();
}

/**
 * Starts a dormant server and waits until it has settled.
 * @throws TroupeError `SERVER_UNKNOWN`
 */
export async function demandServer(
  troupe: Troupe,
  name: string,
  options: SettleOptions,
): Promise<ServerStatus> {
  const status = requireServer(troupe, name);
  if (status.state === 'dormant') troupe.send({ type: 'server.start', server: name });
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
  const known = troupe.snapshot().servers;
  const isMistyped =
    closestName(
      name,
      known.map((server) => server.name),
    ) !== undefined;
  const { problems } = troupe.snapshot().troupe;
  const isExplained = problems.some(({ server }) => server === name);
  const unread = isMistyped || isExplained ? undefined : unreadSettings(troupe);
  throw unread ?? unknownServer(name, known, [], problems);
}

/** The error of a settings file that could not be read; undefined when all were read. */
export function unreadSettings(troupe: Troupe): TroupeError | undefined {
  const { servers, troupe: own } = troupe.snapshot();
  // A file that has servers in the list was read, so its problems are minor.
  const problem = own.problems.find(
    ({ file }) => !servers.some((server) => server.source.file === file),
  );
  if (problem === undefined) return undefined;
  const line = problem.line === undefined ? '' : `:${problem.line}`;
  return new TroupeError(
    'INVALID_CONFIG',
    `no server could be read from ${problem.file}${line}: ${problem.message}`,
  );
}

/**
 * The error of a server that should be usable; undefined when it is. Uses the runtime's own messages, so
 * that `start` and a call report the same.
 */
export function unusableError(status: ServerStatus): TroupeError | undefined {
  // An open circuit only stops calls; the server is up and its tools are known.
  const gate = gateFor(
    { ...status, circuit: 'closed' },
    { wallNowMs: Date.now(), remainingMs: 0, circuitUntilMs: 0 },
  );
  if (gate.pass === 'refuse') return gate.error;
  if (gate.pass === 'go') return undefined;
  return new TroupeError(
    'TIMEOUT_WAITING',
    `${status.name} is still ${status.state}; wait longer with --timeout, or see troupe status ${status.name}`,
    { server: status.name, retryable: true },
  );
}
