/**
 * The life of one MCP server: one actor for each generation of its settings.
 *
 * A generation is the settings that decide the connection; everything else about the server changes
 * in place. Four regions get the same facts: `connection` (whether there is a session, and where
 * the server rests without one), `catalog` (where the displayed tools come from), `circuit`
 * (whether calls may be sent) and `activity` (whether calls are running). Each region's diagram is
 * in its own file.
 *
 * Three laws hold in every state:
 *
 * 1. No region reads another's state. They share the context, and report to each other by raising
 *    events, the last of which is the end. Held by `test/machines/laws-and-stories.test.ts`: has no
 *    region that reads another state.
 * 2. Every command settles. Without another event from outside, the server becomes ready, comes to
 *    rest or needs the user. Held by `test/machines/server/invariants.ts`: ready, at rest, or a state
 *    that needs the user.
 * 3. A stop wins. It begins at once in every state, and only a start or a restart undoes it. Held
 *    by `test/machines/server/invariants.ts`: a stop begins at once.
 *
 * ```text
 * [*] -> connection + catalog + circuit + activity
 * connection: settling (initial), retired (final), parked, engaged
 * catalog: remembering (initial), none, deferred, live, lost, stale, ended (final)
 * circuit: closed (initial), open, due, halfOpen, ended (final)
 * activity: unready (initial), idle, busy, draining, ended (final)
 * ```
 */

import type { SnapshotFrom } from 'xstate';
import { activityRegion } from './activity.ts';
import { catalogRegion } from './catalog.ts';
import { circuitRegion } from './circuit.ts';
import { connectionRegion } from './connection.ts';
import { isDemanded } from './context.ts';
import { freshTries, freshWindows, noPeer, serverSetup } from './server-setup.ts';

export type {
  CallFact,
  ServerCommand,
  ServerContext,
  ServerEvent,
  ServerInput,
} from './context.ts';

/** One MCP server: one actor for each generation of its settings. */
export const serverMachine = serverSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'server',
  type: 'parallel',
  // Spread last: appending fields to a spread object is much slower. The keys must not overlap.
  context: ({ input }) => ({
    retiring: false,
    demanded: isDemanded(input),
    awaited: false,
    session: 0,
    tries: freshTries,
    hasServed: false,
    readyAt: 0,
    servedMs: 0,
    loss: null,
    lastError: null,
    windows: freshWindows,
    floods: 0,
    delayMs: 0,
    circuit: { failedCalls: 0, cooldownMs: input.policy.breaker.cooldownMs },
    peer: noPeer,
    ...input,
  }),
  states: {
    connection: connectionRegion,
    catalog: catalogRegion,
    circuit: circuitRegion,
    activity: activityRegion,
  },
});

export type ServerSnapshot = SnapshotFrom<typeof serverMachine>;
