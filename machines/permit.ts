/**
 * A granted start permit.
 *
 * `slots` ends it when the server returns it. A start that outlasts its permit is probably waiting
 * for something other than a core: the permit lapses, so another server may begin, and the start
 * continues without it.
 *
 * ```text
 * [*] -> held
 * held -- after patience --> lapsed
 * lapsed -> [*]
 * ```
 */

import { setup } from 'xstate';

export type SlotPool = 'local' | 'remote';

export interface Permit {
  /** The server actor that holds it. */
  readonly actorId: string;
  readonly pool: SlotPool;
}

/** Returns the id of the permit's own actor. */
export const permitIdOf = (actorId: string): string => `permit.${actorId}`;

const patienceMs = {
  // One second: four times the core time that an SDK-based server needs before its session is open.
  local: 1_000,
  // A remote start waits for the network, so this only spreads the requests: 2,000 a second to
  // endpoints that take their time.
  remote: 100,
} as const;

export const permitMachine = setup({
  types: { input: {} as Permit, context: {} as Permit, output: {} as Permit },
  delays: {
    /** How long a start may keep its permit. */
    patience: ({ context }) => patienceMs[context.pool],
  },
}).createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'permit',
  context: ({ input }) => input,
  output: ({ context }) => context,
  initial: 'held',
  states: { held: { after: { patience: 'lapsed' } }, lapsed: { type: 'final' } },
});
