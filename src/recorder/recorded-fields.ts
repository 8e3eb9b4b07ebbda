/**
 * The context and event fields that are recorded. The lists are complete: a new field does not compile until it
 * is listed here. For a server and the start permits, every field that influences the chart is recorded, so that
 * a snapshot can be restored.
 */

import type {
  AuthorizationContext,
  AuthorizationEvent,
  StepDone,
} from '../../machines/authorization/authorization-setup.ts';
import type { ServerContext, ServerEvent } from '../../machines/server/server.ts';
import type { RefreshContext, RefreshEvent } from '../../machines/session/list-refresh.ts';
import type { SessionContext, SessionEvent } from '../../machines/session/session.ts';
import type { SlotsContext, SlotsEvent } from '../../machines/slots.ts';
import type { TroupeContext } from '../../machines/troupe/context.ts';
import type { HandoverEvent, HandoverInput } from '../../machines/troupe/handover.ts';
import type { TroupeEvent } from '../../machines/troupe/troupe.ts';
import { isRecord } from '../domain/data/is-record.ts';
import type { EventFacts, MachineKey } from '../domain/host/inspection.ts';
import type { SessionEnd, WireCommand } from '../domain/session.ts';
import { GroupedMap } from '../policies/grouped-map.ts';
import { shownValue } from './shown-value.ts';

/** Whether a context field is recorded with its value, only its size, or not at all. */
type Shown = 'data' | 'count' | 'hidden';

const server: Readonly<Record<keyof ServerContext, Shown>> = {
  actorId: 'data',
  name: 'data',
  generation: 'data',
  transport: 'data',
  startup: 'data',
  policy: 'data',
  verdict: 'data',
  stopWanted: 'data',
  startWanted: 'data',
  succeeds: 'data',
  hasStoredCatalog: 'data',
  mayDownload: 'data',
  seed: 'data',
  retiring: 'data',
  demanded: 'data',
  awaited: 'data',
  session: 'data',
  tries: 'data',
  hasServed: 'data',
  readyAt: 'data',
  servedMs: 'data',
  loss: 'data',
  lastError: 'data',
  windows: 'data',
  floods: 'data',
  delayMs: 'data',
  peer: 'data',
  circuit: 'data',
};

const session: Readonly<Record<keyof SessionContext, Shown>> = {
  actorId: 'data',
  server: 'data',
  generation: 'data',
  session: 'data',
  transport: 'data',
  // The server's context has the same.
  policy: 'hidden',
  isFirstRun: 'data',
  seed: 'data',
  hasProcess: 'data',
  asksEra: 'data',
  offers: 'data',
  refusal: 'data',
  gaps: 'data',
  failedChecks: 'data',
  wakeSpreadMs: 'data',
  wasOpen: 'data',
  failure: 'data',
  isFlood: 'data',
  evidence: 'data',
  at: 'data',
};

const refresh: Readonly<Record<keyof RefreshContext, Shown>> = {
  actorId: 'data',
  server: 'data',
  generation: 'data',
  session: 'data',
  list: 'data',
  listTimeoutMs: 'data',
  pauseMs: 'data',
  retryMs: 'data',
};

const handover: Readonly<Record<keyof HandoverInput, Shown>> = {
  server: 'data',
  present: 'data',
  successor: 'data',
};

const slots: Readonly<Record<keyof SlotsContext, Shown>> = {
  counts: 'data',
  coreCount: 'data',
  remoteCount: 'data',
  seed: 'data',
  stockCount: 'data',
  waiting: 'data',
  permits: 'data',
  retriesLeft: 'data',
  refillCount: 'data',
  overtakings: 'data',
};

// The chart has no tokens, codes or secrets; `failure` is a sentence without them.
const authorization: Readonly<Record<keyof AuthorizationContext, Shown>> = {
  id: 'data',
  seed: 'data',
  needsUser: 'data',
  refreshAheadMs: 'data',
  loginTimeoutMs: 'data',
  maxStepUps: 'data',
  token: 'data',
  isRejected: 'data',
  wanted: 'data',
  asksForLess: 'data',
  isOnDevice: 'data',
  device: 'data',
  demands: 'data',
  rememberMs: 'data',
  stepUps: 'data',
  renewals: 'data',
  attempt: 'data',
  failure: 'data',
  nowMs: 'data',
};

// With thousands of servers, every pass would record a megabyte.
const troupe: Readonly<Record<keyof TroupeContext, Shown>> = {
  seed: 'data',
  startedAt: 'data',
  trusted: 'data',
  launchBound: 'data',
  slots: 'data',
  coreCount: 'data',
  startupGateMs: 'data',
  hostAllowed: 'data',
  decisions: 'count',
  stopWishes: 'data',
  startWishes: 'data',
  // Settings hold commands, environments and headers.
  settings: 'hidden',
  live: 'count',
  actors: 'hidden',
  serving: 'count',
  halted: 'count',
  inTurn: 'hidden',
  removed: 'count',
  knownCatalogs: 'count',
  spawnCount: 'data',
  lastPass: 'hidden',
};

const tables: Readonly<Record<MachineKey, readonly (readonly [string, Shown])[]>> = {
  server: Object.entries(server),
  session: Object.entries(session),
  refresh: Object.entries(refresh),
  handover: Object.entries(handover),
  slots: Object.entries(slots),
  authorization: Object.entries(authorization),
  troupe: Object.entries(troupe),
};

// Hundreds of servers share a policy, which never changes.
const shownObjects = new WeakMap<object, unknown>();

/** Returns the recorded fields that differ from the previous context; undefined when none does. */
export function changedFacts(
  machine: MachineKey,
  before: object | undefined,
  now: object,
): Readonly<Record<string, unknown>> | undefined {
  const changed: Record<string, unknown> = {};
  for (const [name, how] of tables[machine]) {
    if (how === 'hidden') continue;
    const value: unknown = Reflect.get(now, name);
    if (before !== undefined && Reflect.get(before, name) === value) continue;
    const shown = how === 'count' ? sizeOf(value) : shownOnce(value);
    if (shown !== undefined) changed[name] = shown;
  }
  return Object.keys(changed).length === 0 ? undefined : changed;
}

/** Returns all recorded fields of a context. */
export function contextFacts(machine: MachineKey, context: object): Record<string, unknown> {
  return { ...changedFacts(machine, undefined, context) };
}

function shownOnce(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return shownValue(value);
  const known = shownObjects.get(value);
  if (known !== undefined) return known;
  const shown = shownValue(value);
  shownObjects.set(value, shown);
  return shown;
}

function sizeOf(value: unknown): number {
  if (value instanceof Map || value instanceof GroupedMap) return value.size;
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : 0;
}

type OfXState = { readonly type: `xstate.${string}` };
type RecordedEvent =
  | Exclude<ServerEvent, OfXState>
  | Exclude<SessionEvent, OfXState>
  | RefreshEvent
  | WireCommand
  | Exclude<TroupeEvent, OfXState>
  | HandoverEvent
  | AuthorizationEvent
  | Exclude<SlotsEvent, OfXState>;

/** The fields of all events with one type. One member of the union may have several types. */
type FieldOf<Type, Event = RecordedEvent> = Event extends { readonly type: infer Types }
  ? Type extends Types
    ? Exclude<keyof Event, 'type'>
    : never
  : never;

/** Events without fields need no entry. */
type Allowed = {
  readonly [Type in RecordedEvent['type'] as [FieldOf<Type>] extends [never]
    ? never
    : Type]: readonly FieldOf<Type>[];
};

const allowed: Allowed = {
  // Commands to a server, and user commands to the root about one.
  'server.start': ['server'],
  'server.stop': ['server'],
  'server.restart': ['server'],
  'server.reconnect': ['server'],
  'server.refresh': ['server'],
  'server.woke': ['spreadMs'],
  'admission.withdrawn': ['verdict'],
  'spec.updated': ['startup'],
  'catalog.forgotten': ['server'],
  'catalog.listed': ['server'],
  'auth.completed': ['server'],
  'inputs.answered': ['servers'],

  // Calls.
  'calls.began': ['session', 'calls'],
  'calls.drained': ['session', 'calls'],
  'call.succeeded': ['session'],
  'call.failed': ['session'],

  // Sessions: commands, facts, and reports of their actors.
  'session.giveUp': ['failure'],
  'policy.updated': [],
  'session.opened': ['era', 'pid'],
  'session.listed': ['toolCount'],
  'session.listFailed': ['failure'],
  'session.impaired': ['reason', 'failure'],
  'session.recovered': ['reason'],
  'session.silent': ['failedChecks'],
  'wire.sent': ['method'],
  'wire.ended': ['failure'],
  'wire.lost': ['failure'],
  'wire.probed': ['answer', 'failure'],
  'wire.impaired': ['reason', 'failure'],
  'wire.recovered': ['reason'],
  'wire.killed': [],
  'list.settled': ['list'],

  // Between the regions of a server.
  'server.hung': ['failedChecks'],
  'breaker.tripped': [],

  // The root. The content of settings is never recorded.
  'settings.changed': [],
  'settings.loaded': [],
  'settings.relocated': [],
  'approval.grant': ['server'],
  'approval.reject': ['server'],
  'approval.revoke': ['server'],
  'approvals.changed': ['decisions'],
  'trust.changed': ['trusted'],
  'allow.changed': ['allowed'],
  'server.readied': ['actorId'],
  'server.faltered': ['actorId'],
  'server.halted': ['actorId'],
  'server.resumed': ['actorId'],
  'successor.gaveUp': ['actorId'],
  'handover.due': ['server', 'why'],

  // Start permits.
  'slot.requested': ['actorId', 'pool', 'demanded', 'retry'],
  'slots.requested': ['requests'],
  'slot.returned': ['actorId'],
  'slots.granted': ['actorIds'],
  'slots.resized': [],
  'permits.lapsed': ['grant'],

  // Logins.
  'login.requested': ['device'],
  'login.demanded': ['by', 'nowMs'],
  'demand.recalled': ['by'],
  'token.rejected': ['generation', 'nowMs'],
  'scope.insufficient': ['scopes'],
  'clock.jumped': ['nowMs'],
};

const fields = new Map<string, readonly string[]>(Object.entries(allowed));

/** Reports the end of a session. */
const sessionEnd = 'xstate.done.actor.session';
const endFields: readonly (keyof SessionEnd)[] = ['wasOpen', 'failure', 'isFlood'];
/** Report the end of a login's steps. */
const stepEnds: ReadonlySet<string> = new Set(
  ['load', 'discover', 'register', 'askUser', 'exchange', 'request', 'refresh', 'forget'].map(
    (step) => `xstate.done.actor.${step}`,
  ),
);
const stepFields: readonly (keyof StepDone)[] = ['failure'];

/** Extracts an event's recorded fields, so that the event itself is not retained. Does not redact. */
export function factsOf(event: { readonly type: string }): EventFacts | undefined {
  const content = event as Readonly<Record<string, unknown>>;
  const ended =
    event.type === sessionEnd ? endFields : stepEnds.has(event.type) ? stepFields : undefined;
  if (ended !== undefined)
    return isRecord(content['output']) ? factsIn(content['output'], ended) : undefined;
  const names = fields.get(event.type) ?? [];
  return names.length === 0 ? undefined : factsIn(content, names);
}

function factsIn(content: Readonly<Record<string, unknown>>, names: readonly string[]): EventFacts {
  const facts: Record<string, string | number | boolean | null> = {};
  for (const name of names) {
    const fact = factOf(content[name]);
    if (fact !== undefined) facts[name] = fact;
  }
  return facts;
}

/** A plain value, the length of a list, or the kind of a failure. */
function factOf(value: unknown): string | number | boolean | null | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  if (value === null) return null;
  if (Array.isArray(value)) return value.length;
  if (isRecord(value) && typeof value['kind'] === 'string') return value['kind'];
  return undefined;
}
