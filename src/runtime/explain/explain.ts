/**
 * Explains one server's state from the snapshots of its chart, of the root and of the queue for
 * start permits, and from its recorded history.
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
  StateName,
  WindowUse,
} from '../../domain/host/explanation.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { StormLimit } from '../../domain/policy.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { admit } from '../../policies/admission/admit.ts';
import { isRecord } from '../../policies/is-record.ts';
import type { RootSnapshot, ServerRef } from '../status/board.ts';
import { nextStepAfter } from '../status/next-step.ts';
import { decisionOf, mayFire, whatIf } from '../status/server-chart.ts';
import { circuitOf, conditionOf, type ServerSnapshot } from '../status/status-of.ts';
import { type AdmissionFacts, admissionOf, openersOf } from './admission.ts';
import type { ChartTimer, ChartTimers } from './chart-timers.ts';
import { moversOf } from './movers.ts';
import type { ServerHistory } from './server-history.ts';

/** What is known of the server. */
export interface ExplainFacts {
  readonly status: ServerStatus;
  readonly desired: DesiredServer;
  readonly root: RootSnapshot;
  /** Undefined while it has no chart. */
  readonly ref: ServerRef | undefined;
  readonly history: ServerHistory | undefined;
  /** The table row that its chart took last, from 0. */
  readonly lastRow: number | undefined;
  readonly timers: ChartTimers;
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
    ref === undefined || snapshot === undefined
      ? { movedBy: [], timers: [] }
      : explainChart(ref, snapshot, facts, admission);
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
  ref: ServerRef,
  snapshot: ServerSnapshot,
  { root, lastRow, timers: charts, clock }: ExplainFacts,
  admission: AdmissionFacts,
): ChartPart {
  const { session } = snapshot.children;
  const wallNowMs = clock.wallNow();
  const timers = [
    ...serverTimers(snapshot, charts.of(ref, wallNowMs)),
    ...(session === undefined ? [] : charts.ofSession(session, wallNowMs).map(sessionTimer)),
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

function sessionTimer(timer: ChartTimer): RunningTimer {
  const to = endingDeadlines.has(timer.name) ? ({ state: 'stopping' } as const) : undefined;
  return shownTimer(timer, to);
}

/** The server's own timers; a timer whose guard fails now would do nothing. */
function serverTimers(
  snapshot: ServerSnapshot,
  timers: readonly ChartTimer[],
): readonly RunningTimer[] {
  const before = conditionOf(snapshot);
  return timers
    .filter(({ id }) => mayFire(snapshot, id))
    .map((timer) => {
      const to = conditionOf(whatIf(snapshot, { type: timer.id }));
      const isSame = to.state === before.state && to.reason === before.reason;
      return shownTimer(timer, isSame ? undefined : to);
    });
}

function shownTimer(
  { name, totalMs, enteredAtMs, dueAtMs }: ChartTimer,
  to: StateName | undefined,
): RunningTimer {
  const [enteredAt, dueAt] = [iso(enteredAtMs), iso(dueAtMs)];
  return { name, totalMs, enteredAt, dueAt, ...(to === undefined ? {} : { to }) };
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

/** Converts the monotonic times of a chart to wall times. */
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
  // The child is spawned by name, so the root's types do not include it.
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
