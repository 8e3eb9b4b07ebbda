/** Follows the events of the running troupe until somebody ends it. */

import { TroupeError } from '../../domain/troupe-error.ts';
import type { CliHost } from '../cli-host.ts';
import type { ControlClient } from '../control/client.ts';
import type { ControlEvent } from '../control/protocol.ts';
import { exitCodeOfSignal, listenForStop } from './stop-request.ts';

/**
 * Reports events until a signal comes or nobody reads our output any more.
 * @returns the exit code for that.
 * @throws TroupeError `NOT_RUNNING` when the troupe ended first.
 */
export async function followEvents(
  host: CliHost,
  client: ControlClient,
  types: readonly ControlEvent['type'][] | undefined,
  onEvent: (event: ControlEvent) => void,
): Promise<number> {
  const request = listenForStop(host);
  let unread = false;
  // Our reader sets the pace: the troupe drops and counts events that it does not read in time, rather
  // than keeping them here.
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
  throw new TroupeError('NOT_RUNNING', 'the troupe has ended; start it again with troupe up');
}
