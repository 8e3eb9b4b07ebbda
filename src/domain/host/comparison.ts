/** The first difference between two journals, and both sides of it. */

import type { PicturedActor } from './inspection.ts';

/** What an actor did, at one record of a journal. */
export interface ComparedStep {
  readonly n: number;
  /** Milliseconds since the start of the recording. */
  readonly t: number;
  readonly text: string;
}

export interface JournalDifference {
  /** Undefined for the root. */
  readonly server?: string;
  /** Names of the server and of the actor in it: `db/session`. */
  readonly actor: string;
  /** The last step that both have; absent when the first one differs. */
  readonly before?: ComparedStep;
  /** Absent when this journal has nothing more of the actor. */
  readonly a?: ComparedStep;
  readonly b?: ComparedStep;
  /** Set when the search for a counterpart ended after so many records of other actors. */
  readonly within?: number;
}

/** Response of `GET api/comparison`. */
export interface ComparisonView {
  readonly difference: JournalDifference;
  readonly a: ComparedSide;
  readonly b: ComparedSide;
}

/** A journal at the difference. */
export interface ComparedSide {
  /** Name of the file. */
  readonly title: string;
  readonly n: number;
  /** The actor's steps before and after. */
  readonly steps: readonly ComparedStep[];
  /** The server, or the root, after record `n`; absent when it is gone. */
  readonly actor?: PicturedActor;
}
