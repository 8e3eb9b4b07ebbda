/**
 * One pass of the root: what it is planned from, and what its steps lead to. All of
 * it is pure, so that the dry run and the real one are the same.
 */

import type { AdmittedServer, LiveServer, Step } from '../../src/domain/plan.ts';
import { admitAll, type Gates } from '../../src/policies/admission/admit.ts';
import { placesOf, type Turn } from '../../src/policies/admission/server-budget.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import { planChanges } from '../../src/policies/plan-changes.ts';
import type { ServerCommand, ServerInput } from '../server/server.ts';
import { catalogKey, type TroupeContext } from './context.ts';
import { actorsOf, allLeaving, successorIdOf, takenOver } from './handover.ts';

/** What a plan is made from. */
export type PlanningFacts = Pick<
  TroupeContext,
  'settings' | 'trusted' | 'launchBound' | 'hostAllowed' | 'decisions' | 'live' | 'serving'
>;

/** Says whether an actor is at rest: it waits for a person, and not for its turn or a timer. */
export type IsAtRest = (actorId: string) => boolean;

/** The same as the children of the root tell it at the moment of asking. */
export function restIn(root: { getSnapshot(): unknown }): IsAtRest {
  return (actorId) => {
    // Children are spawned by name, of which the types of the root know nothing.
    const { children } = root.getSnapshot() as {
      readonly children: Readonly<Record<string, Child>>;
    };
    return children[actorId]?.getSnapshot().hasTag('atRest') === true;
  };
}

interface Child {
  getSnapshot(): { hasTag(tag: 'atRest'): boolean };
}

/**
 * The gates of the present moment.
 *
 * @param turn - whose turn causes the question
 */
export function gatesOf(
  context: PlanningFacts,
  isAtRest: IsAtRest = () => false,
  turn?: Turn,
): Gates {
  const hasPlaces = isBudgetEnforced(context);
  return {
    trusted: context.trusted,
    ...(context.settings?.allowed === undefined ? {} : { allowed: context.settings.allowed }),
    excluded: context.settings?.excluded ?? [],
    hostAllowed: context.hostAllowed,
    ...(context.launchBound === null ? {} : { launchBound: context.launchBound }),
    decisions: context.decisions,
    ...(hasPlaces ? { places: placesOf(context.live, isAtRest, turn) } : {}),
  };
}

/** Says whether some server may have to wait for the place of another. */
export function isBudgetEnforced({ settings }: Pick<PlanningFacts, 'settings'>): boolean {
  return settings?.budget?.mode === 'enforce';
}

function admitted(
  context: PlanningFacts,
  isAtRest?: IsAtRest,
  turn?: Turn,
): readonly AdmittedServer[] {
  const { settings } = context;
  return settings === null ? [] : admitAll(settings, gatesOf(context, isAtRest, turn));
}

/** The steps of the next pass. */
export function planOf(context: PlanningFacts, isAtRest?: IsAtRest): readonly Step[] {
  return passOf(context, isAtRest).plan;
}

/** A plan, and whom it was made for. */
export interface Pass {
  readonly plan: readonly Step[];
  /** The steps that change something. */
  readonly moving: readonly Step[];
  /** By name. */
  readonly wanted: ReadonlyMap<string, AdmittedServer>;
}

export function passOf(context: PlanningFacts, isAtRest?: IsAtRest, turn?: Turn): Pass {
  const servers = admitted(context, isAtRest, turn);
  const plan = planChanges(servers, {
    live: context.live,
    serving: new Set(context.serving),
    digestOf: settingsDigestOf,
  });
  return {
    plan,
    moving: plan.filter(({ step }) => step !== 'keep'),
    wanted: new Map(servers.map((server) => [server.desired.name, server])),
  };
}

/**
 * Who lives once the steps are taken. All births in one go: each copy of the
 * children costs as much as all of them.
 */
export function liveAfter(
  before: TroupeContext,
  { moving, wanted: all }: Pass,
  spawn: (input: ServerInput) => void,
): Pick<TroupeContext, 'live' | 'spawnCount' | 'startWishes'> {
  const live = new Map(before.live);
  const known = new Set(before.knownCatalogs);
  let { spawnCount } = before;
  const born = new Set<string>();
  const give = (wanted: AdmittedServer, actorId: string, succeeds: boolean): void => {
    spawn(inputOf(wanted, { actorId, succeeds }, { ...before, spawnCount }, known));
    born.add(wanted.desired.name);
    spawnCount += 1;
  };
  for (const { server, step } of moving) {
    const now = live.get(server);
    const wanted = all.get(server);
    // A plan names nobody who is neither live nor wanted, so there is no further case.
    /* v8 ignore else -- @preserve */
    if (now !== undefined) {
      const next = serverAfter(step, now, wanted);
      live.set(server, next);
      const { successor } = next;
      if (wanted !== undefined && successor !== undefined && now.successor === undefined)
        give(wanted, successor.actorId, true);
    } else if (wanted !== undefined) {
      const actorId = `${server}.${spawnCount % 2}`;
      give(wanted, actorId, false);
      live.set(server, liveAs(wanted, actorId));
    }
  }
  const startWishes = before.startWishes.filter((server) => !born.has(server));
  return { live, spawnCount, startWishes };
}

/** What one step makes of a server that lives. */
function serverAfter(
  step: Step['step'],
  now: LiveServer,
  wanted: AdmittedServer | undefined,
): LiveServer {
  const { successor } = now;
  if (wanted === undefined || step === 'replace') return allLeaving(now);
  if (step === 'handover') return handedOn(now, wanted);
  const changed = liveAs(wanted, now.actorId);
  if (successor === undefined || isMeant(now, wanted)) return { ...now, ...changed };
  return { ...now, successor: { ...successor, ...changed, actorId: successor.actorId } };
}

function handedOn(now: LiveServer, wanted: AdmittedServer): LiveServer {
  const { successor } = now;
  if (successor === undefined) {
    return { ...now, successor: liveAs(wanted, successorIdOf(now)) };
  }
  return isMeant(successor, wanted)
    ? takenOver(now, successor)
    : { ...now, successor: { ...successor, leaving: true } };
}

function isMeant({ generation }: LiveServer, { desired }: AdmittedServer): boolean {
  return generation === desired.generation;
}

interface Order {
  readonly actorId: string;
  readonly command: ServerCommand;
}

/** What those are told who lived before the steps. */
export function commandsOf(
  { moving, wanted }: Pass,
  live: TroupeContext['live'],
): readonly Order[] {
  return moving.flatMap(({ server, step }) => {
    const now = live.get(server);
    return now === undefined ? [] : ordersFor(step, now, wanted.get(server));
  });
}

function ordersFor(
  step: Step['step'],
  now: LiveServer,
  wanted: AdmittedServer | undefined,
): readonly Order[] {
  const { successor, predecessor } = now;
  if (wanted === undefined || step === 'replace') {
    return actorsOf(now).map(({ actorId }) => ({ actorId, command: { type: 'server.retire' } }));
  }
  if (step === 'handover') {
    if (successor === undefined) return [];
    return isMeant(successor, wanted)
      ? [{ actorId: now.actorId, command: { type: 'server.relieve' } }]
      : [{ actorId: successor.actorId, command: { type: 'server.retire' } }];
  }
  const { actorId } = successor === undefined || isMeant(now, wanted) ? now : successor;
  const { desired, verdict } = wanted;
  if (step === 'update') {
    const { startup, policy } = desired;
    return [{ actorId, command: { type: 'spec.updated', startup, policy } }];
  }
  if (verdict === 'admitted') return [{ actorId, command: { type: 'admission.granted' } }];
  // Whoever may not run may not finish its calls either.
  const others = predecessor === undefined ? [] : [predecessor];
  return [
    { actorId, command: { type: 'admission.withdrawn', verdict } },
    ...others.map((it): Order => ({ actorId: it.actorId, command: { type: 'server.retire' } })),
  ];
}

function inputOf(
  { desired, verdict }: AdmittedServer,
  { actorId, succeeds }: Pick<ServerInput, 'actorId' | 'succeeds'>,
  context: TroupeContext,
  knownCatalogs: ReadonlySet<string>,
): ServerInput {
  return {
    actorId,
    name: desired.name,
    generation: desired.generation,
    transport: desired.transport,
    startup: desired.startup,
    policy: desired.policy,
    verdict,
    stopWanted: context.stopWishes.some(
      (wish) => wish.server === desired.name && wish.generation === desired.generation,
    ),
    startWanted: succeeds || context.startWishes.includes(desired.name),
    succeeds,
    hasStoredCatalog: knownCatalogs.has(catalogKey(desired.name, desired.generation)),
    seed: context.seed + context.spawnCount,
  };
}

function liveAs({ desired, verdict }: AdmittedServer, actorId: string): LiveServer {
  return {
    actorId,
    generation: desired.generation,
    settingsDigest: settingsDigestOf(desired),
    verdict,
    leaving: false,
  };
}
