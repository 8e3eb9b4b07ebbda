/**
 * Explains one server's state from the snapshots of its chart, the root and the start-permit queue,
 * and from its recorded history.
 */

import type { SnapshotFrom } from 'xstate';
import { permitCounts, type slotsMachine } from '../../../machines/slots.ts';
import { actorsOf } from '../../../machines/troupe/context.ts';
import { gatesOf } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { Decision } from '../../domain/host/approval.ts';
import type {
  AdmissionRule,
  Attempt,
  Explanation,
  QueuePlace,
  RunningTimer,
  StateName,
  WindowUse,
} from '../../domain/host/explanation.ts';
import type { StormLimit } from '../../domain/policy.ts';
import type { Verdict } from '../../domain/server-state.ts';
import {
  type DesiredServer,
  needsApproval,
  type Settings,
  type SourceRef,
} from '../../domain/settings.ts';
import { admit, admitAll, type Gates } from '../../policies/admission/admit.ts';
import { withDecision } from '../../policies/approvals/records.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import type { Clients } from '../clients/clients.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { RootSnapshot, ServerRef, StatusBoard } from '../status/board.ts';
import { refusingRule } from '../status/next-step.ts';
import { decisionOf, mayFire, whatIf } from '../status/server-chart.ts';
import { circuitOf, conditionOf, type ServerSnapshot } from '../status/status-of.ts';
import { moversOf, type Opener } from './effective-events.ts';
import type { ChartTimer, ServerHistories } from './server-history.ts';

type SessionRef = NonNullable<ServerSnapshot['children']['session']>;

export interface ExplainPorts {
  readonly board: StatusBoard;
  readonly book: DesiredBook;
  readonly clients: Pick<Clients, 'leases'>;
}

/** Explains a server; undefined if it does not exist. */
export function explainServer(
  server: string,
  { board, book, clients }: ExplainPorts,
  root: RootSnapshot,
  histories: ServerHistories,
  clock: Clock,
): Explanation | undefined {
  const { settings } = root.context;
  const status = board.status(server);
  const ref = board.view(server)?.ref;
  const desired = book.of(server);
  if (status === undefined || desired === undefined) return undefined;
  const gates = gatesOf(root.context);
  const admission = { desired, gates, settings: settings ?? { servers: [desired] } };
  const verdict = ref?.getSnapshot().context.verdict ?? admit(desired, gates);
  const history = histories.of(server);
  const failure = history?.lastFailure;
  const sharedWith = clients.leases.sharedWith(server);
  const attempts = history?.timeline.attempts(clock.wallNow()) ?? [];
  return deepFreeze({
    status,
    ...(ref === undefined
      ? { movedBy: [], timers: [] }
      : {
          ...explainChart(ref, root, histories, admission, clock),
          budgets: budgetsOf(ref.getSnapshot(), attempts, clock),
        }),
    ...(sharedWith.length > 0 && { sharedWith }),
    admission: admissionOf(verdict, admission),
    ...defined({
      lastFailure: failure && { ...failure.error, at: iso(failure.atMs) },
      nextStep: status.action,
    }),
    attempts,
  });
}

function explainChart(
  ref: ServerRef,
  root: RootSnapshot,
  histories: ServerHistories,
  admission: AdmissionFacts,
  clock: Clock,
) {
  const snapshot = ref.getSnapshot();
  const { session } = snapshot.children;
  const wallNowMs = clock.wallNow();
  const charts = histories.timers;
  const timers = [
    ...serverTimers(snapshot, charts.of(ref, wallNowMs)),
    ...(session === undefined ? [] : charts.ofSession(session, wallNowMs).map(sessionTimer)),
  ].sort((one, other) => Date.parse(one.dueAt) - Date.parse(other.dueAt));
  return {
    decision: decisionOf(snapshot, histories.lastRowOf(ref)),
    ...defined({ session: session && { state: sessionStateOf(session) } }),
    movedBy: moversOf(snapshot, openersOf(admission), clock.now()),
    timers,
    ...defined({ queue: queuePlaceOf(root, snapshot.context.actorId) }),
    circuit: circuitUseOf(snapshot, timers, wallNowMs),
  };
}

/** Returns the dotted path of the session's state; omits the regions of an open session. */
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

/** Returns the server's own timers, except those whose guard would fail now. */
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
  return { name, totalMs, enteredAt: iso(enteredAtMs), dueAt: iso(dueAtMs), ...defined({ to }) };
}

function circuitUseOf(
  snapshot: ServerSnapshot,
  timers: readonly RunningTimer[],
  wallNowMs: number,
): NonNullable<Explanation['circuit']> {
  const cooldown = timers.find(({ name }) => name === 'circuitCooldown');
  return {
    state: circuitOf(snapshot),
    failedCalls: snapshot.context.circuit.failedCalls,
    threshold: snapshot.context.policy.breaker.threshold,
    ...defined({
      cooldownLeftMs: cooldown && Math.max(0, Date.parse(cooldown.dueAt) - wallNowMs),
    }),
  };
}

function budgetsOf(
  snapshot: ServerSnapshot,
  attempts: readonly Attempt[],
  clock: Clock,
): NonNullable<Explanation['budgets']> {
  const { tries, windows, hasServed } = snapshot.context;
  const { attempt, sameExits: used } = tries;
  const { startup, restart, storm } = snapshot.context.policy;
  const { reason } = conditionOf(snapshot);
  const max = hasServed ? null : startup.sameExits;
  // The chart forgets the times of a window when it has decided by them.
  const lost = attempts.filter(({ readyMs, failure }) => readyMs !== undefined && failure);
  const crashed = lost.filter(({ failure }) => failure?.kind === 'crashed');
  return {
    attempts: { used: attempt, max: (hasServed ? restart : startup).maxAttempts },
    ...(max !== null && { sameExits: { used, max } }),
    ...defined({
      crashes: windowUseOf(
        storm.crashLoop,
        reason === 'crashLoop' ? crashed : windows.crashTimes,
        clock,
      ),
      losses: windowUseOf(
        storm.reconnectStorm,
        reason === 'reconnectStorm' ? lost : windows.lossTimes,
        clock,
      ),
    }),
  };
}

/** Converts a chart's monotonic times to wall times; those of attempts led to the limit. */
function windowUseOf(
  storm: StormLimit | null,
  ended: readonly (number | Attempt)[],
  clock: Clock,
): WindowUse | undefined {
  if (storm === null) return undefined;
  const { limit, windowMs } = storm;
  const now = clock.now();
  const times = ended.flatMap((one) => {
    if (typeof one !== 'number') return one.endedAt ?? [];
    return now - one < windowMs ? iso(Math.round(clock.wallNow() - (now - one))) : [];
  });
  return { times: times.slice(-limit), limit, windowMs };
}

function queuePlaceOf(root: RootSnapshot, actorId: string): QueuePlace | undefined {
  // The child is spawned by name, so the root's types do not include it.
  const slots = root.children['slots']?.getSnapshot() as
    | SnapshotFrom<typeof slotsMachine>
    | undefined;
  const own = slots?.context.waiting.find((entry) => entry.actorId === actorId);
  if (slots === undefined || own === undefined) return undefined;
  const { waiting, permits, retriesLeft } = slots.context;
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
    permits: permitCounts(slots.context)[own.pool],
    heldBy: permits
      .filter(({ pool }) => pool === own.pool)
      .map((permit) => names.get(permit.actorId) ?? permit.actorId),
    ...(own.retry ? { retriesLeft } : {}),
  };
}

function iso(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

/** The facts on which admission decides. */
interface AdmissionFacts {
  readonly desired: DesiredServer;
  readonly gates: Gates;
  readonly settings: Pick<Settings, 'servers' | 'limits' | 'budget'>;
}

function admissionOf(verdict: Verdict, facts: AdmissionFacts): Explanation['admission'] {
  const { desired } = facts;
  const own = { rule: ownRule[verdict] ?? 'approval', source: desired.source } as const;
  switch (verdict) {
    case 'excluded':
    case 'notAllowed':
      return { verdict, ...refusingRule(verdict, desired, { ...facts.gates, ...facts.settings }) };
    case 'invalidConfig':
      return { verdict, rule: 'invalid', source: placeOfFault(desired) };
    case 'admitted':
      return { verdict, ...own, rule: needsApproval(desired) ? 'approval' : 'ungated' };
    case 'disabled':
      return desired.disabledBy === undefined
        ? { verdict, ...own }
        : { verdict, rule: 'mcp.disabledServers', source: desired.disabledBy };
    case 'overBudget':
      return { verdict, ...own, source: facts.settings.budget?.source ?? desired.source };
    case 'untrusted':
    case 'pendingApproval':
    case 'rejected':
      return { verdict, ...own };
  }
}

const ownRule: Partial<Readonly<Record<Verdict, AdmissionRule>>> = {
  disabled: 'enabled',
  untrusted: 'trust',
  overBudget: 'budget',
};

function placeOfFault({ source, invalid }: DesiredServer): SourceRef {
  if (invalid === undefined) return source;
  const { file, line, key = source.key } = invalid;
  return { file, key, ...(line === undefined ? {} : { line }), scope: source.scope };
}

/** Lists the host events that would change the decision, by evaluating admission with each. */
function openersOf({ desired, gates, settings }: AdmissionFacts): readonly Opener[] {
  const { invalid: _invalid, bar, ...entry } = desired;
  // The host's settings cannot lift these two.
  const isFixed = bar?.rule === 'managed' || bar?.rule === 'hostRule';
  const fixed = { ...entry, enabled: true, ...(isFixed ? { bar } : {}) };
  const { allowed: _allowed, ...unlisted } = gates;
  const fingerprint = approvalFingerprint(desired);
  const decided = (decision: Decision): Gates => ({
    ...gates,
    decisions: withDecision(gates.decisions, { server: desired.name, fingerprint, decision }),
  });
  const verdictUnder = (changed: Gates): Verdict => verdictAmong(desired, changed, settings);
  const now = verdictUnder(gates);
  return [
    {
      event: 'settings.changed',
      // Settings can lift the budget too, so the server is evaluated alone.
      verdict: admit(fixed, { ...unlisted, excluded: [] }),
    },
    { event: 'trust.changed', verdict: verdictUnder({ ...gates, trusted: true }) },
    { event: 'allow.changed', verdict: verdictUnder({ ...gates, hostAllowed: null }) },
    { event: 'approval.grant', verdict: verdictUnder(decided('granted')) },
    { event: 'approval.reject', verdict: verdictUnder(decided('rejected')) },
    { event: 'approval.revoke', verdict: verdictUnder(decided('revoked')) },
  ].filter(({ verdict }) => verdict !== now);
}

/** Evaluates all servers only under a budget, where they compete; there may be ten thousand. */
function verdictAmong(
  desired: DesiredServer,
  gates: Gates,
  { servers, budget }: AdmissionFacts['settings'],
): Verdict {
  const alone = admit(desired, gates);
  if (alone !== 'admitted' || budget === undefined) return alone;
  const lists = { servers, budget, excluded: gates.excluded };
  const found = admitAll(lists, gates).find((each) => each.desired.name === desired.name);
  return found?.verdict ?? alone;
}
