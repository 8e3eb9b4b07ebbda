/**
 * Reads an answer that comes as an event stream. One that is cut before the answer is
 * taken up again where it was, when the server gave its events ids for that.
 */

import { eventIdOf, isBusy, isEventStream, isMessageEvent, readEvents } from './http-events.ts';
import type { Reopening } from './http-reopening.ts';

// In a row and in vain; a stream that comes has another two.
const maxRefusedResumes = 2;

export interface AnswerSetup {
  /** Aborted when nobody wants the answer any more. */
  readonly signal: AbortSignal;
  readonly isWaitedFor: () => boolean;
  readonly onMessage: (text: string) => void;
  /** Asks for what came after this event. */
  readonly resume: (lastEventId: string) => Promise<Response>;
  readonly reopening: Reopening;
  /** The stream was broken off: perhaps the server is gone. */
  readonly onCut: () => void;
}

/** Resolves when nothing more will come; never rejects. */
export async function readAnswer(
  first: ReadableStream<Uint8Array>,
  { signal, isWaitedFor, onMessage, resume, reopening, onCut }: AnswerSetup,
): Promise<void> {
  let lastEventId: string | undefined;
  let retryMs = 0;
  let refusals = 0;
  const read = (body: ReadableStream<Uint8Array>): Promise<void> =>
    readEvents(body, {
      onEvent(event) {
        if (signal.aborted) return;
        lastEventId = eventIdOf(event, lastEventId);
        if (isMessageEvent(event)) onMessage(event.data);
      },
      onRetry(ms) {
        retryMs = ms;
      },
    }).catch(() => {
      if (!signal.aborted) onCut();
    });

  await read(first);
  while (!signal.aborted && isWaitedFor() && lastEventId !== undefined) {
    await new Promise<void>((resolve) => reopening.schedule(resolve, retryMs, 0));
    if (signal.aborted) return;
    const response = await resume(lastEventId).catch(() => undefined);
    if (response?.ok === true && response.body !== null && isEventStream(response)) {
      refusals = 0;
      await read(response.body);
      continue;
    }
    await response?.body?.cancel();
    refusals += 1;
    const mayComeLater = response === undefined || isBusy(response);
    if (!mayComeLater || refusals === maxRefusedResumes) return;
  }
}
