/**
 * Which context fields are recorded. The lists are complete, so a new field of a chart does not compile until
 * it is listed here. For a server and the start permits, every field that influences the chart is recorded, so
 * that a snapshot can be restored.
 */

import type { Permit } from '../../machines/permit.ts';
import type { ServerContext } from '../../machines/server/server.ts';
import type { RefreshContext } from '../../machines/session/refresh.ts';
import type { SessionContext } from '../../machines/session/session.ts';
import type { SlotsContext } from '../../machines/slots.ts';
import type { TroupeContext } from '../../machines/troupe/context.ts';
import type { HandoverInput } from '../../machines/troupe/handover.ts';
import type { MachineKey } from '../domain/host/inspection.ts';
import { isRecord } from '../policies/is-record.ts';
import { shownValue } from './shown-value.ts';

/** How a context field is recorded: its value, only its size, or not at all. */
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
  seed: 'data',
  retiring: 'data',
  demanded: 'data',
  awaited: 'data',
  session: 'data',
  attempt: 'data',
  waits: 'data',
  quietWaits: 'data',
  hasServed: 'data',
  loss: 'data',
  lastError: 'data',
  crashTimes: 'data',
  lossTimes: 'data',
  floods: 'data',
  impairments: 'data',
  delayMs: 'data',
  failedCalls: 'data',
  cooldownMs: 'data',
  era: 'data',
  pid: 'data',
};

const session: Readonly<Record<keyof SessionContext, Shown>> = {
  actorId: 'data',
  server: 'data',
  generation: 'data',
  session: 'data',
  transport: 'data',
  // The server's context has the same.
  policy: 'hidden',
  seed: 'data',
  hasProcess: 'data',
  asksEra: 'data',
  offers: 'data',
  refusal: 'data',
  gaps: 'data',
  failedLooks: 'data',
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
  seed: 'data',
  stockCount: 'data',
  waiting: 'data',
  permits: 'data',
  retriesLeft: 'data',
  refillCount: 'data',
  overtakings: 'data',
};

const permit: Readonly<Record<keyof Permit, Shown>> = { actorId: 'data', pool: 'data' };

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
  serving: 'count',
  halted: 'count',
  removed: 'count',
  knownCatalogs: 'count',
  spawnCount: 'data',
};

const tables: Readonly<Record<MachineKey, readonly (readonly [string, Shown])[]>> = {
  server: Object.entries(server),
  session: Object.entries(session),
  refresh: Object.entries(refresh),
  handover: Object.entries(handover),
  slots: Object.entries(slots),
  permit: Object.entries(permit),
  troupe: Object.entries(troupe),
};

// Hundreds of servers share a policy, which never changes.
const shownObjects = new WeakMap<object, unknown>();

/** The fields that differ from the previous context; undefined when none does. */
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

/** All recorded fields of a context. */
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
  if (value instanceof Map) return value.size;
  if (Array.isArray(value)) return value.length;
  return isRecord(value) ? Object.keys(value).length : 0;
}
