import type { Verdict } from './server-state.ts';
import type { DesiredServer } from './settings.ts';

/**
 * What a pass does to one server. `handover` advances a seamless change of generation: a successor
 * starts, takes over, or makes way. `keep` does nothing.
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
  /** One short phrase for the user, for example "args changed". */
  readonly why: string;
  /** Why the server may not connect, and what to do about it. Absent when it may, or leaves the settings. */
  readonly reason?: string;
}

/** One server that should exist, and whether it may connect. */
export interface AdmittedServer {
  readonly desired: DesiredServer;
  readonly verdict: Verdict;
}

/** One server actor that exists now, with the last commands it got. */
export interface LiveServer {
  readonly actorId: string;
  readonly generation: string;
  /** Digest of what applies in place. */
  readonly settingsDigest: string;
  readonly verdict: Verdict;
  /** Whether it is leaving: at once, or after its running calls. */
  readonly leaving: false | 'now' | 'afterCalls';
  /** The other generation of its name during a handover, which has none beside it. */
  readonly beside?: LiveServer;
}

/** The generation that starts beside a server and is to take over. */
export function successorOf({ beside }: LiveServer): LiveServer | undefined {
  return beside?.leaving === false ? beside : undefined;
}
