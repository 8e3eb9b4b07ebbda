/** Runs a troupe for the duration of one command. */

import { dockerGatewayKey } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { createQuestionPrompt } from '../ask/question.ts';
import type { CliSession } from '../cli-session.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import { type RunningTroupe, withoutRunning } from '../control/running-troupe.ts';
import { type Launch, shownFiles, troupeOptionsOf } from '../launch.ts';
import { showStartProgress } from '../show/start-progress.ts';
import { stopOrderly } from './orderly-stop.ts';
import { exitCodeOfSignal, listenForStop } from './stop-request.ts';

// A pass takes milliseconds; after this, the call itself reports the problem.
const passMs = 2_000;

/** Runs a command and resolves with its exit code. */
export type Use = (troupe: Troupe, signal: AbortSignal) => Promise<number>;

export interface InProcess {
  /** A running troupe with different flags. */
  readonly running: RunningTroupe | undefined;
  /** The only server to start; undefined = all. */
  readonly server: string | undefined;
}

/**
 * Creates a troupe for this launch, lets the command use it, and stops it. Prints a note, because its
 * state may differ from what `troupe status` shows.
 *
 * @returns the command's exit code, or 128 plus the number of the signal that ended it
 */
export async function inProcess(
  session: CliSession,
  use: Use,
  { running, server }: InProcess,
): Promise<number> {
  const { host, launch, output } = session;
  if (!output.json)
    output.note(`no matching troupe is running; using ${shownFiles(launch).join(', ')}`);
  const createTroupe = await host.loadRuntime();
  const request = listenForStop(host);
  let crashed = false;
  const crash = new Promise<never>((_, reject) => {
    host.onCrash((error) => {
      crashed = true;
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
  const onQuestion = createQuestionPrompt(session);
  const troupe = createTroupe({
    ...troupeOptionsOf(launch, server === undefined ? undefined : [server]),
    ...(onQuestion === undefined ? {} : { onQuestion }),
  });
  const endProgress = showStartProgress(output, {
    servers: () => troupe.snapshot().servers,
    onChange: (listener) => troupe.on('status.changed', listener),
  });
  try {
    await Promise.race([troupe.ready(), crash]);
    if (server !== undefined) {
      refuseLeftOut(launch, troupe, server);
      await Promise.race([hearDocker(troupe, server), crash, fired(request.signal)]);
    }
    return await Promise.race([use(troupe, request.signal), crash]);
  } catch (error) {
    const received = request.received();
    const document = errorDocumentOf(error);
    if (received === undefined || document.code !== 'CANCELLED') {
      throw error instanceof TroupeError ? withoutRunning(launch, running, error) : error;
    }
    output.error(document);
    return exitCodeOfSignal(received);
  } finally {
    endProgress();
    await stopOrderly(troupe, request, { force: crashed });
    request.dispose();
  }
}

/** Reports that `--allow` excludes the server before looking for it. */
function refuseLeftOut({ allow }: Launch, troupe: Troupe, server: string): void {
  if (allow === undefined || allow.includes(server) || troupe.status(server) !== undefined) return;
  throw new TroupeError(
    'NOT_ALLOWED',
    `server ${printableLine(server, 100)} may not connect because --allow leaves it out; add it to --allow`,
    { server },
  );
}

/** Waits until Docker has answered whether its gateway exists, when the command needs only that server. */
async function hearDocker(troupe: Troupe, server: string): Promise<void> {
  if (troupe.status(server)?.source.key !== dockerGatewayKey) return;
  const steps = await troupe.plan();
  if (steps.every((step) => step.server !== server || step.step === 'keep')) return;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      end();
      resolve();
    };
    const timer = setTimeout(finish, passMs);
    const end = troupe.on('reconciled', finish);
  });
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
