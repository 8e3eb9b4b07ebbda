/**
 * The life of one MCP server: one actor for one generation of its settings.
 *
 * Three regions look at the same facts and never at each other: `connection`
 * (is there a session, and where does the server rest without one), `catalog`
 * (where the tools shown come from) and `circuit` (may calls go out). They end
 * together: the connection's last act tells the others.
 *
 * ```text
 * [*] -> connection + catalog + circuit
 * connection: [*] -> settling, parked, engaged, retired -> [*]
 * catalog: [*] -> remembering, none, deferred, live, stale, ended -> [*]
 * circuit: [*] -> closed, open, halfOpen, ended -> [*]
 * ```
 */

import { catalogRegion } from './server.catalog.ts';
import { circuitRegion } from './server.circuit.ts';
import { connectionRegion } from './server.connection.ts';
import { serverSetup } from './server.setup.ts';

export type {
  CallFact,
  ServerCommand,
  ServerContext,
  ServerEvent,
  ServerInput,
} from './server.setup.ts';

export const serverMachine = serverSetup.createMachine({
  // A loop of transitions is a bug: better a broken actor than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'server',
  type: 'parallel',
  context: ({ input }) => ({
    ...input,
    retiring: false,
    demanded: (input.startup === 'eager' || input.startWanted) && !input.stopWanted,
    awaited: false,
    session: 0,
    attempt: 0,
    loss: null,
    lastError: null,
    crashTimes: [],
    lossTimes: [],
    impairments: [],
    delayMs: 0,
    failedCalls: 0,
    cooldownMs: input.policy.circuitCooldownMs,
    era: null,
    pid: null,
  }),
  states: {
    connection: connectionRegion,
    catalog: catalogRegion,
    circuit: circuitRegion,
  },
});
