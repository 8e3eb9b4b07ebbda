/** A server with small numbers, so that a search through all its states ends soon. */

import type { SnapshotFrom } from 'xstate';
import type { ServerInput, serverMachine } from '../../machines/server.ts';
import type { ServerPolicy } from '../../src/domain/policy.ts';

export type ServerSnapshot = SnapshotFrom<typeof serverMachine>;

export const smallPolicy: ServerPolicy = {
  queueTimeoutMs: 60_000,
  connectTimeoutMs: 10_000,
  listTimeoutMs: 5_000,
  closeTimeoutMs: 3_000,
  restart: 'auto',
  maxAttempts: 2,
  backoff: { initialMs: 500, factor: 2, maxMs: 30_000, floorMs: 500 },
  lostBackoff: { initialMs: 15_000, factor: 2, maxMs: 300_000, floorMs: 15_000 },
  sustainedReadyMs: 60_000,
  crashLoop: { limit: 2, windowMs: 60_000 },
  reconnectStorm: { limit: 3, windowMs: 30_000 },
  circuitThreshold: 2,
  circuitCooldownMs: 30_000,
  circuitMaxCooldownMs: 60_000,
  probeTimeoutMs: 10_000,
  idleStopMs: 300_000,
  callTimeoutMs: 60_000,
  stdinGraceMs: 1_000,
  termGraceMs: 1_000,
};

export type SmallServer = Partial<Omit<ServerInput, 'policy'>> & {
  readonly policy?: Partial<ServerPolicy>;
};

/** The input of a local, eager, admitted server, but for what is given. */
export function smallServer({ policy, ...given }: SmallServer = {}): ServerInput {
  return {
    actorId: 'db.0',
    name: 'db',
    generation: 'g1',
    transport: 'stdio',
    startup: 'eager',
    verdict: 'admitted',
    stopWanted: false,
    startWanted: false,
    hasStoredCatalog: false,
    seed: 1,
    ...given,
    policy: { ...smallPolicy, ...policy },
  };
}
