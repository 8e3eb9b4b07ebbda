/**
 * Analyzes a server's chart: which table row led to a state, and where an event would lead. It
 * reads the chart's own tables and guards, and never sends an event to a running actor.
 */

import { type AnyStateNode, type AnyTransitionDefinition, transition } from 'xstate';
import {
  type ServerContext,
  type ServerEvent,
  type ServerSnapshot,
  serverMachine,
} from '../../../machines/server/server.ts';
import { activeStates } from '../../../machines/xstate/internals.ts';
import type { Decision, StateName } from '../../domain/host/explanation.ts';

interface Named {
  readonly type: string;
  readonly params?: Readonly<Record<string, unknown>>;
}
type Guard = (
  args: { readonly context: ServerContext },
  params: Readonly<Record<string, unknown>> | undefined,
) => boolean;

// The machine's own implementations, which its types do not include.
const { guards, actions } = serverMachine.implementations as unknown as {
  readonly guards: Readonly<Record<string, Guard>>;
  readonly actions: Readonly<Record<string, { readonly type?: string }>>;
};

const root: AnyStateNode = serverMachine.root;
const parked = nodeAt('connection', 'parked');
// Transient states, whose tables decide where a server without a session rests.
const tables = [nodeAt('connection', 'settling'), parked].flatMap(tablesIn);
const rows = tables.flatMap(rowsOf);
const rowsBefore = new Map(
  tables.map(({ id }, place) => [id, tables.slice(0, place).flatMap(rowsOf).length]),
);
const closing = nodeAt('connection', 'engaged', 'live', 'closing');

// Actions of the second kind decide whether to send, and do nothing else.
const sendingKinds: ReadonlySet<string | undefined> = new Set([
  'xstate.sendTo',
  'xstate.enqueueActions',
]);

// The chart without its sends, so that `whatIf` has no side effects.
const silentMachine = serverMachine.provide({
  actions: Object.fromEntries(
    Object.entries(actions)
      .filter(([, { type }]) => sendingKinds.has(type))
      .map(([name]) => [name, () => {}]),
  ) as NonNullable<Parameters<typeof serverMachine.provide>[0]['actions']>,
});

function nodeAt(...path: readonly string[]): AnyStateNode {
  let node: AnyStateNode = root;
  for (const key of path) {
    const next: AnyStateNode | undefined = node.states[key];
    if (next === undefined) throw new Error(`The server chart has no state ${path.join('.')}.`);
    node = next;
  }
  return node;
}

function tablesIn(node: AnyStateNode): readonly AnyStateNode[] {
  const below = Object.values<AnyStateNode>(node.states).flatMap(tablesIn);
  return rowsOf(node).length === 0 ? below : [node, ...below];
}

function rowsOf({ always = [] }: AnyStateNode): readonly AnyTransitionDefinition[] {
  return always;
}

/**
 * Returns the decision that led to the current state; while the server stops, the next decision.
 *
 * @param lastRow - the last row taken, as {@link rowTaken} counts them
 */
export function decisionOf(snapshot: ServerSnapshot, lastRow: number | undefined): Decision {
  const active = activeNodes(snapshot);
  const leadsHere = (row: AnyTransitionDefinition | undefined): boolean =>
    row?.target?.some((node) => active.has(node)) === true;
  if (active.has(closing)) return decisionBy(rowsAhead(snapshot.context).at(-1), true);
  // The context may have changed since: a suspension resets the counts that caused it.
  const last = lastRow === undefined ? undefined : rows[lastRow];
  // The innermost table comes last and is the most specific.
  return decisionBy(leadsHere(last) ? last : rows.findLast(leadsHere), false);
}

/**
 * Returns which row a step of a server's chart took, counted from 0 over all tables; undefined for
 * any other step.
 */
export function rowTaken(steps: readonly AnyTransitionDefinition[]): number | undefined {
  for (const step of steps) {
    const before = rowsBefore.get(step.source.id);
    if (before !== undefined) return before + rowsOf(step.source).indexOf(step);
  }
  return undefined;
}

/**
 * Returns where admission or a stop has already decided that a server will rest; undefined if
 * neither has. Where a loss leads is known only once the session has closed.
 */
export function decidedRest(context: ServerContext): StateName | undefined {
  // A server that retires leaves its admission and its stop to its successor.
  const ahead = rowsAhead({ ...context, retiring: false });
  const [first, ...further] = ahead.map(({ target }) => target?.[0]?.path ?? []);
  if (first?.[1] !== parked.key) return undefined;
  const [state, reason] = (further.at(-1) ?? first).slice(2) as [
    StateName['state'],
    StateName['reason'],
  ];
  return { state, ...(reason === undefined ? {} : { reason }) };
}

/** Returns the rows that the tables would take, in order. */
function rowsAhead(context: ServerContext): readonly AnyTransitionDefinition[] {
  const taken: AnyTransitionDefinition[] = [];
  for (let table = tables[0]; table !== undefined; table = tableBehind(taken.at(-1))) {
    const row = rowsOf(table).find((each) => holds(each, context));
    if (row === undefined) break;
    taken.push(row);
  }
  return taken;
}

function tableBehind(row: AnyTransitionDefinition | undefined): AnyStateNode | undefined {
  const target = row?.target?.[0];
  const entered = target?.type === 'compound' ? target.initial.target[0] : target;
  return tables.find((table) => table === entered);
}

function decisionBy(row: AnyTransitionDefinition | undefined, isForecast: boolean): Decision {
  const table: AnyStateNode = row?.source ?? root;
  const rowsOfTable = rowsOf(table);
  const index = row === undefined ? -1 : rowsOfTable.indexOf(row);
  const guard = guardOf(row);
  return {
    table: table.path.join('.'),
    guard: guard?.type ?? 'otherwise',
    ...(guard?.params === undefined ? {} : { params: guard.params }),
    target: row?.target?.[0]?.path.join('.') ?? '',
    row: index + 1,
    passed: rowsOfTable.slice(0, Math.max(0, index)).map((each) => guardText(guardOf(each))),
    isForecast,
  };
}

/**
 * Returns a row's guard. Parameters that depend on an event are a function, which cannot be shown.
 */
function guardOf(row: AnyTransitionDefinition | undefined): Named | undefined {
  const guard = row?.guard as string | Named | undefined;
  if (guard === undefined) return undefined;
  const { type, params }: Named = typeof guard === 'string' ? { type: guard } : guard;
  return params === undefined || typeof params === 'function' ? { type } : { type, params };
}

function guardText(guard: Named | undefined): string {
  if (guard === undefined) return 'otherwise';
  const params = Object.values(guard.params ?? {});
  return params.length === 0 ? guard.type : `${guard.type}(${params.join(', ')})`;
}

/** Evaluates the machine's own guard. */
function holds(row: AnyTransitionDefinition, context: ServerContext): boolean {
  const guard = guardOf(row);
  return guard === undefined || guards[guard.type]?.({ context }, guard.params) === true;
}

function activeNodes(snapshot: ServerSnapshot): ReadonlySet<AnyStateNode> {
  // The nodes of a running server belong to its own copy of the machine.
  return new Set(activeStates(snapshot).map(({ path }) => nodeAt(...path)));
}

/** Returns every event that a current state handles, except timers. */
export function answeredEvents(snapshot: ServerSnapshot): ReadonlySet<string> {
  return new Set(
    activeStates(snapshot).flatMap(({ ownEvents }) =>
      (ownEvents as readonly string[]).filter(
        (type) => !type.startsWith('xstate.') || type === 'xstate.done.actor.session',
      ),
    ),
  );
}

/** Returns whether this timer's event would be handled now. */
export function mayFire(snapshot: ServerSnapshot, eventType: string): boolean {
  const { context } = snapshot;
  return activeStates(snapshot).some(({ after }) =>
    after.some((row) => row.eventType === eventType && holds(row, context)),
  );
}

/** Returns the snapshot after an event, computed without side effects. */
export function whatIf(
  snapshot: ServerSnapshot,
  event: ServerEvent | { type: string },
): ServerSnapshot {
  const here = silentMachine.resolveState({ value: snapshot.value, context: snapshot.context });
  const [next] = transition(silentMachine, here, event as ServerEvent);
  return next;
}
