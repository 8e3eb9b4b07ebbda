/**
 * What the status board shows of a server: a pure function of its settings, of the charts' snapshots
 * and of the times of their changes.
 */

import type { ServerRef } from '../../../machines/troupe/context.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { LiveServer } from '../../domain/plan.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import type { RefusingLists } from './next-step.ts';
import {
  callStatusOf,
  circuitOf,
  conditionOf,
  type MoreFacts,
  type ServerSnapshot,
  type Stamps,
  statusOf,
  successorStatusOf,
} from './status-of.ts';

/** A server's status and the facts that calls need. */
export interface ServerView {
  readonly status: ServerStatus;
  /** The status that the gate uses: for a closing server, the state in which it will rest. */
  readonly callStatus: ServerStatus;
  readonly actorId: string;
  readonly ref: ServerRef;
  readonly session: number;
  /**
   * When an open circuit will be probed, or a probe's result is due, as wall time in milliseconds;
   * 0 if it is closed.
   */
  readonly circuitUntilMs: number;
  /** Whether the circuit currently counts failed calls, so that a success must be reported. */
  readonly countsFailures: boolean;
  /** Whether the server is leaving: it takes no calls and shows no tools. */
  readonly leaving: boolean;
}

/** A server whose lists are shown. */
export interface OfferingView extends ServerView {
  readonly status: ServerStatus & { readonly catalog: Exclude<ServerStatus['catalog'], 'none'> };
}

export function isOffering(view: ServerView): view is OfferingView {
  return !view.leaving && view.status.catalog !== 'none';
}

/** The last values of the dated parts of a status, each with its wall time in milliseconds. */
export type Marks = Readonly<Record<'condition' | 'wait' | 'circuit', Mark>>;

interface Mark {
  readonly value: string;
  readonly sinceMs: number;
}

/** Returns the marks of a server that has just begun. */
export function firstMarks(sinceMs: number): Marks {
  return {
    condition: { value: 'queued undefined', sinceMs },
    wait: { value: '', sinceMs },
    circuit: { value: 'closed', sinceMs },
  };
}

/** Dates the parts that differ from before. */
export function markedBy(snapshot: ServerSnapshot, before: Marks, nowMs: number): Marks {
  const { state, reason } = conditionOf(snapshot);
  const { session, delayMs } = snapshot.context;
  const markOf = (mark: Mark, value: string): Mark =>
    mark.value === value ? mark : { value, sinceMs: nowMs };
  return {
    condition: markOf(before.condition, `${state} ${reason}`),
    wait: markOf(before.wait, state === 'backingOff' ? `${session} ${delayMs}` : ''),
    circuit: markOf(before.circuit, circuitOf(snapshot)),
  };
}

function stampsOf({ condition, wait }: Marks): Stamps {
  return { sinceMs: condition.sinceMs, waitingSinceMs: wait.sinceMs };
}

/** A server actor as it was last seen. */
export interface SeenActor {
  readonly ref: ServerRef;
  readonly snapshot: ServerSnapshot;
  readonly marks: Marks;
}

/** What a server offers: the number of its shown tools, and what is withheld or shown cut. */
export interface OfferFacts extends Pick<MoreFacts, 'heldCount' | 'toolNotes'> {
  readonly toolCount: number;
}

interface ViewFacts extends MoreFacts, OfferFacts {
  readonly desired: DesiredServer;
  readonly server: LiveServer;
  readonly lists: RefusingLists;
  /** The status of the other generation during a handover. */
  readonly beside: Pick<ServerStatus, 'successor' | 'predecessor'>;
  readonly stepFor: (status: Pick<ServerStatus, 'name' | 'state'>) => string | undefined;
}

export function viewOf({ ref, snapshot, marks }: SeenActor, facts: ViewFacts): ServerView {
  const { desired, server, lists, toolCount, beside, stepFor } = facts;
  const { context, value } = snapshot;
  const seen = statusOf(snapshot, desired, stampsOf(marks), toolCount, facts);
  const action = seen.action ?? stepFor(seen);
  const status = deepFreeze({ ...seen, ...defined({ action }), ...beside });
  return {
    status,
    callStatus: callStatusOf(status, snapshot, desired, lists),
    actorId: server.actorId,
    ref,
    session: context.session,
    circuitUntilMs: circuitUntil(value.circuit, marks.circuit.sinceMs, context),
    countsFailures: context.circuit.failedCalls > 0 || value.circuit !== 'closed',
    leaving: server.leaving !== false,
  };
}

function circuitUntil(
  circuit: ServerSnapshot['value']['circuit'],
  sinceMs: number,
  { circuit: { cooldownMs }, policy }: ServerSnapshot['context'],
): number {
  if (circuit === 'open') return sinceMs + cooldownMs;
  return circuit === 'halfOpen' ? sinceMs + policy.breaker.probeTimeoutMs : 0;
}

/** Returns the status fields for the other generation, by what its handover does. */
export function besideOf(
  handover: 'succeeding' | 'relieving' | 'withdrawing' | undefined,
  { snapshot, marks }: SeenActor,
  desired: DesiredServer,
): Pick<ServerStatus, 'successor' | 'predecessor'> {
  const { generation, peer } = snapshot.context;
  const { pid } = peer;
  switch (handover) {
    case 'succeeding':
      return { successor: successorStatusOf(snapshot, desired, stampsOf(marks)) };
    case 'relieving':
      return { predecessor: { generation, ...(pid === null ? {} : { pid }) } };
    default:
      return {};
  }
}

/** Returns the status of a server that currently has no chart. */
export function restingStatus(
  { name, generation, transport, source }: DesiredServer,
  { isEnding, lostAtMs, nowMs }: RestingFacts,
): ServerStatus {
  const unseenCondition = lostAtMs === undefined ? newCondition : brokenCondition;
  return {
    name,
    ...(isEnding ? { state: 'stopped' } : unseenCondition),
    catalog: 'none',
    circuit: 'closed',
    since: new Date(lostAtMs ?? nowMs).toISOString(),
    generation,
    restarts: 0,
    tools: 0,
    transport,
    source,
  };
}

interface RestingFacts {
  /** Whether the troupe is stopping or has stopped. */
  readonly isEnding: boolean;
  /** When it lost its chart; undefined if it never had one. */
  readonly lostAtMs: number | undefined;
  readonly nowMs: number;
}

// The next pass creates the chart and decides about admission.
const newCondition = { state: 'queued' } as const satisfies Partial<ServerStatus>;

// The chart threw, which is our bug; the root replaces it within a second.
const brokenCondition = {
  state: 'backingOff',
  reason: 'retrying',
  lastError: {
    code: 'INTERNAL',
    kind: 'unknown',
    message: 'The chart of this server broke; it is being replaced. Please report it.',
  },
} as const satisfies Partial<ServerStatus>;
