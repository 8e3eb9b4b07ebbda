/** The selected actor. */

import type { PicturedActor } from '../../../src/domain/host/inspection.ts';
import { actorOf } from '../model/world.ts';
import type { PageState } from './store.ts';

/** The selected login. */
export function chosenLogin({ route, world }: PageState): PicturedActor | undefined {
  const chosen = route.actor === undefined ? undefined : world.actors.get(route.actor);
  return chosen?.machine === 'authorization' ? chosen : undefined;
}

/** The selected actor, or that of the selected server, or the root. */
export function chosenActor({ route, world }: PageState): PicturedActor | undefined {
  if (route.actor !== undefined) {
    const chosen = world.actors.get(route.actor);
    if (chosen !== undefined) return chosen;
  }
  if (route.server !== undefined) return actorOf(world, route.server);
  return [...world.actors.values()].find(({ machine }) => machine === 'troupe');
}

/** Whether a panel of the chart itself is open: a fork, a comparison, or a way of the chosen actor. */
export function isBesideChart(state: PageState): boolean {
  const { whatIf, isComparing, way } = state;
  return whatIf || isComparing || (way !== undefined && chosenActor(state)?.actor === way.actor);
}
