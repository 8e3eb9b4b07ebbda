/** The root's input, context and events, and an event's outcome. */

import type { ActorRefFrom, AnyActorRef } from 'xstate';
import type { ApprovalDecision } from '../../src/domain/host/approval.ts';
import type { LiveServer, Step } from '../../src/domain/plan.ts';
import type { DesiredServer, Settings, SlotCounts } from '../../src/domain/settings.ts';
import type {
  SettingsCommand,
  SettingsCommands,
  SettingsFact,
} from '../../src/domain/settings-facts.ts';
import { serverNamed } from '../../src/policies/admission/server-place.ts';
import type { ApprovalDecisions } from '../../src/policies/approvals/records.ts';
import type { GroupedMap } from '../../src/policies/grouped-map.ts';
import type { ServerCommand, ServerInput, serverMachine } from '../server/server.ts';
import type { SlotRequest, SlotsEvent, SlotsGranted } from '../slots.ts';
import type { HandoverDue, HandoverEvent, HandoverInput, ServerNews } from './handover.ts';
import type { LastPass } from './last-pass.ts';

export interface TroupeInput {
  readonly seed: number;
  /** When the host created the troupe, in monotonic milliseconds. */
  readonly startedAt: number;
  readonly trusted: boolean;
  /** Upper bound that no other list can widen; null if there is none. */
  readonly launchBound: readonly string[] | null;
  /** Numbers that apply until the settings are read. */
  readonly slots: SlotCounts;
  /** Number of processor cores on this machine. */
  readonly coreCount: number;
  readonly startupGateMs: number;
}

export type ServerRef = ActorRefFrom<typeof serverMachine>;

export interface TroupeContext extends TroupeInput {
  readonly hostAllowed: readonly string[] | null;
  readonly decisions: ApprovalDecisions;
  /** Generations that the user stopped; each stays stopped until the user starts it. */
  readonly stopWishes: readonly { readonly server: string; readonly generation: string }[];
  /** Servers that the user started while their actor was leaving. */
  readonly startWishes: readonly string[];
  readonly settings: Settings | null;
  /** Live servers by name. */
  readonly live: GroupedMap<LiveServer>;
  /**
   * The server actors by id: all children except the few in XState's own `children`, which it
   * copies whenever one of them starts or ends.
   */
  readonly actors: GroupedMap<ServerRef>;
  /** Ids of the server actors that are ready. */
  readonly serving: GroupedMap<true>;
  /** Ids of the server actors that cannot continue until the user acts. */
  readonly halted: GroupedMap<true>;
  /**
   * Servers whose actor has ended since the last pass. Of an enforced budget, they take free places
   * first.
   */
  readonly inTurn: readonly string[];
  /** Names removed from the settings, newest last. */
  readonly removed: readonly string[];
  /** Servers and generations whose tools are known. */
  readonly knownCatalogs: GroupedMap<true>;
  /** Number of server actors spawned so far; gives each its own jitter. */
  readonly spawnCount: number;
  /** Null until there is one, and with an enforced budget. */
  readonly lastPass: LastPass | null;
}

export type TroupeEvent =
  | {
      readonly type:
        | 'server.start'
        | 'server.stop'
        | 'server.restart'
        | 'server.reconnect'
        | 'server.refresh';
      readonly server: string;
    }
  | {
      readonly type: 'approval.grant' | 'approval.reject' | 'approval.revoke';
      readonly server: string;
      readonly fingerprint?: string;
    }
  /** All decisions on record, including those of other processes; replaces what was known. */
  | { readonly type: 'approvals.changed'; readonly decisions: readonly ApprovalDecision[] }
  | { readonly type: 'trust.changed'; readonly trusted: boolean }
  | { readonly type: 'allow.changed'; readonly allowed: readonly string[] | null }
  | { readonly type: 'auth.completed'; readonly server: string }
  /** The user answered an input that these servers use. */
  | { readonly type: 'inputs.answered'; readonly servers: readonly string[] }
  | { readonly type: 'system.woke' | 'troupe.stop' | 'troupe.kill' | 'troupe.lookAgain' }
  | SettingsCommand
  | SettingsFact
  | ({ readonly type: 'slot.requested' } & Omit<SlotRequest, 'order'>)
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | {
      readonly type: 'catalog.listed' | 'catalog.forgotten';
      readonly server: string;
      readonly generation: string;
    }
  | ServerNews
  | HandoverDue
  | SlotsGranted
  // XState's own events; never accepted from a host.
  | { readonly type: `xstate.done.actor.${string}`; readonly actorId: string }
  | {
      readonly type: `xstate.error.actor.${string}`;
      readonly actorId: string;
      readonly error: unknown;
    };

export type TroupeEmitted =
  /** `at` is when the settings that caused the pass were read. */
  | {
      readonly type: 'reconciled';
      readonly plan: readonly Step[];
      /** The number of steps that change something. */
      readonly changeCount: number;
      readonly at?: number;
    }
  | { readonly type: 'actor.broke'; readonly actorId: string; readonly message: string }
  /** Commands for the settings source, which listens to the root. */
  | SettingsCommand;

/** Returns the root as the source of settings commands. The type of its ref lacks emitted events. */
export function commandsFrom(root: AnyActorRef): SettingsCommands {
  return root as unknown as SettingsCommands;
}

/** An event for a child. */
export interface Order {
  readonly to: string;
  readonly event: ServerCommand | HandoverEvent | SlotsEvent;
}

/** What the root does in response to an event; a missing field means nothing. */
export interface Outcome {
  /** Changes to the context. */
  readonly facts?: Partial<TroupeContext>;
  /** Ids of the children that it stops. A server that has ended needs no stop. */
  readonly ends?: readonly string[];
  readonly spawns?: readonly ServerInput[];
  readonly handovers?: readonly HandoverInput[];
  readonly orders?: readonly Order[];
  readonly news?: TroupeEmitted;
}

/** Returns the name of an actor's server: the actor's id is that name with a suffix after a dot. */
export function nameOf(actorId: string): string {
  return actorId.slice(0, actorId.lastIndexOf('.'));
}

/** Returns the server actors with one name: one, or two during a handover. */
export function actorsOf(server: LiveServer): readonly LiveServer[] {
  return server.beside === undefined ? [server] : [server, server.beside];
}

/** Returns the live server that an actor belongs to; undefined if it no longer belongs to one. */
export function ownerOf({ live }: TroupeContext, actorId: string): LiveServer | undefined {
  const server = live.get(nameOf(actorId));
  const isOwner = server !== undefined && actorsOf(server).some((it) => it.actorId === actorId);
  return isOwner ? server : undefined;
}

export function desiredOf(context: TroupeContext, server: string): DesiredServer | undefined {
  return serverNamed(context.settings, server);
}

// Servers may share a generation and still list different tools.
export function catalogKey(server: string, generation: string): string {
  return `${generation}:${server}`;
}

export function newest<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(Math.max(0, list.length - count));
}

/** Returns all children of the root, given its snapshot. */
export function childrenOf({
  children = {},
  context,
}: {
  readonly children?: Readonly<Record<string, AnyActorRef | undefined>>;
  readonly context?: object;
}): readonly AnyActorRef[] {
  const { actors } = (context ?? {}) as Partial<TroupeContext>;
  return [
    ...Object.values(children).filter((child) => child !== undefined),
    ...(actors?.values() ?? []),
  ];
}
