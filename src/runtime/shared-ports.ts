/** The parts of a troupe that most of its services use. */

import type { DesiredBook } from './desired/book.ts';
import type { Listeners } from './listeners.ts';
import type { TroupeParts } from './root-actor.ts';
import type { RootRef, StatusBoard } from './status/board.ts';
import type { ProblemList } from './status/problems.ts';

/** Adds lines of the troupe's own to servers' logs. */
export interface Remarks {
  readonly remark: (server: string, line: string) => void;
}

export interface SharedPorts {
  readonly parts: TroupeParts;
  readonly projectRoot: string;
  readonly book: DesiredBook;
  readonly problems: ProblemList;
  readonly listeners: Listeners;
  readonly records: Remarks;
  // Functions, because these are created later.
  readonly root: () => RootRef;
  readonly board: () => StatusBoard;
}
