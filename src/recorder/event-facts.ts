/**
 * Which event fields are recorded: only those listed here. The list is complete, so a new event of a chart does
 * not compile until it is listed.
 */

import type { ServerEvent } from '../../machines/server/server.ts';
import type { RefreshEvent } from '../../machines/session/refresh.ts';
import type { SessionEvent } from '../../machines/session/session.ts';
import type { SlotsEvent } from '../../machines/slots.ts';
import type { HandoverEvent } from '../../machines/troupe/handover.ts';
import type { TroupeEvent } from '../../machines/troupe/troupe.ts';
import type { EventFacts } from '../domain/host/inspection.ts';
import type { SessionEnd, WireCommand } from '../domain/session.ts';
import { isRecord } from '../policies/is-record.ts';

type OfXState = { readonly type: `xstate.${string}` };
type RecordedEvent =
  | Exclude<ServerEvent, OfXState>
  | Exclude<SessionEvent, OfXState>
  | RefreshEvent
  | WireCommand
  | Exclude<TroupeEvent, OfXState>
  | HandoverEvent
  | Exclude<SlotsEvent, OfXState>;

/** The fields of all events of one type; some types share a member of the union. */
type FieldOf<Type, Event = RecordedEvent> = Event extends { readonly type: infer Types }
  ? Type extends Types
    ? Exclude<keyof Event, 'type'>
    : never
  : never;

type Allowed = { readonly [Type in RecordedEvent['type']]: readonly FieldOf<Type>[] };

const allowed: Allowed = {
  // Commands to a server, and user commands to the root about one.
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

  // Calls.
  'calls.began': ['session'],
  'calls.drained': ['session'],
  'call.succeeded': ['session'],
  'call.failed': ['session'],

  // Sessions: commands, facts, and reports of their actors.
  'session.list': [],
  'session.close': [],
  'session.giveUp': ['failure'],
  'policy.updated': [],
  'session.opened': ['era', 'pid'],
  'session.listed': ['toolCount'],
  'session.listFailed': ['failure'],
  'session.impaired': ['reason', 'failure'],
  'session.recovered': ['reason'],
  'session.silent': ['failedLooks'],
  'session.closing': [],
  'wire.sent': ['method'],
  'wire.broke': [],
  'wire.ended': ['failure'],
  'wire.lost': ['failure'],
  'wire.probed': ['answer', 'failure'],
  'wire.impaired': ['reason', 'failure'],
  'wire.recovered': ['reason'],
  'wire.killed': [],
  'wire.paused': [],
  'wire.resumed': [],
  'wire.probe': [],
  'wire.publish': [],
  'wire.kill': [],
  'tools.changed': [],
  'resources.changed': [],
  'prompts.changed': [],
  'resource.updated': [],
  'list.changed': [],
  'list.demanded': [],
  'list.settled': ['list'],
  'start.expired': [],
  'input.flooded': [],
  'part.broke': [],

  // Between the regions of a server.
  'server.listed': [],
  'server.idled': [],
  'server.relieved': [],
  'server.hung': ['failedLooks'],
  'server.gaveUp': [],
  'server.rested': [],
  'server.ended': [],
  'probe.wanted': [],
  'probe.began': [],
  'breaker.tripped': [],

  // The root. The content of settings is never recorded.
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
};

const fields = new Map<string, readonly string[]>(Object.entries(allowed));

/** The event with a session's end, and its recorded fields. */
const sessionEnd = 'xstate.done.actor.session';
const endFields: readonly (keyof SessionEnd)[] = ['wasOpen', 'failure', 'isFlood'];

/** Extracts the fields at once, so that the event need not be kept. Texts are not redacted yet. */
export function factsOf(event: { readonly type: string }): EventFacts | undefined {
  const content = event as Readonly<Record<string, unknown>>;
  if (event.type === sessionEnd) {
    return isRecord(content['output']) ? factsIn(content['output'], endFields) : undefined;
  }
  const names = fields.get(event.type);
  return names === undefined || names.length === 0 ? undefined : factsIn(content, names);
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
