/**
 * The states in which a server rests without a session. Each state names the reason for the rest
 * and the events that end it. Every command only records the request and returns to `settling`,
 * which decides again. A state with several reasons is entered through `choosing`, a transient
 * table.
 *
 * ```text
 * [*] -> dormant
 * parked -- server.start | server.stop | server.restart | server.reconnect | server.retire |
 *           server.relieve | admission.granted | admission.withdrawn | spec.updated --> settling
 * blocked: [*] -> choosing
 *   choosing -- always [isBlockedBy(untrusted)] --> untrusted
 *   choosing -- always [isBlockedBy(excluded)] --> excluded
 *   choosing -- always [isBlockedBy(notAllowed)] --> notAllowed
 *   choosing -- always [isBlockedBy(pendingApproval)] --> pendingApproval
 *   choosing -- always [isBlockedBy(rejected)] --> rejected
 *   choosing -- always [isBlockedBy(invalidConfig)] --> invalidConfig
 *   choosing -- always [isBlockedBy(overBudget)] --> overBudget
 *   untrusted, excluded, notAllowed, pendingApproval, rejected, invalidConfig, overBudget
 * dormant -- server.demanded --> settling
 * backingOff -- server.demanded | spec.updated --> (stays)
 * backingOff -- input.answered [mayLackAnswer] --> (stays)
 * backingOff: [*] -> choosing
 *   choosing -- always [isBusyStart] --> retrying
 *   choosing -- always [hasAttemptsLeft] --> retrying
 *   choosing -- always [isLostRemote] --> lost
 *   retrying -- server.demanded [endsOnDemand] --> engaged
 *   retrying -- server.woke [isNotAskedToWait] --> retrying
 *   retrying -- after reconnectBackoff --> engaged
 *   lost -- server.woke [isNotAskedToWait] --> lost
 *   lost -- after reconnectBackoff --> engaged
 * suspended -- spec.updated | admission.granted --> (stays)
 * suspended: [*] -> choosing
 *   choosing -- always [isCrashLooping(suspend)] --> crashLoop
 *   choosing -- always [isReconnectStorm(suspend)] --> reconnectStorm
 *   crashLoop, reconnectStorm
 * failed -- input.answered [mayLackAnswer] --> (stays)
 * failed: [*] -> choosing
 *   choosing -- always [isCrashLooping(fail)] --> crashLoop
 *   choosing -- always [isReconnectStorm(fail)] --> reconnectStorm
 *   choosing -- always [hasLost(capabilityMissing)] --> capabilityMissing
 *   choosing -- always [hasLost(versionUnsupported)] --> versionUnsupported
 *   choosing -- always [isNotStartable] --> notStartable
 *   choosing -- always [isRestartForbidden] --> restartNever
 *   choosing -- always [hasFailedAlike] --> sameFailure
 *   choosing -- always [isLost] --> attemptsExhausted
 *   notStartable -- server.demanded | spec.updated --> settling
 *   crashLoop -- spec.updated | admission.granted --> (stays)
 *   reconnectStorm -- spec.updated | admission.granted --> (stays)
 *   attemptsExhausted, sameFailure, capabilityMissing, versionUnsupported, restartNever
 * disabled, authRequired, stopped
 * ```
 */

import type { BlockedReason } from '../../src/domain/server-state.ts';
import { serverSetup, settle } from './server-setup.ts';

// A later start counts losses from zero.
const byStorm = { entry: 'forgetWindows' } as const;

// Like a suspended server, it stays failed when its settings change. Admitting it again would restore
// its stored tools, as if it were about to start.
const failedByStorm = {
  ...byStorm,
  on: {
    'spec.updated': { actions: 'applySpec' },
    'admission.granted': { actions: ['noteAdmitted', 'announceGivingUp'] },
  },
} as const;

// A start in progress uses the answer, and a stopped server stays stopped.
const answered = { guard: 'mayLackAnswer', actions: 'askToStart' } as const;

// After a sleep, an unreachable server may be back, and the wait was chosen before the sleep.
const tryingSoon = { guard: 'isNotAskedToWait', actions: 'drawWakeDelay', reenter: true } as const;

function blockedBy<Reason extends BlockedReason>(reason: Reason) {
  return { guard: { type: 'isBlockedBy', params: { reason } }, target: reason } as const;
}

function failedBy<Kind extends 'capabilityMissing' | 'versionUnsupported'>(kind: Kind) {
  return { guard: { type: 'hasLost', params: { kind } }, target: kind } as const;
}

const suspends = { action: 'suspend' } as const;
const fails = { action: 'fail' } as const;

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
    disabled: { tags: 'atRest', entry: ['announceRest', 'reportHalt'], exit: 'reportResumption' },
    blocked: {
      tags: ['needsUser', 'atRest'],
      entry: ['announceRest', 'reportHalt'],
      exit: 'reportResumption',
      initial: 'choosing',
      states: {
        choosing: {
          always: [
            blockedBy('untrusted'),
            blockedBy('excluded'),
            blockedBy('notAllowed'),
            blockedBy('pendingApproval'),
            blockedBy('rejected'),
            blockedBy('invalidConfig'),
            blockedBy('overBudget'),
          ],
        },
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
      entry: ['announceRest', 'reportGivingUp'],
      on: { 'server.demanded': { actions: 'noteDemand', target: settle } },
    },
    backingOff: {
      initial: 'choosing',
      on: {
        // The current wait continues: a new setting must not shorten it, nor a demand but the first wait.
        'server.demanded': { actions: 'noteDemand' },
        'spec.updated': { actions: 'applySpec' },
        'input.answered': answered,
      },
      states: {
        choosing: {
          always: [
            { guard: 'isBusyStart', actions: 'drawReconnectDelay', target: 'retrying' },
            { guard: 'hasAttemptsLeft', actions: 'drawReconnectDelay', target: 'retrying' },
            { guard: 'isLostRemote', actions: 'drawLostDelay', target: 'lost' },
          ],
        },
        retrying: {
          on: {
            'server.demanded': {
              guard: 'endsOnDemand',
              actions: 'noteDemand',
              target: '#connection.engaged',
            },
            'server.woke': { ...tryingSoon, target: 'retrying' },
          },
          after: { reconnectBackoff: '#connection.engaged' },
        },
        lost: {
          entry: 'reportGivingUp',
          on: { 'server.woke': { ...tryingSoon, target: 'lost' } },
          after: { reconnectBackoff: '#connection.engaged' },
        },
      },
    },
    authRequired: {
      tags: ['needsUser', 'atRest'],
      entry: ['forgetWindows', 'announceRest', 'reportHalt'],
      exit: 'reportResumption',
    },
    suspended: {
      tags: ['needsUser', 'atRest'],
      entry: ['announceRest', 'reportHalt'],
      exit: 'reportResumption',
      // The windows are reset here, so settling again would start the server: neither an edit of
      // its settings nor a second admission may end a suspension.
      on: {
        'spec.updated': { actions: 'applySpec' },
        'admission.granted': { actions: 'noteAdmitted' },
      },
      initial: 'choosing',
      states: {
        choosing: {
          always: [
            { guard: { type: 'isCrashLooping', params: suspends }, target: 'crashLoop' },
            { guard: { type: 'isReconnectStorm', params: suspends }, target: 'reconnectStorm' },
          ],
        },
        crashLoop: byStorm,
        reconnectStorm: byStorm,
      },
    },
    failed: {
      tags: ['needsUser', 'atRest'],
      entry: ['announceGivingUp', 'announceRest', 'reportHalt'],
      exit: 'reportResumption',
      on: { 'input.answered': answered },
      initial: 'choosing',
      states: {
        choosing: {
          always: [
            { guard: { type: 'isCrashLooping', params: fails }, target: 'crashLoop' },
            { guard: { type: 'isReconnectStorm', params: fails }, target: 'reconnectStorm' },
            failedBy('capabilityMissing'),
            failedBy('versionUnsupported'),
            { guard: 'isNotStartable', target: 'notStartable' },
            { guard: 'isRestartForbidden', target: 'restartNever' },
            { guard: 'hasFailedAlike', target: 'sameFailure' },
            { guard: 'isLost', target: 'attemptsExhausted' },
          ],
        },
        attemptsExhausted: {},
        sameFailure: {},
        capabilityMissing: {},
        versionUnsupported: {},
        notStartable: {
          on: {
            // What was missing may be there by now, and a try that fails costs nothing.
            'server.demanded': { actions: 'wishStart', target: settle },
            'spec.updated': { actions: ['applySpec', 'wishStart'], target: settle },
          },
        },
        restartNever: {},
        crashLoop: failedByStorm,
        reconnectStorm: failedByStorm,
      },
    },
    stopped: { tags: 'atRest', entry: ['announceRest', 'reportHalt'], exit: 'reportResumption' },
  },
});
