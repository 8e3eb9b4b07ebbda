import type { Verdict } from './server-state.ts';
import type { DesiredServer } from './settings.ts';

/**
 * What a pass does to one server. `handover` moves a seamless change of generation along: a
 * successor begins, takes over, or makes way. `keep` is nothing at all.
 */
export type StepKind =
  | 'spawn'
  | 'retire'
  | 'replace'
  | 'handover'
  | 'update'
  | 'admit'
  | 'block'
  | 'keep';

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
  /** Its next generation, which starts beside it and is to take over. Has none of its own. */
  readonly successor?: Successor;
  /** The generation it took over from, which finishes its calls. Leaving, and has none of its own. */
  readonly predecessor?: LiveServer;
}

export interface Successor extends LiveServer {
  /** It will not become ready by itself, or not in time: it takes over as it is. */
  readonly hasGivenUp?: true;
}
