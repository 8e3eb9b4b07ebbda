/**
 * The actions of the root chart. Most are pure functions from the context and an event to an
 * `Outcome`, which only `does` applies. Passes and changes to the servers with one name are in
 * `pass.ts`.
 */

import {
  type AnyActorRef,
  assertEvent,
  type EventDescriptor,
  type ExtractEvent,
  fromEventObservable,
  setup,
} from 'xstate';
import type { LiveServer } from '../../src/domain/plan.ts';
import type { SettingsFact, SettingsInput } from '../../src/domain/settings-facts.ts';
import { placeOf, removedServers, serverNamed } from '../../src/policies/admission/server-place.ts';
import { byServer, decisionBy, withDecision } from '../../src/policies/approvals/records.ts';
import { approvalFingerprint } from '../../src/policies/fingerprint.ts';
import { GroupedMap } from '../../src/policies/grouped-map.ts';
import { notProvided } from '../not-provided.ts';
import { type ServerInput, serverMachine } from '../server/server.ts';
import { slotsMachine } from '../slots.ts';
import { spawnApart } from '../xstate/internals.ts';
import {
  actorsOf,
  catalogKey,
  desiredOf,
  nameOf,
  newest,
  type Outcome,
  ownerOf,
  type ServerRef,
  type TroupeContext,
  type TroupeEmitted,
  type TroupeEvent,
  type TroupeInput,
} from './context.ts';
import { handoverIdOf, handoverMachine, isHandover, serverNews } from './handover.ts';
import { endedHandover, retired } from './moves.ts';
import {
  claimed,
  ended,
  forgotten,
  isBudgetEnforced,
  isOverBudget,
  reconciled,
  routed,
  startCommands,
  userCommands,
  withDue,
} from './pass.ts';

// Enough to explain a tool that a long conversation still remembers.
const rememberedNames = 1_000;
// As many as the maximum number of servers: the store drops the others, and reports that.
const rememberedCatalogs = 10_000;

const respawnPauseMs = 1_000;

// Two seconds: imperceptible, and a machine that just woke is busy.
const leastWakeSpreadMs = 2_000;
// Fifty a second, however many servers there are.
const wakeSpreadPerServerMs = 20;

const parts = setup({
  types: {
    input: {} as TroupeInput,
    context: {} as TroupeContext,
    events: {} as TroupeEvent,
    emitted: {} as TroupeEmitted,
  },
  actors: {
    server: serverMachine,
    handover: handoverMachine,
    slots: slotsMachine,
    settingsSource: fromEventObservable<SettingsFact, SettingsInput>(
      notProvided('settingsSource', 'troupe'),
    ),
  },
});

/** Applies an event's outcome. */
function does<const Type extends EventDescriptor<TroupeEvent>>(
  types: Type | readonly Type[],
  answer: (context: TroupeContext, event: ExtractEvent<TroupeEvent, Type>) => Outcome,
) {
  return parts.enqueueActions(({ context, event, enqueue }) => {
    assertEvent(event, types);
    const { facts, ends, spawns, handovers, orders, news } = answer(context, event);
    for (const actorId of ends ?? []) enqueue.stopChild(actorId);
    if (facts !== undefined) enqueue.assign(facts);
    if (spawns !== undefined && spawns.length > 0) enqueue(spawnServers(spawns));
    for (const input of handovers ?? [])
      enqueue.spawnChild('handover', { id: handoverIdOf(input.server), input });
    // One that is in neither place would be a bug, which XState turns into an error.
    for (const order of orders ?? []) enqueue.sendTo(childNamed(order.to), order.event);
    if (news !== undefined) enqueue.emit(news);
  });
}

const childNamed =
  (id: string) =>
  ({ context }: { readonly context: TroupeContext }): AnyActorRef | string =>
    context.actors.get(id) ?? id;

/** Returns the action that spawns these servers. */
function spawnServers(spawns: readonly ServerInput[]): () => void {
  const children = spawns.map((input) => ({ id: input.actorId, input }));
  return spawnApart('server', children, (refs) =>
    parts.assign({
      actors: ({ context: { actors } }) =>
        actors.withAll(refs.map((ref) => [ref.id, ref as ServerRef])),
    }),
  );
}

function marked(ids: GroupedMap<true>, id: string, isMarked: boolean): GroupedMap<true> {
  return isMarked ? ids.with(id, true) : ids.without(id);
}

/** Records that this generation's list is known. */
function withCatalog(
  context: TroupeContext,
  server: string,
  generation: string,
): Pick<TroupeContext, 'knownCatalogs'> {
  const known = context.knownCatalogs.with(catalogKey(server, generation), true);
  return { knownCatalogs: known === context.knownCatalogs ? known : bounded(known, context) };
}

function listedBy(owner: LiveServer, actorId: string, context: TroupeContext) {
  const { generation } = owner.beside?.actorId === actorId ? owner.beside : owner;
  return withCatalog(context, nameOf(actorId), generation);
}

/** Forgets the catalogs of generations that no longer exist, once there are too many. */
function bounded(known: GroupedMap<true>, { live }: Pick<TroupeContext, 'live'>): GroupedMap<true> {
  if (known.size <= rememberedCatalogs + live.size) return known;
  const present = new Set(
    [...live].flatMap(([name, server]) =>
      actorsOf(server).map(({ generation }) => catalogKey(name, generation)),
    ),
  );
  return known.withAll([...known.keys()].map((key) => [key, present.has(key) || undefined]));
}

/** Returns the only servers that an event can have changed for a pass; undefined if it may be any. */
function concernedBy(event: TroupeEvent): readonly string[] | undefined {
  switch (event.type) {
    case 'approval.grant':
    case 'approval.reject':
    case 'approval.revoke':
    case 'handover.due':
      return [event.server];
    default:
      return 'actorId' in event ? [nameOf(event.actorId)] : undefined;
  }
}

type Reconciled = Extract<TroupeEmitted, { type: 'reconciled' }>;

/** Ignores a decision about settings that were edited after they were shown. */
function decided(
  context: TroupeContext,
  { type, server, fingerprint: shown }: ExtractEvent<TroupeEvent, 'approval.grant'>,
): Outcome {
  const desired = desiredOf(context, server);
  if (desired === undefined) return {};
  const fingerprint = approvalFingerprint(desired);
  if (shown !== undefined && shown !== fingerprint) return {};
  // The approval store bounds them; dropping one here would contradict the records.
  const decision = { server: desired.name, fingerprint, decision: decisionBy[type] };
  return { facts: { decisions: withDecision(context.decisions, decision) } };
}

export const troupeSetup = parts.extend({
  actions: {
    /** Stores the new settings, and remembers removed names. */
    noteSettings: does(['settings.loaded', 'settings.relocated'], (context, { settings }) => {
      const isGone = (name: string): boolean => serverNamed(settings, name) === undefined;
      const leaving = removedServers(context.settings, settings).map(({ name }) => name);
      const left = context.removed.filter(isGone);
      const isSame = leaving.length === 0 && left.length === context.removed.length;
      const removed = isSame ? context.removed : newest([...left, ...leaving], rememberedNames);
      return { facts: { settings, startupGateMs: settings.startupGateMs, removed } };
    }),
    /** Records whether the folder is trusted. */
    noteTrust: does('trust.changed', (_, { trusted }) => ({ facts: { trusted } })),
    /** Stores the host's own list, which cannot widen the launch bound. */
    noteAllowed: does('allow.changed', (_, event) => ({ facts: { hostAllowed: event.allowed } })),
    /** Records the user's decision about a server with its current settings. */
    noteDecision: does(['approval.grant', 'approval.reject', 'approval.revoke'], decided),
    /** Stores the decisions on disk. */
    noteDecisions: does('approvals.changed', (_, { decisions }) => ({
      facts: { decisions: byServer(decisions) },
    })),
    /** Records that this generation's list is stored. */
    noteCatalog: does('catalog.listed', (context, { server, generation }) => ({
      facts: withCatalog(context, server, generation),
    })),
    /** Drops a list that is no longer stored, and notifies its server. */
    forgetCatalog: does('catalog.forgotten', (context, { server, generation }) => {
      const key = catalogKey(server, generation);
      const present = context.live.get(server);
      const owners = (present === undefined ? [] : actorsOf(present)).filter(
        (it) => it.generation === generation && it.leaving === false,
      );
      return {
        facts: { knownCatalogs: context.knownCatalogs.without(key) },
        orders: owners.map((it) => ({ to: it.actorId, event: { type: 'catalog.forgotten' } })),
      };
    }),
    /**
     * Records a server's report, and passes it to its handover, if there is one. A server that
     * serves has listed its tools.
     */
    noteNews: does(serverNews, (context, event) => {
      const { type, actorId } = event;
      const owner = ownerOf(context, actorId);
      const isBeside = owner?.beside !== undefined;
      const isReady = type === 'server.readied';
      return {
        facts: {
          serving: marked(context.serving, actorId, isReady),
          halted: marked(context.halted, actorId, type === 'server.halted'),
          ...(isReady && owner !== undefined && listedBy(owner, actorId, context)),
        },
        orders: isBeside ? [{ to: handoverIdOf(nameOf(actorId)), event }] : [],
      };
    }),

    /** Runs one pass: reads the desired and live servers, plans, and takes the steps. */
    reconcile: does('*', (context, event) => {
      const { news, ...outcome } = reconciled(context, concernedBy(event));
      const at = event.type === 'settings.loaded' ? { at: event.at } : {};
      return { ...outcome, news: { ...(news as Reconciled), ...at } };
    }),
    /** Runs a pass if the server needs a place of the budget to start again. */
    claimPlace: does(startCommands, (context, { server }) => claimed(context, server)),
    /** Records that a successor should take over. */
    noteDue: does(['handover.due', 'xstate.error.actor.*'], (context, event) =>
      'why' in event
        ? withDue(context, event.server, event.why)
        : // A broken handover can no longer report it.
          withDue(context, nameOf(event.actorId), 'its handover broke'),
    ),
    /** Ends a handover, so that a stop applies to the one remaining generation. */
    endHandover: does('server.stop', ({ live }, { server }) => {
      const present = live.get(server);
      if (present?.beside === undefined || present.leaving !== false) return {};
      const move = endedHandover(present);
      return { facts: { live: live.with(server, move.live) }, orders: move.orders };
    }),
    /** Passes the user's command to the server, and remembers a stop. */
    routeCommand: does(userCommands, routed),
    /** Passes a request for fresh lists to the server that serves. */
    passRefresh: does('server.refresh', ({ live }, { type, server }) => {
      const present = live.get(server);
      if (present?.leaving !== false) return {};
      return { orders: [{ to: present.actorId, event: { type } }] };
    }),
    /** Passes an answer on to the servers that use it; each decides whether it starts again. */
    passAnswer: does('inputs.answered', ({ live }, { servers }) => ({
      orders: servers
        .flatMap((name) => live.get(name) ?? [])
        .filter(({ leaving }) => leaving === false)
        .map(({ actorId: to }) => ({ to, event: { type: 'input.answered' } })),
    })),
    /** Makes every server check its connection, spread over a window. */
    passWake: does('system.woke', ({ live }) => {
      const spreadMs = Math.max(leastWakeSpreadMs, wakeSpreadPerServerMs * live.size);
      const staying = [...live.values()].flatMap(actorsOf).filter((it) => it.leaving === false);
      const event = { type: 'server.woke', spreadMs } as const;
      return { orders: staying.map(({ actorId: to }) => ({ to, event })) };
    }),
    /** Retires every server, because the troupe is stopping. */
    retireAll: does('*', ({ live }) => {
      const moves = [...live].map(([name, server]) => [name, retired(server)] as const);
      return {
        facts: {
          live: live.withAll(moves.map(([name, move]) => [name, move.live])),
          serving: GroupedMap.of(),
          halted: GroupedMap.of(),
        },
        orders: moves.flatMap(([, { orders }]) => orders),
      };
    }),
    /** Stops the servers that are left when the troupe ends. */
    stopRest: parts.enqueueActions(({ context, enqueue }) => {
      for (const ref of context.actors.values()) enqueue.stopChild(ref);
    }),
    /** Releases everything that an ended child held. */
    forgetChild: does(['xstate.done.actor.*', 'xstate.error.actor.*'], ended),
    // No server starts any more, so no permit is missed.
    forgetLeaver: does(['xstate.done.actor.*', 'xstate.error.actor.*'], (context, event) => ({
      ...forgotten(context, event),
      orders: [],
    })),

    /** Passes on a request for a permit, with the server's position in the settings. */
    requestSlot: does('slot.requested', (context, event) => {
      const isOwned = ownerOf(context, event.actorId) !== undefined;
      const settings = isOwned ? context.settings : null;
      const order = placeOf(settings, nameOf(event.actorId));
      const requests = [{ ...event, order }];
      return { orders: [{ to: 'slots', event: { type: 'slots.requested', requests } }] };
    }),
    /** Passes on a permit that a server returns. */
    passReturn: does('slot.returned', (_, event) => ({ orders: [{ to: 'slots', event }] })),
    // A permit for an actor that no longer exists goes straight back.
    passPermits: does('slots.granted', (context, { actorIds }) => ({
      orders: actorIds.map((actorId) =>
        ownerOf(context, actorId) === undefined
          ? { to: 'slots', event: { type: 'slot.returned', actorId } }
          : { to: actorId, event: { type: 'slot.granted' } },
      ),
    })),
    /** Applies the new settings' limits on simultaneous starts. */
    resizeSlots: does('settings.loaded', (_, { settings: { slots: counts } }) => ({
      orders: [{ to: 'slots', event: { type: 'slots.resized', counts } }],
    })),
    /** Has the files reread, or the host settings replaced. */
    passToSettingsSource: does(['settings.reload', 'settings.changed'], (_, news) => ({ news })),
    /** Starts the actor that grants permits. */
    startSlots: parts.enqueueActions(({ context, enqueue }) => {
      const { settings, slots, coreCount, seed } = context;
      const input = { counts: settings?.slots ?? slots, coreCount, seed };
      enqueue.spawnChild('slots', { id: 'slots', input });
    }),
    /** Reports that an actor broke, which is our bug. */
    reportBroken: does('xstate.error.actor.*', (_, { actorId, error }) => {
      const message = error instanceof Error ? error.message : String(error);
      return { news: { type: 'actor.broke', actorId, message } };
    }),
    /** Runs a pass once every report has arrived, because a place of the budget may be free. */
    assignPlacesSoon: parts.enqueueActions(({ context, enqueue }) => {
      if (!isBudgetEnforced(context)) return;
      // A server that settles again reports that it continues, then that it halts. A pass in between
      // could take the place of one that runs, and each of a thousand reports would cause one.
      enqueue.cancel('assignPlaces');
      enqueue.raise({ type: 'troupe.lookAgain' }, { id: 'assignPlaces', delay: 0 });
    }),
    /** Runs a pass, before the server may start, if it continues without a place of the budget. */
    withholdPlace: parts.enqueueActions(({ context, enqueue }) => {
      // After the reports that wait: a server that settles again says next that it halts.
      if (isOverBudget(context)) enqueue.sendTo(({ self }) => self, { type: 'troupe.lookAgain' });
    }),
    // Not at once: a fault that occurs at every start must not become a storm.
    lookAgainSoon: parts.enqueueActions(({ enqueue }) => {
      enqueue.cancel('lookAgain');
      enqueue.raise({ type: 'troupe.lookAgain' }, { id: 'lookAgain', delay: respawnPauseMs });
    }),
  },
  guards: {
    /** Whether no server is left. */
    hasNoServers: ({ context }) => context.live.size === 0,
    /** Whether the child is a handover, which decides when a successor takes over. */
    isHandover: ({ event }) => 'actorId' in event && isHandover(event.actorId),
  },
  delays: {
    // A host waits from the moment it creates a troupe, so the time to read settings counts, up to
    // half of the gate: after a slow disk, servers still need a moment to become ready.
    startupGate: ({ context: { startedAt, startupGateMs }, event }) => {
      assertEvent(event, 'settings.loaded');
      return startupGateMs - Math.min(event.at - startedAt, startupGateMs / 2);
    },
    // Five seconds: reading a few files takes milliseconds; a dead network folder
    // must not keep a host from starting.
    settingsDeadline: 5_000,
    // Five seconds: longer than the 4 s of the close ladder, and about as long as a user waits
    // after Ctrl-C before pressing it again.
    stopDeadline: 5_000,
  },
});
