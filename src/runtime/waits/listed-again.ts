import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { refusalAtRest } from '../calls/gate.ts';
import type { Services } from '../services.ts';
import type { WaitOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';

// Half a minute for the list, which is its default deadline, and a moment for a list that just ended.
const defaultTimeoutMs = 35_000;

/**
 * Sends the request to list again, and waits for the server's tools.
 *
 * @throws TroupeError with the reason why they were not listed
 */
export async function listedAgain(
  { board, catalogs, parts: { clock } }: Services,
  server: string,
  request: () => void,
  { signal, timeoutMs = defaultTimeoutMs }: WaitOptions,
): Promise<ServerStatus> {
  const deadlineAt = clock.now() + timeoutMs;
  const before = board.view(server);
  const tools = before && catalogs.listedTools(before.status);
  request();
  for (;;) {
    const view = board.view(server);
    if (view === undefined || !isUsable(view.status.state)) throw notUsable(server, view?.status);
    const { status } = view;
    if (catalogs.listedTools(status) !== tools) return status;
    const why = newGapIn(status, before?.status);
    if (why !== undefined) throw notListed(server, why);
    if (signal?.aborted === true)
      throw new TroupeError('CANCELLED', `The wait for ${server} was cancelled.`, { server });
    if (clock.now() >= deadlineAt) throw notListed(server, `nothing came within ${timeoutMs} ms`);
    await waitOnce({ clock, deadlineAt, signal }, (wake) => {
      const ends = [board.watch(server, wake), catalogs.onListed(wake)];
      return () => ends.forEach((end) => end());
    });
  }
}

/** Returns why a list failed since the earlier status; undefined if none did. */
function newGapIn(
  { reason, lastError }: ServerStatus,
  before: ServerStatus | undefined,
): string | undefined {
  const isNew = lastError?.message !== before?.lastError?.message;
  return reason === 'partialCatalog' && isNew ? lastError?.message : undefined;
}

function notUsable(server: string, status: ServerStatus | undefined): TroupeError {
  const atRest = status && refusalAtRest(status);
  if (atRest !== undefined) return atRest;
  return new TroupeError(
    'UNAVAILABLE',
    `Server ${server} is ${status?.state ?? 'not there'}, and lists its tools when it becomes ready. Start it, or wait for it: troupe start ${server}`,
    { server, retryable: true },
  );
}

function notListed(server: string, why: string): TroupeError {
  const cause = `: ${why.replace(/\.$/, '')}`;
  return new TroupeError(
    'TIMEOUT_WAITING',
    `Server ${server} did not list its tools again${cause}. Its earlier list stays; see troupe status ${server}`,
    { server, retryable: true },
  );
}
