/** Waits until servers have come to rest, and says in which error a resting server results. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { gateFor } from '../../runtime/calls/gate.ts';
import { unknownServer } from '../../runtime/errors/unknown-name.ts';
import type { Troupe } from '../../runtime/troupe.ts';

/** A package runner on a cold cache needs several seconds; longer than this, say who is late. */
export const settleTimeoutMs = 30_000;

const moving: ReadonlySet<ServerState> = new Set([
  'queued',
  'connecting',
  'loadingTools',
  'stopping',
]);

/** Says whether nothing will change about a server without a person or a timer. */
export function isSettled(status: ServerStatus): boolean {
  return !moving.has(status.state);
}

export interface SettleOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Settles when all servers named (or all there are) are at rest, or at the
 * deadline, with what they are then. Never rejects, except by the signal.
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
    const abort = (): void =>
      finish(() => reject(new TroupeError('CANCELLED', 'interrupted; run it again when you like')));
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
 * Starts a server that rests until demanded, and waits until it is at rest.
 * @throws TroupeError `SERVER_UNKNOWN`.
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
 * The status of a server.
 * @throws TroupeError `SERVER_UNKNOWN` with the closest name; `INVALID_CONFIG`
 * when a settings file could not be read, because the server may be in there.
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

/** The error of a settings file that nothing could be taken from; nothing when all were read. */
export function unreadSettings(troupe: Troupe): TroupeError | undefined {
  const { servers, troupe: own } = troupe.snapshot();
  // Of a file with servers in the list, only a remark is left to make.
  const problem = own.problems.find(
    ({ file }) => !servers.some((server) => server.source.file === file),
  );
  if (problem === undefined) return undefined;
  const line = problem.line === undefined ? '' : `:${problem.line}`;
  return new TroupeError(
    'INVALID_CONFIG',
    `nothing could be taken from ${problem.file}${line}: ${problem.message}`,
  );
}

/**
 * The error of a server that should be usable and is not; nothing for one that
 * is. In the runtime's own words, so that `start` and a call say the same.
 */
export function unusableError(status: ServerStatus): TroupeError | undefined {
  // An open circuit stops calls; the server itself is there, and its tools are known.
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
