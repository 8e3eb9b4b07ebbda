/** Moves through the records. */

import { problemFrom } from '../model/problems.ts';
import { go } from './moments.ts';
import { change, current, toast } from './store.ts';

/** The first and last record that can be shown. */
export function bounds(): { readonly first: number; readonly last: number } {
  const { history, session } = current();
  return {
    first: Math.min(history.first, (session?.first ?? history.first + 1) - 1),
    last: history.last,
  };
}

export function step(by: number): void {
  const { first, last } = bounds();
  const { route } = current();
  const at = Math.min(last, Math.max(first, (route.at ?? last) + by));
  go({ at });
}

/** Goes to the next or previous moment at which a server's problem began, and chooses that server. */
export function stepToProblem(by: 1 | -1): void {
  const { history, route } = current();
  const found = problemFrom(history.records, route.at ?? history.last + 1, by);
  if (found === undefined) {
    toast('good', by === 1 ? 'No later problem.' : 'No earlier problem.');
    return;
  }
  stopPlaying();
  go({ at: found.n, server: found.server, actor: undefined });
}

export function toggleLive(): void {
  stopPlaying();
  if (current().route.at !== undefined) go({ at: undefined });
  change({ whatIf: false });
}

let playing: number | undefined;

export function isPlaying(): boolean {
  return playing !== undefined;
}

export function stopPlaying(): void {
  if (playing !== undefined) cancelAnimationFrame(playing);
  playing = undefined;
}

// Longer pauses in the records are shortened to this.
const longestPauseMs = 1_500;

/** Plays the records from the chosen moment on, at their original speed. */
export function play(onEnd: () => void): void {
  stopPlaying();
  const { first, last } = bounds();
  const start = current().route.at ?? last;
  let at = start >= last ? first : start;
  let due = 0;
  const frame = (time: number): void => {
    const { history } = current();
    if (due === 0) due = time;
    let moved = at;
    while (moved < history.last && time >= due) {
      const here = history.records[history.placeOf(moved)]?.t;
      const next = history.records[history.placeOf(moved + 1)]?.t;
      moved += 1;
      due += here === undefined || next === undefined ? 0 : Math.min(next - here, longestPauseMs);
    }
    if (moved !== at) {
      at = moved;
      go({ at });
    }
    if (at >= history.last) {
      stopPlaying();
      onEnd();
    } else playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}
