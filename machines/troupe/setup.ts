/**
 * The words of the root chart, and how it keeps its books: admission, the wishes
 * of a person, permits and the set of live server actors. What a pass does is in
 * `pass.ts`; everything else belongs to the servers themselves.
 */

import {
  type AnyActorRef,
  assertEvent,
  assign,
  enqueueActions,
  fromEventObservable,
  setup,
} from 'xstate';
import type { ApprovalDecision } from '../../src/domain/host/approval.ts';
import type { Step } from '../../src/domain/plan.ts';
import type {
  SettingsCommand,
  SettingsCommands,
  SettingsFact,
  SettingsInput,
} from '../../src/domain/settings-facts.ts';
import type { Turn } from '../../src/policies/admission/server-budget.ts';
import { placeOf } from '../../src/policies/admission/server-place.ts';
import { decisionBy, withDecision } from '../../src/policies/approvals/records.ts';
import { approvalFingerprint } from '../../src/policies/fingerprint.ts';
import type { SlotPool } from '../permit.ts';
import { serverMachine } from '../server/server.ts';
import { type SlotGranted, type SlotsInput, slotsMachine } from '../slots.ts';
import {
  catalogKey,
  desiredOf,
  nameOf,
  ownerOf,
  type TroupeContext,
  type TroupeInput,
} from './context.ts';
import {
  actorsOf,
  allLeaving,
  latenessOf,
  meantBy,
  successorIdOf,
  takenOver,
  withGivenUp,
  without,
} from './handover.ts';
import { commandsOf, isBudgetEnforced, liveAfter, passOf, restIn } from './pass.ts';

/** What a person may tell one server through the root. */
const personCommands = [
  'server.start',
  'server.stop',
  'server.restart',
  'server.reconnect',
] as const;
type PersonCommand = (typeof personCommands)[number];

export type TroupeEvent =
  | { readonly type: PersonCommand; readonly server: string }
  | {
      readonly type: 'approval.grant' | 'approval.reject' | 'approval.revoke';
      readonly server: string;
      readonly fingerprint?: string;
    }
  /** What is on record now, also from other processes, in place of what was. */
  | { readonly type: 'approvals.changed'; readonly decisions: readonly ApprovalDecision[] }
  | { readonly type: 'trust.changed'; readonly trusted: boolean }
  | { readonly type: 'allow.changed'; readonly allowed: readonly string[] | null }
  | { readonly type: 'auth.completed'; readonly server: string }
  | { readonly type: 'system.woke' | 'troupe.stop' | 'troupe.kill' | 'troupe.lookAgain' }
  | SettingsCommand
  | SettingsFact
  | {
      readonly type: 'slot.requested';
      readonly actorId: string;
      readonly pool: SlotPool;
      readonly demanded: boolean;
      readonly retry: boolean;
    }
  | { readonly type: 'slot.returned'; readonly actorId: string }
  | {
      readonly type: 'catalog.listed' | 'catalog.forgotten';
      readonly server: string;
      readonly generation: string;
    }
  /** A server actor became ready, or is not any more; a successor will not be by itself, or not in time. */
  | {
      readonly type: 'server.readied' | 'server.faltered' | 'successor.rested' | 'successor.late';
      readonly actorId: string;
    }
  | SlotGranted
  // XState's own; never accepted from a host.
  | { readonly type: `xstate.done.actor.${string}`; readonly actorId: string }
  | {
      readonly type: `xstate.error.actor.${string}`;
      readonly actorId: string;
      readonly error: unknown;
    };

/** Maps news of a server actor to the parameter of those who ask which it is about. */
export function ofActor({ event }: { readonly event: ActorNews }): ActorNews {
  return { actorId: event.actorId };
}

export interface ActorNews {
  readonly actorId: string;
}

/** Which child ended, and what of, when it broke. */
export interface ChildEnd {
  readonly actorId: string;
  readonly error?: unknown;
}

/** Maps the end of a child to the parameters of the actions that clean up after it. */
export function ofChild({ event }: { readonly event: ChildEnd }): ChildEnd {
  return { actorId: event.actorId, error: event.error };
}

export type TroupeEmitted =
  /** `at` is when the settings that caused the pass were read. */
  | { readonly type: 'reconciled'; readonly plan: readonly Step[]; readonly at?: number }
  | { readonly type: 'actor.broke'; readonly actorId: string; readonly message: string }
  /** For the settings source, which listens to the root. */
  | SettingsCommand;

/** Where the settings source hears commands: the root emits them, which its own reference does not type. */
export function commandsFrom(root: AnyActorRef): SettingsCommands {
  return root as unknown as SettingsCommands;
}

// Enough to explain a tool that a long conversation still remembers.
const rememberedNames = 1_000;
// As many as there may be servers: whoever stores them forgets the others, and says so.
const rememberedCatalogs = 10_000;
const rememberedWishes = 1_000;

// Two seconds: nobody notices, and a machine that just woke has enough to do.
const leastWakeSpreadMs = 2_000;
// Fifty a second, however many there are.
const wakeSpreadPerServerMs = 20;

function newest<T>(list: readonly T[], count: number): readonly T[] {
  return list.slice(Math.max(0, list.length - count));
}

/** Who wants a place now because of what happened. */
function turnOf(event: TroupeEvent): Turn {
  switch (event.type) {
    case 'server.start':
    case 'server.restart':
    case 'server.reconnect':
    case 'auth.completed':
      return { claimant: event.server };
    default:
      return 'actorId' in event && isEnd(event.type) ? { heir: nameOf(event.actorId) } : {};
  }
}

function isEnd(type: string): boolean {
  return type.startsWith('xstate.done.actor.');
}

function notProvided(): never {
  throw new Error('actor "settingsSource" was not provided to the troupe chart');
}

function slotsInputOf({ settings, slots, coreCount, seed }: TroupeContext): SlotsInput {
  return { counts: settings?.slots ?? slots, coreCount, seed };
}

export const troupeSetup = setup({
  types: {
    input: {} as TroupeInput,
    context: {} as TroupeContext,
    events: {} as TroupeEvent,
    emitted: {} as TroupeEmitted,
  },
  actors: {
    server: serverMachine,
    slots: slotsMachine,
    settingsSource: fromEventObservable<SettingsFact, SettingsInput>(notProvided),
  },
  actions: {
    /** Takes over what was read, and remembers whom it names no more. */
    noteSettings: assign(({ context, event }) => {
      assertEvent(event, ['settings.loaded', 'settings.relocated']);
      const names = new Set(event.settings.servers.map(({ name }) => name));
      const gone = (context.settings?.servers ?? [])
        .map(({ name }) => name)
        .filter((name) => !names.has(name));
      const stillRemoved = context.removed.filter((name) => !names.has(name));
      return {
        settings: event.settings,
        startupGateMs: event.settings.startupGateMs,
        removed: newest([...stillRemoved, ...gone], rememberedNames),
      };
    }),
    /** Whether the folder is trusted. */
    noteTrust: assign(({ event }) => {
      assertEvent(event, 'trust.changed');
      return { trusted: event.trusted };
    }),
    /** The host's own list, within what was allowed at launch. */
    noteAllowed: assign(({ event }) => {
      assertEvent(event, 'allow.changed');
      return { hostAllowed: event.allowed };
    }),
    /** What a person decided about a server as it is now. */
    noteDecision: assign(({ context, event }) => {
      assertEvent(event, ['approval.grant', 'approval.reject', 'approval.revoke']);
      const desired = desiredOf(context, event.server);
      if (desired === undefined) return {};
      const { name } = desired;
      const fingerprint = approvalFingerprint(desired);
      // A decision about what was shown before an edit decides nothing.
      if (event.fingerprint !== undefined && event.fingerprint !== fingerprint) return {};
      const decision = decisionBy[event.type];
      // The approval store bounds them; dropping one here would contradict the records.
      return {
        decisions: withDecision(context.decisions, { server: name, fingerprint, decision }),
      };
    }),
    /** What persons decided, as it is on disk. */
    noteDecisions: assign(({ event }) => {
      assertEvent(event, 'approvals.changed');
      return { decisions: event.decisions };
    }),
    /** A list of this generation is known from now on. */
    noteCatalog: assign(({ context, event }) => {
      assertEvent(event, 'catalog.listed');
      const key = catalogKey(event.server, event.generation);
      if (context.knownCatalogs.at(-1) === key) return {};
      const others = context.knownCatalogs.filter((known) => known !== key);
      return { knownCatalogs: newest([...others, key], rememberedCatalogs) };
    }),
    /** A list that is kept no longer: its server is told. */
    forgetCatalog: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'catalog.forgotten');
      const { server, generation } = event;
      const key = catalogKey(server, generation);
      enqueue.assign({ knownCatalogs: context.knownCatalogs.filter((known) => known !== key) });
      const live = context.live.get(server);
      const actors = live === undefined ? [] : actorsOf(live);
      const owner = actors.find((it) => it.generation === generation && !it.leaving);
      if (owner !== undefined) enqueue.sendTo(owner.actorId, { type: 'catalog.forgotten' });
    }),
    /** One more serves. */
    noteReady: assign(({ context: { serving } }, { actorId }: ActorNews) => ({
      serving: [...serving.filter((id) => id !== actorId), actorId],
    })),
    /** One fewer serves. */
    noteFalter: assign(({ context: { serving } }, { actorId }: ActorNews) => ({
      serving: serving.filter((id) => id !== actorId),
    })),
    /** One gave up: its successor, or nobody, goes on. */
    noteGivenUp: assign(({ context }, { actorId }: ActorNews) => ({
      live: new Map(
        [...context.live].map(([name, server]) => [name, withGivenUp(server, actorId)]),
      ),
    })),

    /** One pass: look at everything, plan, and take the steps. */
    reconcile: enqueueActions(({ context, event, enqueue, self }) => {
      const turn = turnOf(event);
      // A command changes nothing that is desired. But who was at rest gave its place back,
      // and is refused before it starts without one.
      if (turn.claimant !== undefined && !isBudgetEnforced(context)) return;
      const pass = passOf(context, restIn(self), turn);
      enqueue.assign(({ context: before, spawn }) =>
        liveAfter(before, pass, (input) => {
          spawn('server', { id: input.actorId, input });
        }),
      );
      for (const { actorId, command } of commandsOf(pass, context.live))
        enqueue.sendTo(actorId, command);
      for (const { server, step } of pass.moving) {
        const before = context.live.get(server);
        const successor = before?.successor;
        if (successor !== undefined && step !== 'update')
          enqueue.cancel(latenessOf(successor.actorId));
        else if (before !== undefined && step === 'handover') {
          const actorId = successorIdOf(before);
          enqueue.raise(
            { type: 'successor.late', actorId },
            { id: latenessOf(actorId), delay: 'handoverDeadline' },
          );
        }
      }
      const at = event.type === 'settings.loaded' ? { at: event.at } : {};
      enqueue.emit({ type: 'reconciled', plan: pass.plan, ...at });
    }),

    /** A stop is for all that live under the name; what is left of them is the one that is meant. */
    endHandover: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'server.stop');
      const { server } = event;
      const present = context.live.get(server);
      if (present === undefined || present.leaving) return;
      const meant = meantBy(present);
      for (const actor of actorsOf(present)) {
        if (actor !== meant) enqueue.sendTo(actor.actorId, { type: 'server.retire' });
      }
      if (meant === present) return;
      enqueue.cancel(latenessOf(meant.actorId));
      enqueue.assign({ live: new Map(context.live).set(server, takenOver(present, meant)) });
    }),

    /** Hands a person's command to the actor that lives now, and remembers a stop. */
    routeCommand: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, [...personCommands, 'auth.completed']);
      const { server } = event;
      const type = event.type === 'auth.completed' ? 'server.reconnect' : event.type;
      const others = context.stopWishes.filter((wish) => wish.server !== server);
      const desired = desiredOf(context, server);
      const startWishes = context.startWishes.filter((name) => name !== server);
      if (type === 'server.stop' && desired !== undefined) {
        const wish = { server, generation: desired.generation };
        enqueue.assign({ stopWishes: newest([...others, wish], rememberedWishes), startWishes });
      } else if (type === 'server.start' || type === 'server.restart') {
        enqueue.assign({ stopWishes: others });
      }
      const present = context.live.get(server);
      const target = present === undefined ? undefined : meantBy(present);
      if (target !== undefined && !target.leaving) enqueue.sendTo(target.actorId, { type });
      else if (type !== 'server.stop' && desired !== undefined) {
        // Its successor is told at birth.
        enqueue.assign({ startWishes: newest([...startWishes, server], rememberedWishes) });
      }
    }),

    /** Each looks after itself, and not all at once. */
    passWake: enqueueActions(({ context, enqueue }) => {
      const spreadMs = Math.max(leastWakeSpreadMs, wakeSpreadPerServerMs * context.live.size);
      for (const { actorId, leaving } of [...context.live.values()].flatMap(actorsOf)) {
        if (!leaving) enqueue.sendTo(actorId, { type: 'server.woke', spreadMs });
      }
    }),

    /** Hands the wish for a permit on, with the place in the settings. */
    requestSlot: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.requested');
      const owner = ownerOf(context, event.actorId);
      const order =
        owner === undefined ? Number.MAX_SAFE_INTEGER : placeOf(context.settings, owner[0]);
      enqueue.sendTo('slots', { ...event, order });
    }),
    /** Passes a returned permit on. */
    passReturn: enqueueActions(({ event, enqueue }) => {
      assertEvent(event, 'slot.returned');
      enqueue.sendTo('slots', event);
    }),
    // A permit for an actor that is gone goes straight back.
    passPermit: enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'slot.granted');
      const { actorId } = event;
      if (ownerOf(context, actorId) === undefined) {
        enqueue.sendTo('slots', { type: 'slot.returned', actorId });
      } else {
        enqueue.sendTo(actorId, { type: 'slot.granted' });
      }
    }),
    /** As many may start at once as the new settings say. */
    resizeSlots: enqueueActions(({ event, enqueue }) => {
      assertEvent(event, 'settings.loaded');
      enqueue.sendTo('slots', { type: 'slots.resized', counts: event.settings.slots });
    }),
    /** Has the files read again, or the host settings exchanged. */
    passToSettingsSource: enqueueActions(({ event, enqueue }) => {
      assertEvent(event, ['settings.reload', 'settings.changed']);
      enqueue.emit(event);
    }),

    /** The troupe ends: everybody is told to leave. */
    retireAll: enqueueActions(({ context, enqueue }) => {
      const live = [...context.live];
      enqueue.assign({ live: new Map(live.map(([name, server]) => [name, allLeaving(server)])) });
      for (const { actorId } of live.flatMap(([, server]) => actorsOf(server)))
        enqueue.sendTo(actorId, { type: 'server.retire' });
    }),

    /** Starts the actor that hands out permits. */
    startSlots: enqueueActions(({ context, enqueue }) => {
      enqueue.spawnChild('slots', { id: 'slots', input: slotsInputOf(context) });
    }),

    /** Reclaims everything a finished child held. */
    forgetChild: enqueueActions(({ context, enqueue }, { actorId }: ChildEnd) => {
      enqueue.stopChild(actorId);
      const owner = ownerOf(context, actorId);
      if (owner === undefined) return;
      const [name, server] = owner;
      const live = new Map(context.live);
      const left = without(server, actorId);
      if (left === undefined) live.delete(name);
      else live.set(name, left);
      enqueue.assign({ live, serving: context.serving.filter((id) => id !== actorId) });
      if (server.successor !== undefined) enqueue.cancel(latenessOf(server.successor.actorId));
      enqueue.sendTo('slots', { type: 'slot.returned', actorId });
    }),

    // A chart that throws leaves its own children running; nobody else will end them.
    disposeOrphans: ({ self }, { actorId }: ChildEnd) => {
      const broken = self.getSnapshot().children[actorId as 'server'];
      const orphans: Record<string, { send(event: { type: 'io.dispose' }): void } | undefined> = {
        ...broken?.getSnapshot().children,
      };
      for (const orphan of Object.values(orphans)) orphan?.send({ type: 'io.dispose' });
    },
    /** The actor that hands out permits broke: a new one. */
    replaceSlots: enqueueActions(({ context, enqueue }, { actorId }: ChildEnd) => {
      if (actorId !== 'slots') return;
      enqueue.spawnChild('slots', { id: 'slots', input: slotsInputOf(context) });
    }),
    /** Says that an actor broke, which is a fault of ours. */
    reportBroken: enqueueActions(({ enqueue }, { actorId, error }: ChildEnd) => {
      const message = error instanceof Error ? error.message : String(error);
      enqueue.emit({ type: 'actor.broke', actorId, message });
    }),
    // Not at once: a fault that strikes at every birth must not become a storm.
    lookAgainSoon: enqueueActions(({ enqueue }) => {
      enqueue.cancel('lookAgain');
      enqueue.raise({ type: 'troupe.lookAgain' }, { id: 'lookAgain', delay: 'respawnPause' });
    }),
  },
  guards: {
    /** The last server is gone. */
    hasNoServers: ({ context }) => context.live.size === 0,
    // Only there does it matter to others who is ready.
    isHandingOver: ({ context }, { actorId }: ActorNews) =>
      ownerOf(context, actorId)?.[1].successor !== undefined,
    /** It starts beside the generation that serves. */
    isSuccessor: ({ context }, { actorId }: ActorNews) =>
      ownerOf(context, actorId)?.[1].successor?.actorId === actorId,
  },
  delays: {
    // What a host waits for begins when it asks for a troupe, so reading counts. At most half:
    // after a slow disk, servers must still have a moment in which they may be ready.
    startupGate: ({ context: { startedAt, startupGateMs }, event }) => {
      assertEvent(event, 'settings.loaded');
      return startupGateMs - Math.min(event.at - startedAt, startupGateMs / 2);
    },
    // Five seconds: reading a few files takes milliseconds; a dead network folder
    // must not keep a host from starting.
    settingsDeadline: 5_000,
    // Five seconds: above the 4 s of the close ladder, and the longest a person
    // who pressed Ctrl-C waits without doubt.
    stopDeadline: 5_000,
    /** A fault that strikes at every birth must not become a storm. */
    respawnPause: 1_000,
    // Two minutes: five tries of a start and the waits between them take about one. Then what
    // the settings say has to count, whether or not it works.
    handoverDeadline: 120_000,
  },
});
