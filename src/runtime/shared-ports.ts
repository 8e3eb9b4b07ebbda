/** The parts of a troupe that most of its services use. */

import type { Listeners } from './listeners.ts';
import type { TroupeParts } from './root-actor.ts';
import type { ServerRecords } from './server-records.ts';
import type { RootRef, StatusBoard } from './status/board.ts';
import type { ProblemList } from './status/problems.ts';

export interface SharedPorts {
  readonly parts: TroupeParts;
  readonly projectRoot: string;
  readonly problems: ProblemList;
  readonly listeners: Listeners;
  readonly records: ServerRecords;
  // Functions, because these are created later.
  readonly root: () => RootRef;
  readonly board: () => StatusBoard;
}
