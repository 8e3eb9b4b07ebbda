/** What the root knows: what it was born with, and what it was told since. */

import type { ApprovalDecision } from '../../src/domain/host/approval.ts';
import type { LiveServer } from '../../src/domain/plan.ts';
import type { DesiredServer, Settings, SlotCounts } from '../../src/domain/settings.ts';
import { placeOf } from '../../src/policies/admission/server-place.ts';
import { actorsOf } from './handover.ts';

export interface TroupeInput {
  readonly seed: number;
  /** When the host asked for the troupe, monotonic milliseconds. */
  readonly startedAt: number;
  readonly trusted: boolean;
  /** Upper bound that nothing widens; null = none was given. */
  readonly launchBound: readonly string[] | null;
  /** Until the settings say otherwise. */
  readonly slots: SlotCounts;
  /** Processor cores of this machine. */
  readonly coreCount: number;
  readonly startupGateMs: number;
}

/** A person stopped this generation of a server; it stays stopped until told otherwise. */
interface StopWish {
  readonly server: string;
  readonly generation: string;
}

export interface TroupeContext extends TroupeInput {
  readonly hostAllowed: readonly string[] | null;
  readonly decisions: readonly ApprovalDecision[];
  readonly stopWishes: readonly StopWish[];
  /** Servers that a person started while their actor was just leaving. */
  readonly startWishes: readonly string[];
  readonly settings: Settings | null;
  /** By server name. */
  readonly live: ReadonlyMap<string, LiveServer>;
  /** Ids of the server actors that are ready. Apart from `live`, of which a change is dear. */
  readonly serving: readonly string[];
  /** Names that left the settings, newest last. */
  readonly removed: readonly string[];
  /** Servers and generations whose tools are known, newest last. */
  readonly knownCatalogs: readonly string[];
  /** Server actors spawned so far; gives each its own jitter. */
  readonly spawnCount: number;
}

/** The server of an actor: its id is the name with a dot and a digit behind it. */
export function nameOf(actorId: string): string {
  return actorId.slice(0, actorId.lastIndexOf('.'));
}

export function ownerOf(context: TroupeContext, actorId: string): [string, LiveServer] | undefined {
  const name = nameOf(actorId);
  const server = context.live.get(name);
  const isOwner = server !== undefined && actorsOf(server).some((it) => it.actorId === actorId);
  return isOwner ? [name, server] : undefined;
}

export function desiredOf(context: TroupeContext, server: string): DesiredServer | undefined {
  return context.settings?.servers[placeOf(context.settings, server)];
}

// Servers may share a generation and still list different tools.
export function catalogKey(server: string, generation: string): string {
  return `${generation}:${server}`;
}
