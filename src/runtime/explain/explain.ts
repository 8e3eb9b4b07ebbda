/**
 * Explains one server from the present snapshots: of its own chart, of the root
 * and of the line for start permits, with what was remembered of its past.
 */

import type { SnapshotFrom } from 'xstate';
import type { slotsMachine } from '../../../machines/slots.ts';
import { actorsOf } from '../../../machines/troupe/context.ts';
import { gatesOf } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import type {
  Explanation,
  QueuePlace,
  RunningTimer,
  WindowUse,
} from '../../domain/host/explanation.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { StormLimit } from '../../domain/policy.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { admit } from '../../policies/admission/admit.ts';
import { isRecord } from '../../policies/is-record.ts';
import type { RootSnapshot, ServerRef } from '../status/board.ts';
import { nextStepAfter } from '../status/next-step.ts';
import { decisionOf, whatIf } from '../status/server-chart.ts';
import { circuitOf, conditionOf, type ServerSnapshot } from '../status/status-of.ts';
import { type AdmissionFacts, admissionOf, openersOf } from './admission.ts';
import { moversOf } from './movers.ts';
import type { ServerHistory } from './server-history.ts';
import type { SessionTimers } from './session-timers.ts';

/** What is known of the server to be explained. */
export interface ExplainFacts {
  readonly status: ServerStatus;
  readonly desired: DesiredServer;
  readonly root: RootSnapshot;
  /** Undefined while it has no chart. */
  readonly ref: ServerRef | undefined;
  readonly history: ServerHistory | undefined;
  /** The line of its table that its chart took last, from 0. */
  readonly lastRow: number | undefined;
  readonly sessionTimers: SessionTimers;
  readonly clock: Clock;
}

type SessionRef = NonNullable<ServerSnapshot['children']['session']>;

type ChartPart = Pick<
  Explanation,
  'decision' | 'session' | 'movedBy' | 'timers' | 'queue' | 'circuit' | 'budgets'
>;

export function explainServer(facts: ExplainFacts): Explanation {
  const { status, desired, root, ref, history, clock } = facts;
  const snapshot = ref?.getSnapshot();
  const admission: AdmissionFacts = {
    desired,
    gates: gatesOf(root.context),
    settings: root.context.settings ?? { servers: [desired] },
  };
  const verdict = snapshot?.context.verdict ?? admit(desired, admission.gates);
  const chart: ChartPart =
    snapshot === undefined ? { movedBy: [], timers: [] } : explainChart(snapshot, facts, admission);
  const failure = history?.lastFailure;
  const nextStep = nextStepAfter(desired, status);
  return {
    status,
    ...chart,
    admission: admissionOf(verdict, admission),
    ...(failure === undefined ? {} : { lastFailure: { ...failure.error, at: iso(failure.atMs) } }),
    attempts: history?.timeline.attempts(clock.wallNow()) ?? [],
    ...(nextStep === undefined ? {} : { nextStep }),
  };
}

function explainChart(
  snapshot: ServerSnapshot,
  { root, history, lastRow, sessionTimers, clock }: ExplainFacts,
  admission: AdmissionFacts,
): ChartPart {
  const { session } = snapshot.children;
  const wallNowMs = clock.wallNow();
  const timers = [
    ...serverTimers(snapshot, history, wallNowMs),
    ...(session === undefined ? [] : timersOfSession(sessionTimers, session, wallNowMs)),
  ].sort((one, other) => Date.parse(one.dueAt) - Date.parse(other.dueAt));
  const queue = queuePlaceOf(root, snapshot.context.actorId);
  return {
    decision: decisionOf(snapshot, lastRow),
    ...(session === undefined ? {} : { session: { state: sessionStateOf(session) } }),
    movedBy: moversOf(snapshot, openersOf(admission), clock.now()),
    timers,
    ...(queue === undefined ? {} : { queue }),
    circuit: circuitUseOf(snapshot, timers, clock.wallNow()),
    budgets: budgetsOf(snapshot, clock),
  };
}

/** Dotted path of the session's state; the regions of an open session are left out. */
function sessionStateOf(session: SessionRef): string {
  const path: string[] = [];
  let value: unknown = session.getSnapshot().value;
  while (isRecord(value) && Object.keys(value).length === 1) {
    const [[key, inner] = ['', undefined]] = Object.entries(value);
    path.push(key);
    value = inner;
  }
  return [...path, ...(typeof value === 'string' ? [value] : [])].join('.');
}

/** Deadlines of a session that end it. */
const endingDeadlines: ReadonlySet<string> = new Set([
  'connectDeadline',
  'listDeadline',
  'floodDeadline',
]);

function timersOfSession(
  timers: SessionTimers,
  session: SessionRef,
  wallNowMs: number,
): readonly RunningTimer[] {
  return timers.running(session, wallNowMs).map(({ name, totalMs, enteredAtMs, dueAtMs }) => ({
    name,
    totalMs,
    enteredAt: iso(enteredAtMs),
    dueAt: iso(dueAtMs),
    ...(endingDeadlines.has(name) ? { to: { state: 'stopping' } } : {}),
  }));
}

function serverTimers(
  snapshot: ServerSnapshot,
  history: ServerHistory | undefined,
  wallNowMs: number,
): readonly RunningTimer[] {
  const before = conditionOf(snapshot);
  const timers = history?.timers.running(wallNowMs) ?? [];
  return timers.map(({ name, totalMs, enteredAtMs, dueAtMs, eventType }) => {
    const to = conditionOf(whatIf(snapshot, { type: eventType }));
    const isSame = to.state === before.state && to.reason === before.reason;
    return {
      name,
      totalMs,
      enteredAt: iso(enteredAtMs),
      dueAt: iso(dueAtMs),
      ...(isSame ? {} : { to }),
    };
  });
}

function circuitUseOf(
  snapshot: ServerSnapshot,
  timers: readonly RunningTimer[],
  wallNowMs: number,
): NonNullable<Explanation['circuit']> {
  const cooldown = timers.find(({ name }) => name === 'circuitCooldown');
  return {
    state: circuitOf(snapshot),
    failedCalls: snapshot.context.failedCalls,
    threshold: snapshot.context.policy.breaker.threshold,
    ...(cooldown === undefined
      ? {}
      : { cooldownLeftMs: Math.max(0, Date.parse(cooldown.dueAt) - wallNowMs) }),
  };
}

function budgetsOf({ context }: ServerSnapshot, clock: Clock): NonNullable<Explanation['budgets']> {
  const { attempt, crashTimes, lossTimes, hasServed } = context;
  const { startup, restart, storm } = context.policy;
  return {
    attempts: { used: attempt, max: (hasServed ? restart : startup).maxAttempts },
    ...(storm.crashLoop === null
      ? {}
      : { crashes: windowUseOf(crashTimes, storm.crashLoop, clock) }),
    ...(storm.reconnectStorm === null
      ? {}
      : { losses: windowUseOf(lossTimes, storm.reconnectStorm, clock) }),
  };
}

/** Charts count in monotonic time, people in wall time. */
function windowUseOf(
  times: readonly number[],
  { limit, windowMs }: StormLimit,
  clock: Clock,
): WindowUse {
  const now = clock.now();
  return {
    times: times
      .filter((at) => now - at < windowMs)
      .map((at) => iso(Math.round(clock.wallNow() - (now - at)))),
    limit,
    windowMs,
  };
}

function queuePlaceOf(root: RootSnapshot, actorId: string): QueuePlace | undefined {
  // The child is spawned by name, of which the types of the root know nothing.
  const slots = root.children['slots']?.getSnapshot() as
    | SnapshotFrom<typeof slotsMachine>
    | undefined;
  const own = slots?.context.waiting.find((entry) => entry.actorId === actorId);
  if (slots === undefined || own === undefined) return undefined;
  const { waiting, permits, counts, retriesLeft } = slots.context;
  const line = waiting.filter(({ pool }) => pool === own.pool);
  const names = new Map(
    [...root.context.live].flatMap(([name, server]) =>
      actorsOf(server).map(({ actorId: id }) => [id, name] as const),
    ),
  );
  return {
    pool: own.pool,
    position: line.indexOf(own) + 1,
    waiting: line.length,
    permits: counts[own.pool],
    heldBy: permits
      .filter(({ pool }) => pool === own.pool)
      .map((permit) => names.get(permit.actorId) ?? permit.actorId),
    ...(own.retry ? { retriesLeft } : {}),
  };
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
