/**
 * Decides which tools are shown for the server.
 *
 * `live`: listed in the current session. `stale`: that session is over, by failure or on request,
 * and the next one has not listed yet; a suspended server also keeps its stale tools. `deferred`:
 * stored from an earlier session, for example for a dormant server. `none`: the server may not run,
 * the user stopped it, it failed for good (unless the policy keeps the tools of a lost server), or no
 * list is known. `lost` is left at once: the policy
 * decides whether a lost session's tools stay, become deferred, or disappear until the next list. A
 * deferred list may be forgotten when it is too old or the store is full. The region begins in
 * `remembering`, which checks whether a list is stored. It never reads another region's state: the
 * connection reports the `server.*` facts to the others, and `server.listed` is a list that the
 * connection accepted (one that arrives too late is not).
 *
 * ```text
 * [*] -> remembering
 * catalog -- server.listed --> live
 * catalog -- server.stop | server.retire | admission.withdrawn | server.gaveUp --> none
 * catalog -- done session [isRetiring] --> ended
 * catalog -- server.ended --> ended
 * remembering -- always [mayShowStored] --> deferred
 * remembering -- always --> none
 * none -- admission.granted [mayShowStoredOnceAdmitted] --> deferred
 * none -- server.start | server.restart [mayShowStoredOnceStarted] --> deferred
 * none -- server.reconnect [mayShowStored] --> deferred
 * none -- catalog.forgotten --> (stays)
 * deferred -- catalog.forgotten --> none
 * live -- done session | error session --> lost
 * live -- server.idled [mayShowStored] --> deferred
 * live -- server.idled --> none
 * lost -- always [keepsStale] --> stale
 * lost -- always [defersWhileDown] --> deferred
 * lost -- always --> none
 * stale -- catalog.forgotten --> none
 * stale -- server.gaveUp [keepsAfterGivingUp] --> (ignored)
 * stale -- server.gaveUp --> none
 * ended -> [*]
 * ```
 */

import { serverSetup } from './server-setup.ts';

// The list is too old, or the store is full. Neither affects a list of the current session.
const forgotten = { actions: 'forgetCatalog', target: 'none' } as const;

export const catalogRegion = serverSetup.createStateConfig({
  id: 'catalog',
  initial: 'remembering',
  on: {
    // Only a list that the connection accepted counts: one that arrives while the session closes
    // must not bring back the tools of a stopped server.
    'server.listed': { actions: 'rememberCatalog', target: '.live' },
    'server.stop': '.none',
    'server.retire': '.none',
    'admission.withdrawn': '.none',
    'server.gaveUp': '.none',
    'xstate.done.actor.session': { guard: 'isRetiring', target: '.ended' },
    'server.ended': '.ended',
  },
  states: {
    remembering: {
      always: [{ guard: 'mayShowStored', target: 'deferred' }, { target: 'none' }],
    },
    none: {
      on: {
        'admission.granted': { guard: 'mayShowStoredOnceAdmitted', target: 'deferred' },
        'server.start': { guard: 'mayShowStoredOnceStarted', target: 'deferred' },
        'server.restart': { guard: 'mayShowStoredOnceStarted', target: 'deferred' },
        'server.reconnect': { guard: 'mayShowStored', target: 'deferred' },
        'catalog.forgotten': { actions: 'forgetCatalog' },
      },
    },
    deferred: { on: { 'catalog.forgotten': forgotten } },
    live: {
      on: {
        'xstate.done.actor.session': 'lost',
        'xstate.error.actor.session': 'lost',
        'server.idled': [{ guard: 'mayShowStored', target: 'deferred' }, { target: 'none' }],
      },
    },
    lost: {
      always: [
        { guard: 'keepsStale', target: 'stale' },
        { guard: 'defersWhileDown', target: 'deferred' },
        { actions: 'forgetCatalog', target: 'none' },
      ],
    },
    stale: {
      on: {
        'catalog.forgotten': forgotten,
        // Calls then fail with the reason why the server was given up.
        'server.gaveUp': [{ guard: 'keepsAfterGivingUp' }, { target: 'none' }],
      },
    },
    ended: { type: 'final' },
  },
});
