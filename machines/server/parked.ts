/**
 * Where a server rests without a session: each state says why, and what would
 * end the rest. Every command only notes the wish and goes back to `settling`,
 * which decides anew. The picture is in `connection.ts`.
 */

import { serverSetup, settle } from './setup.ts';

// As a suspended one, it stays where it is whatever is edited. Being admitted again
// would bring its stored tools back, as if it were to start.
const failedByStorm = {
  entry: 'forgetWindows',
  on: {
    'spec.updated': { actions: 'applySpec' },
    'admission.granted': { actions: ['noteAdmitted', 'announceGivingUp'] },
  },
} as const;

// Whatever was out of reach may be back, and the wait was for another time.
const tryingSoon = { guard: 'isNotAskedToWait', actions: 'drawWakeDelay', reenter: true } as const;

export const parkedStates = serverSetup.createStateConfig({
  initial: 'dormant',
  on: {
    'server.start': { actions: 'wishStart', target: settle },
    'server.stop': { actions: 'wishStop', target: settle },
    'server.restart': { actions: 'wishRestart', target: settle },
    'server.reconnect': { actions: 'wishReconnect', target: settle },
    'server.retire': { actions: 'wishRetire', target: settle },
    'server.relieve': { actions: 'wishRetire', target: settle },
    'admission.granted': { actions: 'noteAdmitted', target: settle },
    'admission.withdrawn': { actions: 'noteWithdrawn', target: settle },
    'spec.updated': { actions: 'applySpec', target: settle },
  },
  states: {
    disabled: { tags: 'atRest', entry: ['announceRest', 'reportRest'] },
    blocked: {
      tags: ['needsUser', 'atRest'],
      entry: ['announceRest', 'reportRest'],
      initial: 'untrusted',
      states: {
        untrusted: {},
        excluded: {},
        notAllowed: {},
        pendingApproval: {},
        rejected: {},
        invalidConfig: {},
        overBudget: {},
      },
    },
    dormant: {
      tags: 'waits',
      entry: ['announceRest', 'reportRest'],
      on: { 'server.demanded': { actions: 'noteDemand', target: settle } },
    },
    backingOff: {
      initial: 'retrying',
      on: {
        // The wait under way goes on: a demand or a new number must not shorten it.
        'server.demanded': { actions: 'noteDemand' },
        'spec.updated': { actions: 'applySpec' },
      },
      states: {
        // The wait was chosen on the way in.
        retrying: {
          on: { 'server.woke': { ...tryingSoon, target: 'retrying' } },
          after: { reconnectBackoff: '#connection.engaged' },
        },
        lost: {
          entry: 'reportRest',
          on: { 'server.woke': { ...tryingSoon, target: 'lost' } },
          after: { reconnectBackoff: '#connection.engaged' },
        },
      },
    },
    authRequired: {
      tags: ['needsUser', 'atRest'],
      entry: ['forgetWindows', 'announceRest', 'reportRest'],
    },
    suspended: {
      tags: ['needsUser', 'atRest'],
      entry: ['forgetWindows', 'announceRest', 'reportRest'],
      // The windows are forgotten here, so settling again would let the server go:
      // an edit of its description must not end a suspension, nor being admitted twice.
      on: {
        'spec.updated': { actions: 'applySpec' },
        'admission.granted': { actions: 'noteAdmitted' },
      },
      initial: 'crashLoop',
      states: { crashLoop: {}, reconnectStorm: {} },
    },
    failed: {
      tags: ['needsUser', 'atRest'],
      entry: ['announceGivingUp', 'announceRest', 'reportRest'],
      initial: 'attemptsExhausted',
      states: {
        attemptsExhausted: {},
        capabilityMissing: {},
        versionUnsupported: {},
        restartNever: {},
        crashLoop: failedByStorm,
        reconnectStorm: failedByStorm,
      },
    },
    stopped: { tags: 'atRest', entry: ['announceRest', 'reportRest'] },
  },
});
