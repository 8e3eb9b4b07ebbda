/**
 * What of an event is recorded: nothing but what this list names. It is complete, so
 * that an event that is added to a chart does not compile until somebody has decided.
 */

import type { ServerEvent } from '../../machines/server/server.ts';
import type { SlotsEvent } from '../../machines/slots.ts';
import type { HandoverEvent } from '../../machines/troupe/handover.ts';
import type { TroupeEvent } from '../../machines/troupe/troupe.ts';
import type { EventFacts } from '../domain/host/inspection.ts';
import type { SessionCommand } from '../domain/session.ts';
import { isRecord } from '../policies/is-record.ts';

type OfXState = { readonly type: `xstate.${string}` };
type RecordedEvent =
  | ServerEvent
  | Exclude<TroupeEvent, OfXState>
  | HandoverEvent
  | Exclude<SlotsEvent, OfXState>
  | SessionCommand;

/** The fields of all events of one type; some types share a member of the union. */
type FieldOf<Type, Event = RecordedEvent> = Event extends { readonly type: infer Types }
  ? Type extends Types
    ? Exclude<keyof Event, 'type'>
    : never
  : never;

type Allowed = { readonly [Type in RecordedEvent['type']]: readonly FieldOf<Type>[] };

const allowed: Allowed = {
  // Commands to a server, and what a person says to the root about one.
  'server.start': ['server'],
  'server.stop': ['server'],
  'server.restart': ['server'],
  'server.reconnect': ['server'],
  'server.retire': [],
  'server.relieve': [],
  'server.demanded': [],
  'server.woke': ['spreadMs'],
  'admission.granted': [],
  'admission.withdrawn': ['verdict'],
  'spec.updated': ['startup'],
  'catalog.forgotten': ['server'],
  'catalog.listed': ['server'],
  'auth.completed': ['server'],

  // The path of calls.
  'calls.began': ['session'],
  'calls.drained': ['session'],
  'call.succeeded': ['session'],
  'call.failed': ['session'],

  // Sessions.
  'session.open': [],
  'session.list': [],
  'session.probe': [],
  'session.close': [],
  'session.kill': [],
  'session.opened': ['session', 'era', 'pid'],
  'session.listed': ['session', 'toolCount'],
  'session.listFailed': ['session', 'failure'],
  'session.probed': ['session', 'answer', 'failure'],
  'session.notified': ['session'],
  'session.impaired': ['session', 'reason', 'failure'],
  'session.recovered': ['session', 'reason'],
  'session.paused': ['session'],
  'session.resumed': ['session'],
  'session.lost': ['session'],
  'session.closed': ['session', 'failure'],

  // What one region of a server tells the others.
  'server.listed': [],
  'server.idled': [],
  'server.relieved': [],
  'look.failed': [],
  'server.hung': [],
  'server.flooded': [],
  'server.gaveUp': [],
  'server.rested': [],
  'server.ended': [],
  'session.abandoned': [],
  'probe.wanted': [],
  'probe.began': [],
  'breaker.tripped': [],

  // The root. What settings hold is nobody's business here.
  'settings.changed': [],
  'settings.reload': [],
  'settings.loaded': [],
  'settings.relocated': [],
  'approval.grant': ['server'],
  'approval.reject': ['server'],
  'approval.revoke': ['server'],
  'approvals.changed': ['decisions'],
  'trust.changed': ['trusted'],
  'allow.changed': ['allowed'],
  'system.woke': [],
  'troupe.stop': [],
  'troupe.kill': [],
  'troupe.lookAgain': [],
  'server.readied': ['actorId'],
  'server.faltered': ['actorId'],
  'server.halted': ['actorId'],
  'server.resumed': ['actorId'],
  'successor.gaveUp': ['actorId'],
  'handover.due': ['server', 'why'],
  'handover.complete': [],
  'handover.withdraw': [],

  // Start permits.
  'slot.requested': ['actorId', 'pool', 'demanded', 'retry', 'order'],
  'slot.returned': ['actorId'],
  'slot.granted': ['actorId'],
  'slots.resized': [],
  'io.dispose': [],
};

const fields = new Map<string, readonly string[]>(Object.entries(allowed));

/** Takes the facts out at once, so that nobody has to hold the event; the texts in them are as they came. */
export function factsOf(event: { readonly type: string }): EventFacts | undefined {
  const names = fields.get(event.type);
  if (names === undefined || names.length === 0) return undefined;
  const facts: Record<string, string | number | boolean | null> = {};
  for (const name of names) {
    const fact = factOf((event as unknown as Readonly<Record<string, unknown>>)[name]);
    if (fact !== undefined) facts[name] = fact;
  }
  return facts;
}

/** A value as it is; of a list how long it is, of a failure its kind. */
function factOf(value: unknown): string | number | boolean | null | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return value;
  if (value === null) return null;
  if (Array.isArray(value)) return value.length;
  if (isRecord(value) && typeof value['kind'] === 'string') return value['kind'];
  return undefined;
}
