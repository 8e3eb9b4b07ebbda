/** Follows the events of the running troupe. */

import { exitCodeFor } from '../../domain/caller-code.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { CliHost } from '../cli-host.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import type { ControlEvent } from '../control/protocol.ts';
import { exitCodeOfSignal, listenForStop } from './stop.ts';

/**
 * Reports events until a signal arrives or the reader of our output is gone.
 * @returns the exit code for that
 * @throws TroupeError `NOT_RUNNING` when the troupe ended first
 */
export async function followEvents(
  host: CliHost,
  client: ControlClient,
  types: readonly ControlEvent['type'][] | undefined,
  onEvent: (event: ControlEvent) => void,
): Promise<number> {
  const request = listenForStop(host);
  let unread = false;
  // Back-pressure from our reader: the troupe drops and counts events instead of us keeping them.
  let isWaiting = false;
  const waitForReader = (): void => {
    if (isWaiting || !host.stdout.writableNeedDrain) return;
    isWaiting = true;
    const resume = client.pause();
    host.stdout.once('drain', () => {
      isWaiting = false;
      resume();
    });
  };
  request.signal.addEventListener('abort', () => client.close());
  host.onOutputClosed(() => {
    unread = true;
    client.close();
  });
  try {
    await client.follow(types, (event) => {
      onEvent(event);
      waitForReader();
    });
  } catch (error) {
    if (request.received() === undefined && !unread) throw error;
  } finally {
    request.dispose();
  }
  const received = request.received();
  if (received !== undefined) return exitCodeOfSignal(received);
  if (unread) return 0;
  throw new TroupeError('NOT_RUNNING', 'the troupe has ended; run troupe up to start it again');
}

/** Runs a command that prints a JSON document per line; with `--json`, an error is one line as well. */
export async function printingLines(
  { launch, output }: CliSession,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!launch.json) throw error;
    const document = errorDocumentOf(error);
    output.documentLine({ error: document });
    return exitCodeFor(document);
  }
}
