import type { Verdict } from './server-state.ts';
import type { DesiredServer } from './settings.ts';

/** What a pass does to one server. `keep` is nothing at all. */
export type StepKind = 'spawn' | 'retire' | 'replace' | 'update' | 'admit' | 'block' | 'keep';

export interface Step {
  readonly server: string;
  readonly step: StepKind;
  /** One short phrase for a person, for example "args changed". */
  readonly why: string;
}

/** One server that should exist, and whether it may connect. */
export interface AdmittedServer {
  readonly desired: DesiredServer;
  readonly verdict: Verdict;
}

/** One server actor that exists now, as it was last told to be. */
export interface LiveServer {
  readonly actorId: string;
  readonly generation: string;
  /** Digest of what applies in place. */
  readonly settingsDigest: string;
  readonly verdict: Verdict;
  /** Told to retire, not yet gone. */
  readonly leaving: boolean;
}
