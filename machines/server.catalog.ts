/**
 * Where the tools that are shown for the server come from.
 *
 * `live` was listed in this session; `stale` outlived a session that was lost;
 * `deferred` comes from the store; `none` shows nothing: the server may not
 * run, nobody wants it to, it gave up, or nothing is known. The region reads
 * facts only, never the connection's state.
 *
 * ```text
 * [*] -> remembering
 * catalog -- server.listed --> live
 * catalog -- server.stop | server.retire | admission.withdrawn | server.gaveUp --> none
 * catalog -- server.ended --> ended
 * remembering -- always [mayShowStored] --> deferred
 * remembering -- always --> none
 * none -- admission.granted [mayShowStoredOnceAdmitted] --> deferred
 * none -- server.start | server.restart [mayShowStoredOnceStarted] --> deferred
 * none -- server.reconnect [mayShowStored] --> deferred
 * live -- session.closed [isCurrentSession] --> stale
 * live -- session.abandoned --> stale
 * live -- server.idled --> deferred
 * ended -> [*]
 * deferred, stale
 * ```
 */

import { ofSession, serverSetup } from './server.setup.ts';

export const catalogRegion = serverSetup.createStateConfig({
  id: 'catalog',
  initial: 'remembering',
  on: {
    // Only a list that the connection took counts: one that arrives while the
    // session closes must not bring back the tools of a server that was stopped.
    'server.listed': { actions: ['rememberCatalog', 'reportCatalog'], target: '.live' },
    'server.stop': '.none',
    'server.retire': '.none',
    'admission.withdrawn': '.none',
    'server.gaveUp': '.none',
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
      },
    },
    deferred: {},
    live: {
      on: {
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          target: 'stale',
        },
        'session.abandoned': 'stale',
        'server.idled': 'deferred',
      },
    },
    stale: {},
    ended: { type: 'final' },
  },
});
