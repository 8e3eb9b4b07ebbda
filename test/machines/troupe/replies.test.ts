/**
 * What each state of the root chart does with each event, said on purpose: the
 * actions it takes and the state it goes to, or `ignored`.
 */

import { describe, expect, it } from 'vitest';
import {
  reachTroupe,
  stateOf,
  type TroupeEventType,
  type TroupeState,
  type TroupeWay,
  troupeEventTypes,
  troupeReplyOf,
} from './ways.ts';

type Row = Readonly<Record<TroupeEventType, string>>;

/** Permits and lists are served until the very end; a kill ends everything. */
const always = {
  'slot.requested': 'requestSlot',
  'slot.returned': 'passReturn',
  'slots.granted': 'passPermits',
  'catalog.listed': 'noteCatalog',
  'catalog.forgotten': 'forgetCatalog',
  'server.readied': 'noteNews',
  'server.faltered': 'noteNews',
  'server.halted': 'noteNews',
  'server.resumed': 'noteNews',
  'successor.gaveUp': 'noteNews',
  'troupe.kill': '-> stopped',
} as const;

const serving = {
  ...always,
  'server.start': 'claimPlace, routeCommand',
  'server.stop': 'endHandover, routeCommand',
  'server.restart': 'claimPlace, routeCommand',
  'server.reconnect': 'claimPlace, routeCommand',
  'server.refresh': 'passRefresh',
  'auth.completed': 'claimPlace, routeCommand',
  'approval.grant': 'noteDecision, reconcile',
  'approval.reject': 'noteDecision, reconcile',
  'approval.revoke': 'noteDecision, reconcile',
  'approvals.changed': 'noteDecisions, reconcile',
  'trust.changed': 'noteTrust, reconcile',
  'allow.changed': 'noteAllowed, reconcile',
  'inputs.answered': 'passAnswer',
  'system.woke': 'passWake, reconcile',
  'troupe.lookAgain': 'reconcile',
  'server.halted': 'noteNews, assignPlacesSoon',
  'server.resumed': 'noteNews, withholdPlace',
  'settings.reload': 'passToSettingsSource',
  'settings.changed': 'passToSettingsSource',
  'settings.loaded': 'noteSettings, resizeSlots, reconcile',
  // Only lines moved, so there is nothing to plan.
  'settings.relocated': 'noteSettings',
  'handover.due': 'noteDue, reconcile',
  'xstate.done.actor.*': 'forgetChild, reconcile',
  'xstate.error.actor.*': 'reportBroken, forgetChild, lookAgainSoon',
  'xstate.error.actor.slots': 'reportBroken, forgetChild, startSlots, lookAgainSoon',
  'xstate.error.actor.settingsSource': 'reportBroken',
  'troupe.stop': '-> stopping',
} as const;

const replies: Readonly<Record<TroupeState, Row>> = {
  'serving.starting.reading': {
    ...serving,
    // What is left of the gate begins with the first applied pass.
    'settings.loaded': 'noteSettings, resizeSlots, reconcile -> serving.starting.gating',
    // Nothing was started yet, so there is nothing to wait for.
    'troupe.stop': '-> stopped',
  },
  'serving.starting.gating': serving,
  'serving.running': serving,
  // Every server has been retired; later commands no longer matter.
  stopping: {
    ...always,
    'server.start': 'ignored',
    'server.stop': 'ignored',
    'server.restart': 'ignored',
    'server.reconnect': 'ignored',
    'server.refresh': 'ignored',
    'auth.completed': 'ignored',
    'approval.grant': 'ignored',
    'approval.reject': 'ignored',
    'approval.revoke': 'ignored',
    'approvals.changed': 'ignored',
    'trust.changed': 'ignored',
    'allow.changed': 'ignored',
    'inputs.answered': 'ignored',
    'system.woke': 'ignored',
    'troupe.lookAgain': 'ignored',
    'handover.due': 'ignored',
    'settings.reload': 'ignored',
    'settings.changed': 'ignored',
    'settings.loaded': 'ignored',
    'settings.relocated': 'ignored',
    'xstate.done.actor.*': 'forgetLeaver -> stopped',
    'xstate.error.actor.*': 'reportBroken, forgetLeaver -> stopped',
    'xstate.error.actor.slots': 'reportBroken, forgetChild, startSlots',
    // It was stopped with the state before.
    'xstate.error.actor.settingsSource': 'ignored',
    'troupe.stop': 'ignored',
  },
};

const ways: Readonly<Record<TroupeState, TroupeWay>> = {
  'serving.starting.reading': [],
  'serving.starting.gating': ['settings.loaded'],
  'serving.running': ['settings.loaded', { after: 'startupGate' }],
  stopping: ['settings.loaded', 'troupe.stop'],
};

describe('the troupe chart', () => {
  it.each(Object.keys(replies) as TroupeState[])('handles every event in %s', (state) => {
    const snapshot = reachTroupe(ways[state]);
    expect(stateOf(snapshot)).toBe(state);
    const answers = troupeEventTypes.map((type) => [type, troupeReplyOf(snapshot, type)]);
    expect(Object.fromEntries(answers)).toEqual(replies[state]);
  });
});
