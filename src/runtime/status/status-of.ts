/** Turns a server's snapshot into its status. Every user interface shows this status. */

import { type Impairment, isFirstRun } from '../../../machines/server/context.ts';
import type { ServerSnapshot } from '../../../machines/server/server.ts';
import type { CallerCode } from '../../domain/caller-code.ts';
import { defined } from '../../domain/data/defined.ts';
import type { Failure, FailureKind } from '../../domain/failure.ts';
import type { LastError, ServerStatus, SuccessorStatus } from '../../domain/host/status.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import {
  type CatalogState,
  type CircuitState,
  degradedReasons,
  type ServerState,
  type StateReason,
} from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { type HeldCount, nextStepFor, type RefusingLists, stepForHeld } from './next-step.ts';

import { decidedRest } from './server-chart.ts';

export type { ServerSnapshot } from '../../../machines/server/server.ts';

/** Wall times of changes; charts use only a monotonic clock. */
export interface Stamps {
  /** When the current state and reason were entered, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** When the current wait for the next attempt began. */
  readonly waitingSinceMs: number;
}

const noneHeld: HeldCount = { tools: 0, offers: 0 };

/** Facts of a status that its snapshot does not contain. */
export interface MoreFacts {
  /** The transport. Default: the one in the settings. */
  readonly transport?: TransportKind;
  readonly lists?: RefusingLists;
  /** Definitions that are withheld because they differ from the approved ones. */
  readonly heldCount?: HeldCount | undefined;
  readonly toolNotes?: readonly string[];
}

const tryingStates: ReadonlySet<ServerState> = new Set([
  'queued',
  'connecting',
  'loadingTools',
  'backingOff',
]);

export interface Condition {
  readonly state: ServerState;
  readonly reason?: StateReason;
}

/** Returns the connection region's state as a status shows it. */
export function conditionOf(snapshot: ServerSnapshot): Condition {
  const { connection } = snapshot.value;
  // Final or transient: seen only while the actor is being stopped.
  if (typeof connection === 'string' || 'settling' in connection) return { state: 'stopping' };
  if ('engaged' in connection) return engagedCondition(snapshot, connection.engaged);
  const { parked } = connection;
  if (typeof parked === 'string') return { state: parked };
  const [state, reason] = Object.entries(parked)[0] as [ServerState, StateReason];
  return { state, reason };
}

type ConnectionValue = Exclude<ServerSnapshot['value']['connection'], string>;
type EngagedValue = Extract<ConnectionValue, { engaged?: unknown }>['engaged'];

function engagedCondition({ context }: ServerSnapshot, engaged: EngagedValue): Condition {
  if (engaged === 'queued') return { state: 'queued' };
  const live = engaged?.live;
  if (live === 'connecting' || live === 'loadingTools') return { state: live };
  if (live !== 'ready') return { state: 'stopping' };
  const reason = worstOf(context.peer.impairments)?.reason;
  return reason === undefined ? { state: 'ready' } : { state: 'degraded', reason };
}

function worstOf(impairments: readonly Impairment[]): Impairment | undefined {
  return impairments.toSorted((a, b) => rankOf(a) - rankOf(b))[0];
}

function rankOf({ reason }: Impairment): number {
  return degradedReasons.indexOf(reason);
}

export function catalogOf(snapshot: ServerSnapshot): CatalogState {
  const { catalog } = snapshot.value;
  // Transient or final: seen only while the actor starts or is being stopped.
  return catalog === 'ended' || catalog === 'remembering' || catalog === 'lost' ? 'none' : catalog;
}

export function circuitOf(snapshot: ServerSnapshot): CircuitState {
  const { circuit } = snapshot.value;
  // A probe that is due has not begun yet.
  if (circuit === 'due') return 'open';
  return circuit === 'ended' ? 'closed' : circuit;
}

/** Builds a server's status from its snapshot, its settings and the times of its changes. */
export function statusOf(
  snapshot: ServerSnapshot,
  desired: DesiredServer,
  stamps: Stamps,
  toolCount: number,
  { transport, lists, heldCount = noneHeld, toolNotes = [] }: MoreFacts = {},
): ServerStatus {
  const { context } = snapshot;
  const { peer } = context;
  const condition = conditionOf(snapshot);
  const lastError = lastErrorOf(failureOf(context, condition), desired, condition, context);
  const step = nextStepFor(desired, condition, lists, context);
  const action = step ?? stepForHeld(desired, heldCount);
  return deepFreeze({
    name: context.name,
    ...condition,
    catalog: catalogOf(snapshot),
    circuit: circuitOf(snapshot),
    since: new Date(stamps.sinceMs).toISOString(),
    generation: context.generation,
    ...(tryingStates.has(condition.state) ? { attempt: Math.max(1, context.tries.attempt) } : {}),
    restarts: Math.max(0, context.session - 1),
    ...(condition.state === 'backingOff'
      ? { nextAttemptAt: new Date(stamps.waitingSinceMs + context.delayMs).toISOString() }
      : {}),
    tools: toolCount,
    ...(toolNotes.length > 0 && { toolNotes }),
    ...(peer.pid === null ? {} : { pid: peer.pid }),
    transport: transport ?? context.transport,
    ...(peer.era === null ? {} : { era: peer.era }),
    ...(condition.state === 'connecting' && isFirstRun(context) ? { mayDownload: true } : {}),
    source: desired.source,
    ...defined({ lastError, action }),
  });
}

/** Returns the status of a successor that starts alongside its server. */
export function successorStatusOf(
  snapshot: ServerSnapshot,
  desired: DesiredServer,
  stamps: Stamps,
): SuccessorStatus {
  const { generation, state, reason, attempt, nextAttemptAt, pid, lastError } = statusOf(
    snapshot,
    desired,
    stamps,
    0,
  );
  return { generation, state, ...defined({ reason, attempt, nextAttemptAt, pid, lastError }) };
}

/**
 * Returns the status that the gate uses. While a server closes, admission or the user's stop has
 * often already decided its next state; calls are then refused immediately instead of waiting for
 * the session's end.
 */
export function callStatusOf(
  status: ServerStatus,
  { context }: ServerSnapshot,
  desired: DesiredServer,
  lists?: RefusingLists,
): ServerStatus {
  if (status.state !== 'stopping') return status;
  const rest = decidedRest(context);
  if (rest === undefined) return status;
  const action = nextStepFor(desired, rest, lists, context);
  return { ...status, ...rest, ...(action === undefined ? {} : { action }) };
}

const codeOfKind: Readonly<Record<FailureKind, CallerCode>> = {
  transport: 'UNAVAILABLE',
  unavailable: 'UNAVAILABLE',
  crashed: 'CRASHED',
  cleanExit: 'CRASHED',
  initTimeout: 'TIMEOUT',
  initNotification: 'UNAVAILABLE',
  capabilityMissing: 'CAPABILITY_MISSING',
  versionUnsupported: 'VERSION_UNSUPPORTED',
  authRequired: 'AUTH_REQUIRED',
  sessionMissing: 'UNAVAILABLE',
  rateLimited: 'RATE_LIMITED',
  protocol: 'BAD_RESPONSE',
  notStarted: 'CONNECTING',
  unknown: 'INTERNAL',
};

const timesInWords = ['', '', 'twice', 'three times', 'four times', 'five times'];

function alike(times: number): string {
  const count = timesInWords[times] ?? `${times} times`;
  return count === '' ? '' : `It failed the same way ${count}: `;
}

/** The reason for the state of a degraded server; otherwise the last failure. */
function failureOf(
  { peer, lastError }: ServerSnapshot['context'],
  { state }: Condition,
): Failure | null {
  return state === 'degraded' ? (worstOf(peer.impairments)?.failure ?? null) : lastError;
}

function lastErrorOf(
  failure: Failure | null,
  desired: DesiredServer,
  condition: Condition,
  { tries }: Pick<ServerSnapshot['context'], 'tries'>,
): LastError | undefined {
  if (condition.reason === 'invalidConfig' && desired.invalid !== undefined) {
    const { file, line, key, message } = desired.invalid;
    const place = `${file}${line === undefined ? '' : `:${line}`}`;
    return {
      code: 'INVALID_CONFIG',
      kind: 'notStarted',
      message: `${place}${key === undefined ? '' : ` ${key}`}: ${message}`,
    };
  }
  if (failure === null) return undefined;
  const { kind, code, message, exitCode, signal, stderrTail } = failure;
  return {
    code: code ?? codeOfKind[kind],
    kind,
    message: condition.reason === 'sameFailure' ? `${alike(tries.sameExits)}${message}` : message,
    ...defined({ exitCode, signal, stderrTail }),
  };
}
