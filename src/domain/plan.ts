import type { Verdict } from './server-state.ts';
import type { DesiredServer } from './settings.ts';

/**
 * What a pass does to one server. `handover` advances a seamless change of generation: a successor
 * starts, takes over, or is withdrawn. `keep` does nothing.
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

/** What a pass does, or would do, to one server. */
export interface Step {
  /** The server's name in the settings. */
  readonly server: string;
  /** What the pass does to it. */
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

/** A server actor that currently exists, with the last commands it got. */
export interface LiveServer {
  readonly actorId: string;
  readonly generation: string;
  /** Digest of the settings that apply in place. */
  readonly settingsDigest: string;
  readonly verdict: Verdict;
  /** Whether the server is leaving: at once, or after its running calls. */
  readonly leaving: false | 'now' | 'afterCalls';
  /** Of a successor: why it should take over now. Absent until its handover says so. */
  readonly due?: string;
  /** The other generation with its name during a handover; that one has no `beside` of its own. */
  readonly beside?: LiveServer;
}

/** Returns the generation that starts alongside a server and will take over. */
export function successorOf({ beside }: LiveServer): LiveServer | undefined {
  return beside?.leaving === false ? beside : undefined;
}
