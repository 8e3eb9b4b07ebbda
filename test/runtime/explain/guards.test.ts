import { describe, expect, it } from 'vitest';
import type { AnyActorRef, AnyTransitionDefinition, InspectionEvent } from 'xstate';
import type { TroupeContext } from '../../../machines/troupe/context.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import { Random } from '../simulation/random.ts';
import { drawSteps, namesOf } from '../simulation/steps.ts';
import { World } from '../simulation/world.ts';

const servers = namesOf(6);

/** Remembers which row of the tables each server actor took last, as the chart itself reports. */
function watchTables() {
  const lastRow = new Map<AnyActorRef, AnyTransitionDefinition>();
  const taken = new Set<string>();
  const inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.microstep') return;
    for (const transition of event._transitions) {
      const target = transition.target?.[0]?.path ?? [];
      if (target[0] !== 'connection' || isWithinEngaged(transition)) continue;
      const isTable = transition.source.always?.includes(transition) === true;
      // A backoff that ran out goes straight back, past the tables and without a guard.
      const isRetry = transition.source.path[1] === 'parked' && target[1] === 'engaged';
      if (!isTable && !isRetry) continue;
      lastRow.set(event.actorRef as AnyActorRef, transition);
      if (isTable) taken.add(guardOf(transition));
    }
  };
  return { lastRow, taken, inspect };
}

function isWithinEngaged({ source }: AnyTransitionDefinition): boolean {
  return source.path[1] === 'engaged';
}

function guardOf({ guard }: AnyTransitionDefinition): string {
  if (guard === undefined) return 'otherwise';
  if (typeof guard === 'string') return guard;
  const { type, params = {} } = guard as { type: string; params?: Record<string, unknown> };
  return [type, ...Object.values(params)].join(' ');
}

interface Comparison {
  readonly where: string;
  readonly named: string;
  readonly used: string | undefined;
}

/** Compares every server that has changed since it was seen last. */
function compareAll(
  { scripted, root }: World,
  lastRow: ReadonlyMap<AnyActorRef, AnyTransitionDefinition>,
  seen: WeakSet<ServerStatus>,
): readonly Comparison[] {
  const { context } = root.getSnapshot() as RootLook;
  return [...context.live].flatMap(([name, { actorId }]) => {
    const status = scripted.troupe.status(name);
    // What was compared before is the same object as long as nothing changes.
    if (status === undefined || seen.has(status)) return [];
    seen.add(status);
    // What keeps a ready server from being well is not decided by the table.
    if (status.state === 'degraded' || status.state === 'stopping') return [];
    const decision = scripted.troupe.explain(name)?.decision;
    const actor = context.actors.get(actorId);
    if (decision === undefined || actor === undefined) return [];
    const row = lastRow.get(actor);
    return {
      where: `${name} at ${scripted.clock.now()} ms, ${status.state}`,
      named: [decision.guard, ...Object.values(decision.params ?? {})].join(' '),
      used: row && guardOf(row),
    };
  });
}

interface RootLook {
  readonly context: TroupeContext;
}

describe('the guard in an explanation', () => {
  it('matches the guard that the chart took in random schedules', async () => {
    const { lastRow, taken, inspect } = watchTables();
    const seen = new WeakSet<ServerStatus>();
    const bound = servers.slice(0, 5);
    let compared = 0;
    for (let seed = 1; seed <= 24; seed += 1) {
      const world = new World({
        seed,
        servers,
        gatedCount: 2,
        flapMs: [500, 30_000],
        bound,
        inspect,
      });
      await world.scripted.settle();
      for (const step of drawSteps(new Random(seed), 40, servers)) {
        await world.take(step);
        const comparisons = compareAll(world, lastRow, seen);
        compared += comparisons.length;
        const wrong = comparisons.filter(({ named, used }) => named !== used);
        expect(wrong, `seed ${seed}`).toEqual([]);
      }
    }
    // Else the schedules are too tame to say anything.
    expect(compared).toBeGreaterThan(600);
    expect([...taken]).toEqual(
      expect.arrayContaining([
        'isDisabled',
        'isBlockedBy excluded',
        'isBlockedBy pendingApproval',
        'isStopWanted',
        'hasLost authRequired',
        'isRestartForbidden',
        'hasAttemptsLeft',
        'otherwise',
      ]),
    );
  });
});
