/** What the server of the page answers about forks. */

import type { ActorKey, InspectionRecord, PicturedActor } from '../../../src/domain/inspection.ts';

/** `api/fork`: a moment that goes on without I/O. */
export interface ForkView {
  readonly fork: string;
  /** The record it began at. */
  readonly from: number;
  readonly actor: ActorKey;
  /** Virtual time, in the journal's milliseconds. */
  readonly t: number;
  /** What happened in the fork, `n` counted from 1. */
  readonly records: readonly InspectionRecord[];
  /** The actor as it stands in the fork. */
  readonly state: PicturedActor;
  /** Events that its present state accepts, each with an example of its payload. */
  readonly events: readonly {
    readonly type: string;
    readonly example: Readonly<Record<string, unknown>>;
  }[];
}
