/** Runs a troupe inside one command, and ends it whatever happens. */

import type { Troupe } from '../runtime/troupe.ts';
import type { CliSession } from './cli-session.ts';
import { errorDocumentOf } from './error-document.ts';
import { troupeOptionsOf } from './launch.ts';
import { stopOrderly } from './orderly-stop.ts';
import { showStartProgress } from './start-progress.ts';
import { exitCodeOfSignal, listenForStop } from './stop-request.ts';

/** What a command did: its exit code, after printing what there was to print. */
export type Use = (troupe: Troupe, signal: AbortSignal) => Promise<number>;

/**
 * Creates a troupe for this launch, lets the command use it, and stops it.
 * `bound` keeps all servers but those named from starting.
 *
 * @returns the command's exit code, or 128 plus the number of the signal that ended it.
 */
export async function inProcess(
  { host, launch, output }: CliSession,
  use: Use,
  bound?: readonly string[],
): Promise<number> {
  const createTroupe = await host.loadRuntime();
  const request = listenForStop(host);
  let crashed = false;
  const crash = new Promise<never>((_, reject) => {
    host.onCrash((error) => {
      crashed = true;
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
  const troupe = createTroupe(troupeOptionsOf(launch, bound));
  const endProgress = showStartProgress(output, {
    servers: () => troupe.snapshot().servers,
    onChange: (listener) => troupe.on('status.changed', listener),
  });
  try {
    await Promise.race([troupe.ready(), crash]);
    return await Promise.race([use(troupe, request.signal), crash]);
  } catch (error) {
    const received = request.received();
    const document = errorDocumentOf(error);
    if (received === undefined || document.code !== 'CANCELLED') throw error;
    output.error(document);
    return exitCodeOfSignal(received);
  } finally {
    endProgress();
    await stopOrderly(troupe, request, crashed);
    request.dispose();
  }
}
