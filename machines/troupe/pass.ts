/**
 * One pass of the root: the facts that it is planned from, and the outcome of its steps. All of
 * it is pure, so a dry run and the real one agree.
 */

import type { AdmittedServer, LiveServer, Step, StepKind } from '../../src/domain/plan.ts';
import { admitAll, type Gates } from '../../src/policies/admission/admit.ts';
import { placesOf, type Turn } from '../../src/policies/admission/server-budget.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import { type DueHandover, planChanges } from '../../src/policies/plan-changes.ts';
import { type ServerInput, startsHalted } from '../server/context.ts';
import {
  catalogKey,
  nameOf,
  type Order,
  type Outcome,
  type TroupeContext,
  type TroupeEvent,
} from './context.ts';
import { type HandoverInput, isHandover } from './handover.ts';
import { changed, handedOn, type Move, retired, spawned } from './moves.ts';

/** The part of the context that a plan is made from. */
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
>;

/** What a pass needs of the event that causes it. */
export interface Cause extends Turn {
  readonly due?: DueHandover;
}

/** The gates as they are now. */
export function gatesOf(context: PlanningFacts, cause?: Turn): Gates {
  return {
    trusted: context.trusted,
    ...(context.settings?.allowed === undefined ? {} : { allowed: context.settings.allowed }),
    excluded: context.settings?.excluded ?? [],
    hostAllowed: context.hostAllowed,
    ...(context.launchBound === null ? {} : { launchBound: context.launchBound }),
    decisions: context.decisions,
    ...(isBudgetEnforced(context)
      ? { places: placesOf(context.live, new Set(context.halted), cause) }
      : {}),
  };
}

/** Says whether a server may have to wait for another one's place. */
function isBudgetEnforced({ settings }: Pick<PlanningFacts, 'settings'>): boolean {
  return settings?.budget?.mode === 'enforce';
}

/** The steps of the next pass. */
export function planOf(context: PlanningFacts): readonly Step[] {
  return passOf(context).plan;
}

/** A plan, and the servers that it was made for. */
export interface Pass {
  readonly plan: readonly Step[];
  /** By name. */
  readonly wanted: ReadonlyMap<string, AdmittedServer>;
}

export function passOf(context: PlanningFacts, { due, ...turn }: Cause = {}): Pass {
  const { settings, live } = context;
  const servers = settings === null ? [] : admitAll(settings, gatesOf(context, turn));
  const plan = planChanges(servers, {
    live,
    serving: new Set(context.serving),
    ...(due === undefined ? {} : { due }),
    digestOf: settingsDigestOf,
  });
  return { plan, wanted: new Map(servers.map((server) => [server.desired.name, server])) };
}

/**
 * One pass: reads all desired and live servers, plans, and returns the outcome of the steps. A command
 * does not change what is desired, so it needs no pass, unless the server must claim a budget place again.
 */
export function reconciled(context: TroupeContext, event: TroupeEvent): Outcome {
  const cause = causeOf(event);
  if (cause.claimant !== undefined && !isBudgetEnforced(context)) return {};
  const pass = passOf(context, cause);
  const at = event.type === 'settings.loaded' ? { at: event.at } : {};
  return { ...outcomeOf(context, pass), news: { type: 'reconciled', plan: pass.plan, ...at } };
}

function causeOf(event: TroupeEvent): Cause {
  switch (event.type) {
    case 'server.start':
    case 'server.restart':
    case 'server.reconnect':
    case 'auth.completed':
      return { claimant: event.server };
    case 'handover.due':
      return { due: event };
    default:
  }
  if (!('actorId' in event)) return {};
  const server = nameOf(event.actorId);
  if (!isHandover(event.actorId)) return { heir: server };
  // A broken handover can no longer report that it is due.
  return { due: { server, why: 'its handover broke' } };
}

/** The outcome of a pass's steps. */
export function outcomeOf(context: TroupeContext, { plan, wanted: all }: Pass): Outcome {
  const live = new Map(context.live);
  const known = new Set(context.knownCatalogs);
  const births: ServerInput[] = [];
  const handovers: HandoverInput[] = [];
  const orders: Order[] = [];
  const born = new Set<string>();
  for (const { server, step } of plan) {
    if (step === 'keep') continue;
    const now = live.get(server);
    const spawnCount = context.spawnCount + born.size;
    const move = moveOf(step, now, all.get(server), `${server}.${spawnCount % 2}`);
    live.set(server, move.live);
    orders.push(...move.orders);
    if (move.birth === undefined) continue;
    const { wanted, actorId } = move.birth;
    const seat = { actorId, succeeds: now !== undefined, seed: context.seed + spawnCount };
    births.push(inputOf(wanted, seat, context, known));
    if (now !== undefined) handovers.push({ server, present: now.actorId, successor: actorId });
    born.add(server);
  }
  const spawnCount = context.spawnCount + born.size;
  const startWishes = context.startWishes.filter((server) => !born.has(server));
  const halted = [...context.halted, ...births.filter(startsHalted).map((it) => it.actorId)];
  return { facts: { live, spawnCount, startWishes, halted }, births, handovers, orders };
}

function moveOf(
  step: Exclude<StepKind, 'keep'>,
  now: LiveServer | undefined,
  wanted: AdmittedServer | undefined,
  newId: string,
): Move {
  // Every server in a plan is live or wanted.
  if (wanted === undefined) return retired(now as LiveServer);
  if (now === undefined) return spawned(wanted, newId);
  if (step === 'replace') return retired(now);
  return step === 'handover' ? handedOn(now, wanted) : changed(step, now, wanted);
}

function inputOf(
  { desired, verdict }: AdmittedServer,
  seat: Pick<ServerInput, 'actorId' | 'succeeds' | 'seed'>,
  { stopWishes, startWishes }: TroupeContext,
  knownCatalogs: ReadonlySet<string>,
): ServerInput {
  const { name, generation, transport, startup, policy } = desired;
  return {
    ...seat,
    name,
    generation,
    transport,
    startup,
    policy,
    verdict,
    stopWanted: stopWishes.some((wish) => wish.server === name && wish.generation === generation),
    startWanted: seat.succeeds || startWishes.includes(name),
    hasStoredCatalog: knownCatalogs.has(catalogKey(name, generation)),
  };
}
