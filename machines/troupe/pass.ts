/**
 * One pass of the root: the facts from which it is planned, and the outcome of its steps. All of it
 * is pure, so a dry run and the real pass agree.
 */

import type { ExtractEvent } from 'xstate';
import {
  type AdmittedServer,
  type LiveServer,
  type Step,
  type StepKind,
  successorOf,
} from '../../src/domain/plan.ts';
import { admitAll, type Gates } from '../../src/policies/admission/admit.ts';
import { placesOf } from '../../src/policies/admission/server-budget.ts';
import { placeOf, serverNamed } from '../../src/policies/admission/server-place.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import { type PresentServers, planChanges } from '../../src/policies/plan-changes.ts';
import { poolOf, type ServerInput, startsAtOnce, startsHalted } from '../server/context.ts';
import type { SlotRequest } from '../slots.ts';
import {
  catalogKey,
  desiredOf,
  nameOf,
  newest,
  type Order,
  type Outcome,
  ownerOf,
  type TroupeContext,
  type TroupeEvent,
} from './context.ts';
import { type HandoverInput, handoverIdOf } from './handover.ts';
import { afterPass, sinceLastPass } from './last-pass.ts';
import { moveOf } from './moves.ts';

/** The part of the context from which a plan is made. */
export type PlanningFacts = Pick<
  TroupeContext,
  | 'settings'
  | 'trusted'
  | 'launchBound'
  | 'hostAllowed'
  | 'decisions'
  | 'live'
  | 'serving'
  | 'halted'
  | 'inTurn'
>;

/** Returns the current gates. */
export function gatesOf(context: PlanningFacts): Gates {
  const { live, halted, inTurn } = context;
  return {
    trusted: context.trusted,
    ...(context.settings?.allowed === undefined ? {} : { allowed: context.settings.allowed }),
    excluded: context.settings?.excluded ?? [],
    hostAllowed: context.hostAllowed,
    ...(context.launchBound === null ? {} : { launchBound: context.launchBound }),
    decisions: context.decisions,
    ...(isBudgetEnforced(context) ? { places: placesOf(live, halted, inTurn) } : {}),
  };
}

/** Returns whether servers may have to wait for each other's budget slots. */
export function isBudgetEnforced({ settings }: Pick<PlanningFacts, 'settings'>): boolean {
  return settings?.budget?.mode === 'enforce';
}

/** Returns whether more servers run than an enforced budget allows. */
export function isOverBudget({ settings, live, halted }: PlanningFacts): boolean {
  const { mode, max = 0 } = settings?.budget ?? {};
  return mode === 'enforce' && placesOf(live, halted).held.size > max;
}

/** Returns the next pass's steps. */
export function planOf(context: PlanningFacts): readonly Step[] {
  return passOf(context).plan;
}

/** A plan, and the servers that it is about. */
export interface Pass {
  readonly plan: readonly Step[];
  /** Returns a server of the settings with its verdict. */
  readonly wanted: (name: string) => AdmittedServer | undefined;
}

/** @param only - the servers to read, plan and change; default: all */
export function passOf(context: PlanningFacts, only?: readonly string[]): Pass {
  const { settings, live } = only === undefined ? context : narrowed(context, only);
  const servers = settings === null ? [] : admitAll(settings, gatesOf(context));
  const plan = planChanges(servers, {
    live,
    serving: context.serving,
    digestOf: settingsDigestOf,
  });
  // Servers are admitted in settings order.
  return { plan, wanted: (name) => servers[placeOf(settings, name)] };
}

/** Returns the part of the settings and of the live servers that concerns these names. */
function narrowed(
  { settings, live }: PlanningFacts,
  names: readonly string[],
): Pick<PlanningFacts, 'settings'> & Pick<PresentServers, 'live'> {
  const servers = names
    .toSorted((one, other) => placeOf(settings, one) - placeOf(settings, other))
    .map((name) => serverNamed(settings, name))
    .filter((desired) => desired !== undefined);
  const present = new Map<string, LiveServer>();
  for (const name of names) {
    const server = live.get(name);
    if (server !== undefined) present.set(name, server);
  }
  return { settings: settings && { ...settings, servers }, live: present };
}

/**
 * Runs one pass: reads the desired and live servers that may differ since the last one, plans, and
 * returns the steps' outcome. It knows nothing of the event that caused it but which servers may have
 * changed. Without a budget, a decision about one server or its end changes nothing for the others, so
 * a thousand of them read a thousand servers, as one pass does.
 *
 * @param concerned - names of the only servers that may have changed; default: any
 */
export function reconciled(context: TroupeContext, concerned?: readonly string[]): Outcome {
  const gates = gatesOf(context);
  const few = isBudgetEnforced(context) ? undefined : concerned;
  const difference = few === undefined ? sinceLastPass(context, gates) : undefined;
  const { plan: steps, wanted } = passOf(context, few ?? difference?.names);
  const changes = steps.filter((step): step is Change => step.step !== 'keep');
  const { facts, ...rest } = outcomeOf(context, changes, wanted);
  const { live } = facts;
  const { lastPass, plan } =
    few === undefined
      ? afterPass({ settings: context.settings, gates, live, difference, steps })
      : { lastPass: context.lastPass, plan: steps };
  const news = { type: 'reconciled', plan, changeCount: changes.length } as const;
  return { ...rest, facts: { ...facts, inTurn: noNames, lastPass }, news };
}

const noNames: readonly string[] = [];

/**
 * Runs a pass in which a server that is about to start claims a place of the budget again. A command
 * does not change what is desired, so without an enforced budget it needs none.
 */
export function claimed(context: TroupeContext, server: string): Outcome {
  if (!isBudgetEnforced(context)) return {};
  return reconciled({ ...context, inTurn: [...context.inTurn, server] });
}

/** Records that a server's successor should take over now, if it still has one. */
export function withDue({ live }: TroupeContext, server: string, why: string): Outcome {
  const present = live.get(server);
  if (present === undefined) return {};
  const successor = successorOf(present);
  if (successor === undefined) return {};
  return { facts: { live: live.with(server, { ...present, beside: { ...successor, due: why } }) } };
}

type Change = Step & { readonly step: Exclude<StepKind, 'keep'> };

/** Computes the outcome of a pass's steps. */
function outcomeOf(context: TroupeContext, steps: readonly Change[], wanted: Pass['wanted']) {
  const changes = new Map<string, LiveServer>();
  const spawns: ServerInput[] = [];
  const handovers: HandoverInput[] = [];
  const orders: Order[] = [];
  const spawned = new Set<string>();
  for (const { server, step } of steps) {
    const now = changes.get(server) ?? context.live.get(server);
    const spawnCount = context.spawnCount + spawned.size;
    const move = moveOf(step, now, wanted(server), `${server}.${spawnCount % 2}`);
    changes.set(server, move.live);
    orders.push(...move.orders);
    if (move.spawn === undefined) continue;
    const { actorId } = move.spawn;
    const identity = { actorId, succeeds: now !== undefined, seed: context.seed + spawnCount };
    spawns.push(inputOf(move.spawn.wanted, identity, context));
    if (now !== undefined) handovers.push({ server, present: now.actorId, successor: actorId });
    spawned.add(server);
  }
  const spawnCount = context.spawnCount + spawned.size;
  const startWishes = context.startWishes.filter((server) => !spawned.has(server));
  const live = context.live.withAll(changes);
  const requests = spawns.filter(startsAtOnce).map((input) => requestOf(input, context));
  if (requests.length > 0)
    orders.push({ to: 'slots', event: { type: 'slots.requested', requests } });
  // A blocked server that is admitted takes its slot at once, and reports it if it halts again.
  const continuing = orders.filter(({ event }) => event.type === 'admission.granted');
  const halted = context.halted.withAll([
    ...spawns.filter(startsHalted).map(({ actorId }) => [actorId, true] as const),
    ...continuing.map(({ to }) => [to, undefined] as const),
  ]);
  return { facts: { live, spawnCount, startWishes, halted }, spawns, handovers, orders };
}

function inputOf(
  { desired, verdict }: AdmittedServer,
  identity: Pick<ServerInput, 'actorId' | 'succeeds' | 'seed'>,
  { stopWishes, startWishes, knownCatalogs }: TroupeContext,
): ServerInput {
  const { name, generation, transport, startup, policy, mayDownload = false } = desired;
  return {
    // First, as in `withPolicy`.
    name,
    ...identity,
    generation,
    transport,
    startup,
    policy,
    verdict,
    stopWanted: stopWishes.some((wish) => wish.server === name && wish.generation === generation),
    startWanted: identity.succeeds || startWishes.includes(name),
    hasStoredCatalog: knownCatalogs.has(catalogKey(name, generation)),
    mayDownload,
  };
}

/** Returns a new server's request for a start permit. */
function requestOf(input: ServerInput, { settings }: TroupeContext): SlotRequest {
  const { actorId, name } = input;
  const order = placeOf(settings, name);
  return { actorId, pool: poolOf(input), demanded: false, retry: false, order };
}

export const startCommands = [
  'server.start',
  'server.restart',
  'server.reconnect',
  'auth.completed',
] as const;
export const userCommands = [...startCommands, 'server.stop'] as const;

const rememberedWishes = 1_000;

/** Passes the user's command to the server, and remembers a stop. */
export function routed(
  context: TroupeContext,
  { type: said, server }: ExtractEvent<TroupeEvent, (typeof userCommands)[number]>,
): Outcome {
  const type = said === 'auth.completed' ? 'server.reconnect' : said;
  const present = context.live.get(server);
  // A name refers to the generation that the settings want.
  const target = present && (successorOf(present) ?? present);
  const isPassed = target?.leaving === false;
  const orders = isPassed ? [{ to: target.actorId, event: { type } }] : [];
  const mayStart = isPassed && type !== 'server.stop' && target.verdict === 'admitted';
  const desired = desiredOf(context, server);
  const stopWishes = context.stopWishes.filter((wish) => wish.server !== server);
  const startWishes = context.startWishes.filter((wish) => wish !== server);
  if (type === 'server.stop') {
    if (desired === undefined) return { orders };
    stopWishes.push({ server, generation: desired.generation });
  } else if (!isPassed && desired !== undefined) {
    // The next server with this name gets the request in its input.
    startWishes.push(server);
  }
  return {
    facts: {
      ...(type === 'server.reconnect' ? {} : { stopWishes: newest(stopWishes, rememberedWishes) }),
      startWishes: newest(startWishes, rememberedWishes),
      // It has just claimed its slot, which stays taken unless it reports that it halts again.
      halted: mayStart ? context.halted.without(target.actorId) : context.halted,
    },
    orders,
  };
}

/** Releases everything that an ended child held. */
export function forgotten(
  context: TroupeContext,
  { actorId }: { readonly actorId: string },
): Outcome {
  const name = nameOf(actorId);
  const server = ownerOf(context, actorId);
  if (server === undefined) return {};
  const { beside, ...rest } = server;
  const left = rest.actorId === actorId ? beside : rest;
  return {
    facts: {
      live: left === undefined ? context.live.without(name) : context.live.with(name, left),
      actors: context.actors.without(actorId),
      serving: context.serving.without(actorId),
      halted: context.halted.without(actorId),
    },
    ends: beside === undefined ? [] : [handoverIdOf(name)],
    orders: [{ to: 'slots', event: { type: 'slot.returned', actorId } }],
  };
}

/** Releases what an ended child held; if its server is still wanted, its place is its own. */
export function ended(context: TroupeContext, child: { readonly actorId: string }): Outcome {
  const { facts, ...rest } = forgotten(context, child);
  if (facts === undefined) return rest;
  const inTurn = newest([...context.inTurn, nameOf(child.actorId)], rememberedWishes);
  return { ...rest, facts: { ...facts, inTurn } };
}
