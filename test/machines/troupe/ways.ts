/** The root chart computed without running it: settings, events and ways into its states. */

import type { AnyStateNode, EventObject, SnapshotFrom } from 'xstate';
import {
  type TroupeEvent,
  type TroupeInput,
  troupeMachine,
} from '../../../machines/troupe/troupe.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import type { Settings } from '../../../src/domain/settings.ts';
import { entry, settingsOf } from '../story.ts';

export type TroupeSnapshot = SnapshotFrom<typeof troupeMachine>;
/** The system's own events stand for all children; a host can never send them. */
export type TroupeEventType =
  | Exclude<TroupeEvent['type'], `xstate.${string}`>
  | 'xstate.done.actor.*'
  | 'xstate.error.actor.*'
  | 'xstate.error.actor.slots'
  | 'xstate.error.actor.settingsSource';

type Leaves<Value> = Value extends string
  ? Value
  : {
      [Key in keyof Value & string]: `${Key}.${Leaves<NonNullable<Value[Key]>>}`;
    }[keyof Value & string];
/** States in which an event can find the root; at the end, XState delivers nothing more. */
export type TroupeState = Exclude<Leaves<TroupeSnapshot['value']>, 'stopped'>;
export type TroupeWay = readonly (TroupeEventType | { readonly after: string })[];

export const troupeInput: TroupeInput = {
  seed: 1,
  startedAt: 0,
  trusted: true,
  launchBound: null,
  slots: { local: 3, remote: 20 },
  coreCount: 1,
  startupGateMs: 250,
};

const oneServer: Settings = settingsOf([entry('db')]);

const server = 'db';
/** One event of each type; a new type needs a line here. */
const exampleOf: Readonly<Record<TroupeEventType, EventObject>> = {
  'server.start': { type: 'server.start', server } as EventObject,
  'server.stop': { type: 'server.stop', server } as EventObject,
  'server.restart': { type: 'server.restart', server } as EventObject,
  'server.reconnect': { type: 'server.reconnect', server } as EventObject,
  'server.refresh': { type: 'server.refresh', server } as EventObject,
  'approval.grant': { type: 'approval.grant', server } as EventObject,
  'approval.reject': { type: 'approval.reject', server } as EventObject,
  'approval.revoke': { type: 'approval.revoke', server } as EventObject,
  'approvals.changed': { type: 'approvals.changed', decisions: [] } as EventObject,
  'trust.changed': { type: 'trust.changed', trusted: false } as EventObject,
  'allow.changed': { type: 'allow.changed', allowed: [] } as EventObject,
  'auth.completed': { type: 'auth.completed', server } as EventObject,
  'inputs.answered': { type: 'inputs.answered', servers: [server] } as EventObject,
  'system.woke': { type: 'system.woke' },
  'troupe.stop': { type: 'troupe.stop' },
  'troupe.kill': { type: 'troupe.kill' },
  'troupe.lookAgain': { type: 'troupe.lookAgain' },
  'settings.reload': { type: 'settings.reload' },
  'settings.changed': { type: 'settings.changed', settings: {} } as EventObject,
  'settings.loaded': { type: 'settings.loaded', settings: oneServer, at: 0 } as EventObject,
  'settings.relocated': { type: 'settings.relocated', settings: oneServer, at: 0 } as EventObject,
  'server.readied': { type: 'server.readied', actorId: 'db.0' } as EventObject,
  'server.faltered': { type: 'server.faltered', actorId: 'db.0' } as EventObject,
  'server.halted': { type: 'server.halted', actorId: 'db.0' } as EventObject,
  'server.resumed': { type: 'server.resumed', actorId: 'db.0' } as EventObject,
  'successor.gaveUp': { type: 'successor.gaveUp', actorId: 'db.1' } as EventObject,
  'handover.due': { type: 'handover.due', server, why: 'its successor is ready' } as EventObject,
  'slot.requested': {
    type: 'slot.requested',
    actorId: 'db.0',
    pool: 'local',
    demanded: false,
    retry: false,
  } as EventObject,
  'slot.returned': { type: 'slot.returned', actorId: 'db.0' } as EventObject,
  'slots.granted': { type: 'slots.granted', actorIds: ['db.0'] } as EventObject,
  'catalog.listed': { type: 'catalog.listed', server, generation: 'db-1' } as EventObject,
  'catalog.forgotten': { type: 'catalog.forgotten', server, generation: 'db-1' } as EventObject,
  'xstate.done.actor.*': { type: 'xstate.done.actor.db.0', actorId: 'db.0' } as EventObject,
  'xstate.error.actor.*': {
    type: 'xstate.error.actor.db.0',
    actorId: 'db.0',
    error: 'a bug',
  } as EventObject,
  'xstate.error.actor.slots': {
    type: 'xstate.error.actor.slots',
    actorId: 'slots',
    error: 'a bug',
  } as EventObject,
  'xstate.error.actor.settingsSource': {
    type: 'xstate.error.actor.settingsSource',
    actorId: 'settingsSource',
    error: 'a bug',
  } as EventObject,
};

export const troupeEventTypes = Object.keys(exampleOf) as readonly TroupeEventType[];

const inert = createInertScope();

function take(snapshot: TroupeSnapshot, event: EventObject): TroupeSnapshot {
  // The root decides from the events it received, so nothing may query the actors.
  inert.begin(undefined);
  inert.observed.transitions.length = 0;
  return troupeMachine.transition(snapshot, event as TroupeEvent, inert.scope);
}

export function reachTroupe(events: TroupeWay): TroupeSnapshot {
  inert.begin(undefined);
  const start = troupeMachine.getInitialSnapshot(inert.scope, troupeInput);
  return events.reduce((snapshot, step) => {
    if (typeof step === 'string') return take(snapshot, exampleOf[step]);
    const states: readonly AnyStateNode[] = snapshot._nodes;
    const types = states.flatMap((state) => [...state.transitions.keys()]);
    const timer = types.find((type) => type.startsWith(`xstate.after.${step.after}.`));
    if (timer === undefined) throw new Error(`No timer "${step.after}" runs here.`);
    return take(snapshot, { type: timer });
  }, start);
}

/** Dotted path of the leaf state. */
export function stateOf({ value }: TroupeSnapshot): string {
  const path: string[] = [];
  for (let part: unknown = value; part !== undefined; ) {
    if (typeof part === 'string') return [...path, part].join('.');
    const [key, inner] = Object.entries(part as object)[0] ?? [];
    path.push(key ?? '');
    part = inner;
  }
  return path.join('.');
}

/** What the root does with an event: its actions by name and where it goes, or `ignored`. */
export function troupeReplyOf(before: TroupeSnapshot, type: TroupeEventType): string {
  const after = take(before, exampleOf[type]);
  const sent = exampleOf[type].type;
  const [heard] = inert.observed.transitions.filter(
    ({ eventType }) => eventType === sent || eventType === type,
  );
  if (heard === undefined) return 'ignored';
  const actions = heard.actions.map((action) =>
    typeof action === 'string' ? action : String((action as { type?: unknown }).type),
  );
  const state = stateOf(after);
  const goes = state === stateOf(before) ? [] : [`-> ${state}`];
  return [...(actions.length === 0 ? [] : [actions.join(', ')]), ...goes].join(' ');
}
