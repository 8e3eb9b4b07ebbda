/** A server with small numbers, so that a search through all its states ends soon. */

import type { SnapshotFrom } from 'xstate';
import type { ServerEvent, ServerInput, serverMachine } from '../../../machines/server/server.ts';
import type { PolicyOverrides, ServerPolicy } from '../../../src/domain/policy.ts';
import type { SessionEnd } from '../../../src/domain/session.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';

export type ServerSnapshot = SnapshotFrom<typeof serverMachine>;

const quiet = { retryFromMs: 15_000, toMs: 300_000, floorMs: 15_000 };

export const smallPolicy: ServerPolicy = overridePolicy(defaultPolicy, {
  startup: { maxAttempts: 2, afterGiveUp: quiet, busyBackoff: null },
  connect: {
    queueTimeoutMs: 60_000,
    localTimeoutMs: 10_000,
    remoteTimeoutMs: 10_000,
    listTimeoutMs: 5_000,
  },
  restart: {
    maxAttempts: 2,
    delays: { initialMs: 500, factor: 2, maxMs: 30_000, floorMs: 500 },
    afterGiveUp: quiet,
  },
  storm: {
    crashLoop: { limit: 2, windowMs: 60_000, action: 'suspend' },
    reconnectStorm: { limit: 3, windowMs: 30_000, action: 'suspend' },
  },
  breaker: { threshold: 2, maxCooldownMs: 60_000 },
  idle: { stopMs: 300_000 },
  close: { totalMs: 3_000 },
});

/** So many tries of a start, and of an outage. */
export function attempts(maxAttempts: number): PolicyOverrides {
  return { startup: { maxAttempts }, restart: { maxAttempts } };
}

export type SmallServer = Partial<Omit<ServerInput, 'policy'>> & {
  readonly policy?: PolicyOverrides;
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
    succeeds: false,
    hasStoredCatalog: false,
    mayDownload: false,
    seed: 1,
    ...given,
    policy: overridePolicy(smallPolicy, policy ?? {}),
  };
}

/** The end of a session that was open and was asked to close, but for what is given. */
export function sessionEnd(
  given: Partial<SessionEnd> = {},
): Extract<ServerEvent, { type: 'xstate.done.actor.session' }> {
  const output = { at: 0, wasOpen: true, failure: null, isFlood: false, evidence: {}, ...given };
  return { type: 'xstate.done.actor.session', actorId: 'session', output };
}
