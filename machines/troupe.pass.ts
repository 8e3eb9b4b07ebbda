/**
 * One pass of the root: what it is planned from, and what its steps lead to. All of
 * it is pure, so that the dry run and the real one are the same.
 */

import type { AdmittedServer, LiveServer, Step } from '../src/domain/plan.ts';
import { admitAll, type Gates } from '../src/policies/admit.ts';
import { settingsDigestOf } from '../src/policies/fingerprint.ts';
import { planChanges } from '../src/policies/plan-changes.ts';
import { placesOf, type Turn } from '../src/policies/server-budget.ts';
import type { ServerCommand, ServerInput } from './server.ts';
import { catalogKey, type TroupeContext } from './troupe.context.ts';

/** What a plan is made from. */
export type PlanningFacts = Pick<
  TroupeContext,
  'settings' | 'trusted' | 'launchBound' | 'hostAllowed' | 'decisions' | 'live'
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
  return planChanges(admitted(context, isAtRest), context.live, settingsDigestOf);
}

/** A plan, and whom it was made for. */
export interface Pass {
  readonly plan: readonly Step[];
  /** The steps that change something. */
  readonly moving: readonly Step[];
  /** By name. */
  readonly wanted: ReadonlyMap<string, AdmittedServer>;
}

export function passOf(context: PlanningFacts, isAtRest: IsAtRest, turn?: Turn): Pass {
  const servers = admitted(context, isAtRest, turn);
  const plan = planChanges(servers, context.live, settingsDigestOf);
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
  for (const { server, step } of moving) {
    const now = live.get(server);
    const wanted = all.get(server);
    // A plan names nobody who is neither live nor wanted, so there is no further case.
    /* v8 ignore else -- @preserve */
    if (now !== undefined) {
      const isLeaving = wanted === undefined || step === 'replace';
      live.set(server, isLeaving ? { ...now, leaving: true } : liveAs(wanted, now.actorId));
    } else if (wanted !== undefined) {
      const actorId = freeActorId(server, spawnCount);
      spawn(inputOf(wanted, actorId, { ...before, spawnCount }, known));
      live.set(server, liveAs(wanted, actorId));
      born.add(server);
      spawnCount += 1;
    }
  }
  const startWishes = before.startWishes.filter((server) => !born.has(server));
  return { live, spawnCount, startWishes };
}

/** What those are told who lived before the steps. */
export function commandsOf(
  { moving, wanted }: Pass,
  live: TroupeContext['live'],
): readonly { readonly actorId: string; readonly command: ServerCommand }[] {
  return moving.flatMap(({ server, step }) => {
    const command = commandFor(step, wanted.get(server));
    const target = live.get(server);
    return command === null || target === undefined ? [] : [{ actorId: target.actorId, command }];
  });
}

// Ids are used again and again, never made anew: a chart remembers every child id
// it ever saw. Two of them let a successor start beside the one that leaves.
function freeActorId(name: string, spawnCount: number): string {
  return `${name}.${spawnCount % 2}`;
}

function inputOf(
  { desired, verdict }: AdmittedServer,
  actorId: string,
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
    startWanted: context.startWishes.includes(desired.name),
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

function commandFor(step: Step['step'], wanted: AdmittedServer | undefined): ServerCommand | null {
  if (step === 'retire' || step === 'replace' || wanted === undefined) {
    return { type: 'server.retire' };
  }
  const { desired, verdict } = wanted;
  switch (step) {
    case 'update':
      return { type: 'spec.updated', startup: desired.startup, policy: desired.policy };
    case 'admit':
    case 'block':
      return verdict === 'admitted'
        ? { type: 'admission.granted' }
        : { type: 'admission.withdrawn', verdict };
    case 'spawn':
    case 'keep':
      return null;
  }
}
