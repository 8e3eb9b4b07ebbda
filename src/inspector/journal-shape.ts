/**
 * Validates the documents of a journal. A journal may come from anyone, so it is checked once when it is read.
 */

import type { InspectionRecord, JournalHead } from '../domain/host/inspection.ts';
import { isRecord } from '../policies/is-record.ts';
import { isServerName } from '../policies/text/name-rule.ts';

type Kind =
  | 'name'
  | 'maybeName'
  | 'plan'
  | 'text'
  | 'number'
  | 'flag'
  | 'texts'
  | 'timers'
  | 'object'
  | 'status';
type Shape = Readonly<Record<string, Kind>>;

const fits: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  // Names are inserted into programs, command lines and pictures, so the rules for settings apply here too.
  name: (value) => typeof value === 'string' && isServerName(value),
  maybeName: (value) => value === undefined || fits.name(value),
  plan: (value) => Array.isArray(value) && value.every((each) => hasShape(each, step)),
  text: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  flag: (value) => typeof value === 'boolean',
  texts: (value) => Array.isArray(value) && value.every((each) => typeof each === 'string'),
  timers: (value) => Array.isArray(value) && value.every((each) => hasShape(each, timer)),
  object: isRecord,
  status: (value) => hasShape(value, status),
};

const timer: Shape = { id: 'text', ms: 'number', armedAt: 'number' };
const picturedActor: Shape = {
  actor: 'text',
  id: 'text',
  life: 'text',
  leaves: 'texts',
  timers: 'timers',
  server: 'maybeName',
};
const step: Shape = { step: 'text', server: 'name', why: 'text' };
const status: Shape = {
  name: 'name',
  state: 'text',
  catalog: 'text',
  circuit: 'text',
  since: 'text',
  generation: 'text',
  transport: 'text',
  source: 'object',
};

// Complete, so that a new kind of record does not compile until it is added here.
const records: Readonly<Record<InspectionRecord['kind'], Shape>> = {
  actor: { actor: 'text', id: 'text', server: 'maybeName' },
  event: { to: 'text', type: 'text' },
  step: { actor: 'text', type: 'text', edges: 'texts' },
  state: { actor: 'text', life: 'text', leaves: 'texts' },
  ignored: { actor: 'text', type: 'text' },
  timer: { actor: 'text', id: 'text', ms: 'number' },
  timerEnd: { actor: 'text', id: 'text', fired: 'flag' },
  status: { status: 'status' },
  gone: { server: 'name' },
  reconciled: { plan: 'plan', durationMs: 'number', troupe: 'object' },
  gap: { count: 'number' },
};

const head: Shape = {
  version: 'text',
  startedAt: 'text',
  clockStart: 'number',
  machines: 'object',
  picture: 'object',
  contexts: 'object',
};

export function isJournalHead(value: unknown): value is JournalHead {
  if (!hasShape(value, head) || value['kind'] !== 'journal' || value['format'] !== 1) return false;
  const picture = value['picture'];
  if (!hasShape(picture, { n: 'number', t: 'number' })) return false;
  const { actors, servers } = picture;
  return (
    Array.isArray(actors) &&
    Array.isArray(servers) &&
    actors.every((each) => hasShape(each, picturedActor)) &&
    servers.every((each) => hasShape(each, status))
  );
}

export function isJournalRecord(value: unknown): value is InspectionRecord {
  if (!hasShape(value, { kind: 'text', n: 'number', t: 'number' })) return false;
  const kind = String(value['kind']);
  return Object.hasOwn(records, kind) && hasShape(value, records[kind as InspectionRecord['kind']]);
}

function hasShape(value: unknown, shape: Shape): value is Record<string, unknown> {
  return (
    isRecord(value) && Object.entries(shape).every(([field, kind]) => fits[kind](value[field]))
  );
}
