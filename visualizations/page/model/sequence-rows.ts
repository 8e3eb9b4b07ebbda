/**
 * The records as rows of a sequence diagram: which are shown, their lifelines, and what each row draws. Only visible
 * rows are converted.
 */

import type {
  ActorKey,
  InspectionRecord,
  PicturedActor,
} from '../../../src/domain/host/inspection.ts';
import { duration } from './durations.ts';

/** The lifeline of everything that is not an actor: the host, the user, I/O. */
export const outside = 'outside';

/** Kinds of rows that can be switched on and off. */
export const rowKinds = ['event', 'state', 'ignored', 'timer', 'step', 'status', 'life'] as const;
export type RowKind = (typeof rowKinds)[number];

export interface SequenceChoice {
  readonly kinds: ReadonlySet<RowKind>;
  /** Words that must all occur in the row's text. */
  readonly text: string;
  /** Only rows that touch this server; absent: all. */
  readonly server?: string;
}

export interface Lifeline {
  /** An actor, or {@link outside}. */
  readonly key: ActorKey;
  readonly name: string;
  readonly role: string;
  readonly server?: string;
}

export type SequenceRow = { readonly n: number; readonly t: number; readonly label: string } & (
  | {
      readonly draw: 'arrow';
      readonly from: ActorKey;
      readonly to: ActorKey;
      readonly note?: string;
    }
  | {
      readonly draw: 'mark';
      readonly at: ActorKey;
      readonly tone: MarkTone;
      readonly note?: string;
    }
  | { readonly draw: 'line'; readonly note?: string }
);
export type MarkTone = 'state' | 'ended' | 'ignored' | 'timer' | 'step' | 'status';

function kindOf({ kind }: InspectionRecord): RowKind {
  if (kind === 'timerEnd') return 'timer';
  return rowKinds.find((each) => each === kind) ?? 'life';
}

/** Whether a record matches the choice. */
export function isChosen(
  record: InspectionRecord,
  choice: SequenceChoice,
  isOf: (actor: ActorKey, server: string) => boolean,
): boolean {
  // The actor's own record already shows its start.
  if (record.kind === 'event' && record.type === 'xstate.init') return false;
  if (!choice.kinds.has(kindOf(record))) return false;
  if (choice.server !== undefined && !touches(record, choice.server, isOf)) return false;
  if (choice.text === '') return true;
  const text = textOf(record);
  return choice.text
    .toLowerCase()
    .split(/\s+/u)
    .every((word) => text.includes(word));
}

function touches(
  record: InspectionRecord,
  server: string,
  isOf: (actor: ActorKey, server: string) => boolean,
): boolean {
  switch (record.kind) {
    case 'event':
      return [record.to, record.from].some((key) => key !== undefined && isOf(key, server));
    case 'gone':
      return record.server === server;
    case 'status':
      return record.status.name === server;
    case 'gap':
      return true;
    case 'reconciled':
      return record.plan.some((step) => step.server === server);
    default:
      return isOf(record.actor, server);
  }
}

function textOf(record: InspectionRecord): string {
  const label = labelOf(record);
  const type = 'type' in record ? record.type : '';
  const facts = record.kind === 'event' ? factsText(record.facts) : '';
  return `${record.kind} ${label} ${type} ${facts}`.toLowerCase();
}

/** The lifelines of the given records: outside, root, slots, then servers with their sessions. */
export function lifelines(
  records: Iterable<InspectionRecord>,
  actors: ReadonlyMap<ActorKey, PicturedActor>,
  most: number,
): readonly Lifeline[] {
  const touched = new Set<ActorKey>();
  for (const record of records) {
    for (const key of keysOf(record)) touched.add(key);
    if (touched.size >= most) break;
  }
  const known = [...touched]
    .flatMap((key) => actors.get(key) ?? [])
    .map((actor) => ({ actor, order: orderOf(actor, actors) }))
    .sort((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)))
    .map(({ actor }) => lifelineOf(actor));
  return touched.has(outside)
    ? [{ key: outside, name: 'outside', role: 'host and I/O' }, ...known]
    : known;
}

function keysOf(record: InspectionRecord): readonly ActorKey[] {
  switch (record.kind) {
    case 'event':
      return [record.from ?? outside, record.to];
    case 'actor':
      return record.parent === undefined ? [record.actor] : [record.parent, record.actor];
    case 'status':
    case 'gone':
    case 'reconciled':
    case 'gap':
      return [];
    default:
      return [record.actor];
  }
}

function orderOf(actor: PicturedActor, actors: ReadonlyMap<ActorKey, PicturedActor>): string {
  const { machine } = actor;
  const rank = machine === 'troupe' ? '0' : machine === 'slots' ? '1' : '2';
  const path: string[] = [];
  const seen = new Set<ActorKey>();
  for (
    let at: PicturedActor | undefined = actor;
    at !== undefined && at.machine !== 'troupe' && !seen.has(at.actor);
    at = at.parent === undefined ? undefined : actors.get(at.parent)
  ) {
    seen.add(at.actor);
    path.unshift(`${at.id}\u0000${at.actor}`);
  }
  return [rank, ...path].join('\u0001');
}

function lifelineOf({ actor, id, machine, server, login }: PicturedActor): Lifeline {
  if (machine === 'troupe') return { key: actor, name: 'troupe', role: 'root' };
  if (machine === 'slots') return { key: actor, name: 'slots', role: 'start permits' };
  if (machine === 'authorization')
    return { key: actor, name: 'login', role: login?.servers.join(', ') ?? id };
  if (server === undefined) return { key: actor, name: id, role: 'actor' };
  if (machine === 'server' || machine === 'handover')
    return { key: actor, name: server, role: id, server };
  // Each session has its own lifeline; only the key distinguishes them.
  return { key: actor, name: server, role: `${id} ${actor}`, server };
}

/**
 * What a row draws.
 *
 * @param was - the actor's previous leaves, for a state record
 */
export function rowOf(record: InspectionRecord, was?: readonly string[]): SequenceRow {
  const { n, t } = record;
  const base = { n, t, label: labelOf(record, was) };
  const noted = (note: string) => (note === '' ? {} : { note });
  const mark = (at: ActorKey, tone: MarkTone) => ({ ...base, draw: 'mark', at, tone }) as const;
  const arrow = (from: ActorKey, to: ActorKey) => ({ ...base, draw: 'arrow', from, to }) as const;
  switch (record.kind) {
    case 'event':
      return { ...arrow(record.from ?? outside, record.to), ...noted(factsText(record.facts)) };
    case 'actor':
      return record.parent === undefined
        ? mark(record.actor, 'state')
        : arrow(record.parent, record.actor);
    case 'state':
      return mark(record.actor, record.life === 'active' ? 'state' : 'ended');
    case 'step':
      return { ...mark(record.actor, 'step'), ...noted(record.edges.join(' ')) };
    case 'ignored':
      return mark(record.actor, 'ignored');
    case 'timer':
    case 'timerEnd':
      return mark(record.actor, 'timer');
    case 'login':
      return mark(record.actor, 'state');
    default:
      return { ...base, draw: 'line' };
  }
}

/** The lifelines that a row touches; none for a line across all. */
export function lanesOf(row: SequenceRow): readonly ActorKey[] {
  if (row.draw === 'line') return [];
  return row.draw === 'mark' ? [row.at] : [row.from, row.to];
}

export function labelOf(record: InspectionRecord, was: readonly string[] = []): string {
  switch (record.kind) {
    case 'event':
      return eventName(record.type);
    case 'actor':
      return `starts ${record.id}`;
    case 'state':
      return record.life === 'active' ? movedTo(record.leaves, was) : `is ${record.life}`;
    case 'step':
      return record.type === '' ? 'at once' : eventName(record.type);
    case 'ignored':
      return `ignores ${eventName(record.type)}`;
    case 'timer':
      return `${record.delay ?? timerName(record.id)} set, ${duration(record.ms)}`;
    case 'timerEnd':
      return `${timerName(record.id)} ${record.fired ? 'fired' : 'cancelled'}`;
    case 'status': {
      const { name, state, reason } = record.status;
      return `${name} is ${state}${reason === undefined ? '' : ` (${reason})`}`;
    }
    case 'login':
      return `login of ${record.login.servers.join(', ')}`;
    case 'gone':
      return `${record.server} left the settings`;
    case 'reconciled':
      return `pass: ${record.plan.length === 1 ? '1 step' : `${record.plan.length} steps`}, ${duration(record.durationMs)}`;
    case 'gap':
      return `${record.count} records are missing here`;
  }
}

/** The new leaves, by the last part of their paths. */
function movedTo(leaves: readonly string[], was: readonly string[]): string {
  const fresh = leaves.filter((leaf) => !was.includes(leaf));
  if (fresh.length === 0) return 'stays';
  return fresh.map((leaf) => leaf.split('.').slice(-2).join('.')).join(' + ');
}

// The events that XState sends by itself, such as `xstate.done.actor.db.0`.
const ofXState = /^xstate\.(done|error)\.(?:actor|state)\.(.+?)(?:\.\d+)?$/u;

/** A timer's event is named by its delay, and the end of an actor by the actor. */
export function eventName(type: string): string {
  return type.startsWith('xstate.after.')
    ? `after ${timerName(type)}`
    : type.replace(ofXState, '$1 $2');
}

function timerName(id: string): string {
  return id.replace(/^xstate\.after\./u, '').split('.')[0] ?? id;
}

function factsText(facts: Readonly<Record<string, unknown>> | undefined): string {
  return Object.entries(facts ?? {})
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(' ');
}
