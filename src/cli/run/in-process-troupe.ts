/** Runs a troupe inside one command, and ends it whatever happens. */

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

// A pass takes milliseconds; longer, the call tells what is the matter.
const passMs = 2_000;

/** What a command did: its exit code, after printing what there was to print. */
export type Use = (troupe: Troupe, signal: AbortSignal) => Promise<number>;

export interface InProcess {
  /** The troupe that runs, launched otherwise. */
  readonly running: RunningTroupe | undefined;
  /** The one server that the command is about: no other starts. */
  readonly server: string | undefined;
}

/**
 * Creates a troupe for this launch, lets the command use it, and stops it.
 * Says so, because what it knows may differ from what `troupe status` shows.
 *
 * @returns the command's exit code, or 128 plus the number of the signal that ended it.
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

/** With nothing allowed there is nothing to look for: whether it exists is not the question. */
function refuseLeftOut({ allow }: Launch, troupe: Troupe, server: string): void {
  if (allow === undefined || allow.includes(server) || troupe.status(server) !== undefined) return;
  throw new TroupeError(
    'NOT_ALLOWED',
    `Server ${printableLine(server, 100)} may not connect, because --allow leaves it out. Next: add it to --allow`,
    { server },
  );
}

/** While Docker thinks, its gateway counts as there; whoever wants nothing else can wait for the answer. */
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
