/** A session with small numbers, and what its steps may come to. */

import type { DoneActorEvent, SnapshotFrom } from 'xstate';
import type { RefreshInput, refreshMachine } from '../../../machines/session/list-refresh.ts';
import type { sessionMachine } from '../../../machines/session/session.ts';
import type { Failure, FailureKind } from '../../../src/domain/failure.ts';
import type { PolicyOverrides } from '../../../src/domain/policy.ts';
import type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListOutcome,
  ResolveOutcome,
  SessionInput,
  StepFailed,
  WireFact,
} from '../../../src/domain/session.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';
import { smallPolicy } from '../server/small-server.ts';

export type SessionSnapshot = SnapshotFrom<typeof sessionMachine>;
export type RefreshSnapshot = SnapshotFrom<typeof refreshMachine>;

export type SmallSession = Partial<Omit<SessionInput, 'policy'>> & {
  readonly policy?: PolicyOverrides;
};

const id = { actorId: 'db.0', server: 'db', generation: 'g1', session: 1 } as const;

/** The input of a session with a local server, with the given fields replaced. */
export function smallSession({ policy, ...given }: SmallSession = {}): SessionInput {
  return {
    ...id,
    transport: 'stdio',
    isFirstRun: false,
    seed: 1,
    ...given,
    policy: overridePolicy(smallPolicy, policy ?? {}),
  };
}

/** The input of a refresh of the tools, with the given fields replaced. */
export function smallRefresh(given: Partial<RefreshInput> = {}): RefreshInput {
  return { ...id, list: 'tools', listTimeoutMs: 5_000, ...given };
}

/** Health checks by the policy, of which two may fail. */
export const pinged = { health: { mode: 'ping', failures: 2 } } as const;

export function failure(kind: FailureKind): Failure {
  return { kind, message: `It is ${kind}.` };
}

export function failed(kind: FailureKind, at = 0): StepFailed {
  return { type: 'failed', at, failure: failure(kind) };
}

/** What the leaf actors answer, by the id of their invocation. */
interface Outputs {
  readonly resolveTarget: ResolveOutcome;
  readonly launchProcess: LaunchOutcome;
  readonly connectClient: ConnectOutcome;
  readonly firstList: ListOutcome;
  readonly listItems: ListOutcome;
  readonly closeConnection: CloseOutcome;
}
export type StepName = keyof Outputs;
export type OutputOf<Name extends StepName> = Outputs[Name];

/** The leaf actor answers. */
export function done<Name extends StepName>(
  name: Name,
  output: Outputs[Name],
): DoneActorEvent<Outputs[Name], Name> {
  return { type: `xstate.done.actor.${name}`, actorId: name, output };
}

export function resolved(
  target: Partial<Extract<ResolveOutcome, { type: 'resolved' }>> = {},
): ResolveOutcome {
  return { type: 'resolved', hasProcess: true, asksEra: false, ...target };
}

export const remote = { hasProcess: false } as const;
export const launched: LaunchOutcome = { type: 'launched' };

export function connected(
  more: Partial<Extract<ConnectOutcome, { type: 'connected' }>> = {},
): ConnectOutcome {
  const offers = { resources: false, prompts: false };
  return { type: 'connected', at: 0, era: 'legacy', offers, ...more };
}

export function unconnected(
  kind: FailureKind,
  hints: { readonly wasAnswered?: boolean; readonly mayBeOverSse?: boolean } = {},
): ConnectOutcome {
  return { ...failed(kind), wasAnswered: true, mayBeOverSse: false, ...hints };
}

export function listed(count = 1, gap: Failure | null = null): ListOutcome {
  return { type: 'listed', at: 0, count, gap };
}

export function unlisted(kind: FailureKind = 'protocol'): ListOutcome {
  return { type: 'failed', failure: failure(kind) };
}

export const left: CloseOutcome = { at: 0, evidence: {} };

type WireEnd = Extract<WireFact, { readonly drains: boolean }>;

/** The connection is over; by default with its process. */
export function ended(
  kind: FailureKind,
  more: Partial<Pick<WireEnd, 'type' | 'at' | 'isGone' | 'drains'>> = {},
): WireEnd {
  return {
    type: 'wire.ended',
    at: 0,
    failure: failure(kind),
    isGone: true,
    drains: false,
    ...more,
  };
}
