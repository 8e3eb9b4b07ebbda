/** Takes the place of `machines/xstate/with-actors.ts`: charts run on XState's own steps. */

import type { compiled } from '../../../machines/xstate/chart.ts';

export const withActors: typeof compiled = (source, actors) =>
  source.provide({ actors: actors ?? {} }) as typeof source;
