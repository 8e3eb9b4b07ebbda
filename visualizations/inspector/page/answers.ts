/** What the server of the page answers besides pictures and records. */

import type { ActorKey, InspectionRecord, PicturedActor } from '../../../src/domain/inspection.ts';

/** `api/session`: what the page is looking at. */
export interface InspectionSession {
  /** `replay`: a journal; nothing runs, and nothing can be done. */
  readonly mode: 'live' | 'replay';
  readonly version: string;
  /** Folder of the project, or name of the journal's file. */
  readonly title: string;
  readonly startedAt: string;
  /** The records that can still be asked for; `last` moves on while it is live. */
  readonly first: number;
  readonly last: number;
  /** False: the pictures of this version are not those of the charts that were recorded. */
  readonly sameCharts: boolean;
}

/** A button: an event or command that a server's page may offer, and whether it would do something now. */
export interface PossibleAct {
  readonly act: string;
  readonly accepted: boolean;
  /** Where it would lead, in the public words; absent where the chart does not say. */
  readonly to?: string;
  /** Why it is not accepted now. */
  readonly reason?: string;
}

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
