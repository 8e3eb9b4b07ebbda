/**
 * Reads an answer that comes as an event stream. One that ends before the answer is
 * taken up again where it was, when the server gave its events ids for that: after
 * ever longer waits when it was cut, and as soon as the server likes when it ended the
 * stream on purpose, so that a long call is not under way for longer than it takes.
 */

import { Bookmark, type StreamListeners } from './bookmark.ts';
import { Reopening } from './reopening.ts';

// In a row and in vain; a stream that comes has another two.
const maxRefusedResumes = 2;

/** Its signal is aborted when nobody wants the answer any more. */
export interface AnswerSetup extends StreamListeners {
  readonly isWaitedFor: () => boolean;
  /** Asks for what came after this event. */
  readonly resume: (lastEventId: string) => Promise<Response>;
  /** The stream was broken off, or cannot be had again: perhaps the server is gone. */
  readonly onDoubt: () => void;
}

/** Resolves when nothing more will come; never rejects. */
export async function readAnswer(
  first: ReadableStream<Uint8Array>,
  setup: AnswerSetup,
): Promise<void> {
  const { clock, signal, isWaitedFor, resume, onDoubt } = setup;
  const reopening = new Reopening(clock);
  const bookmark = new Bookmark(setup);
  let refusals = 0;
  let end = await bookmark.read(first);
  while (!signal.aborted) {
    if (end === 'cut' || end === 'unreachable') onDoubt();
    const isRefused = end === 'refused' || end === 'unreachable';
    refusals = isRefused ? refusals + 1 : 0;
    const { lastEventId, waitMs } = bookmark;
    if (end === 'absent' || refusals === maxRefusedResumes) return;
    if (lastEventId === undefined || !isWaitedFor()) return;
    if (end === 'paused') await reopening.afterPause(signal, waitMs);
    else await reopening.afterLoss(signal, waitMs);
    if (!signal.aborted) end = await bookmark.follow(resume(lastEventId));
  }
}
