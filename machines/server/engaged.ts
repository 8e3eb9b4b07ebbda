/**
 * The life of one session, from the wait for a permit to its orderly end.
 *
 * A session actor exists exactly as long as this state. Facts of another session
 * are ignored; every wait has a deadline, and all of them end in `closing`, so
 * that nothing is left behind.
 *
 * ```text
 * [*] -> starting
 * engaged invokes session
 * engaged -- server.stop | server.retire | server.relieve | server.restart | server.reconnect |
 *            admission.withdrawn --> closing
 * engaged -- server.demanded | admission.granted | spec.updated --> (stays)
 * engaged -- session.impaired | session.recovered [isCurrentSession] --> (stays)
 * engaged -- error session --> settling
 * starting -- session.closed [isCurrentSession] --> settling
 * starting: [*] -> queued
 *   queued -- slot.granted --> connecting
 *   queued -- server.demanded --> (stays)
 *   queued -- server.woke --> queued
 *   queued -- after queueDeadline --> closing
 *   connecting -- session.opened [isCurrentSession] --> loadingTools
 *   connecting -- server.woke --> connecting
 *   connecting -- after connectDeadline --> closing
 *   loadingTools -- session.listed [isCurrentSession] --> ready
 *   loadingTools -- session.notified [isCurrentSession] --> (stays)
 *   loadingTools -- server.woke --> loadingTools
 *   loadingTools -- session.listFailed [isCurrentSession] --> closing
 *   loadingTools -- after listDeadline --> closing
 * ready -- session.closed [isCurrentSession] --> settling
 * ready -- session.notified | session.listed [isCurrentSession] --> (stays)
 * ready -- session.lost [isCurrentSession] --> ending
 * ready -- probe.wanted | after sustainedReady --> (stays)
 * ready -- server.idled | server.reconnect | breaker.tripped | server.hung | server.flooded |
 *          server.relieved --> closing
 * ready: [*] -> health + watch + input + listing + activity
 *   health: [*] -> steady
 *     steady -- always [isImpaired] --> degraded
 *     degraded -- always [isUnimpaired] --> steady
 *   watch -- (see watch.ts)
 *   input: [*] -> flowing
 *     flowing -- session.paused [isCurrentSession] --> paused
 *     paused -- session.resumed [isCurrentSession] --> flowing
 *     paused -- after floodDeadline --> (stays)
 *   listing: [*] -> current
 *     current -- session.listFailed [isCurrentSession] --> outdated
 *     outdated -- session.listed [isCurrentSession] --> current
 *     outdated -- session.listFailed [isCurrentSession] --> (stays)
 *     outdated -- after relistPause --> outdated
 *   activity: [*] -> idle
 *     idle -- calls.began [isCurrentSession] --> busy
 *     idle -- spec.updated --> idle
 *     idle -- server.relieve --> (stays)
 *     idle -- look.failed [hasHung] --> (stays)
 *     idle -- after idleDeadline [stopsWhenIdle] --> (stays)
 *     busy -- calls.drained [isCurrentSession] --> idle
 *     busy -- server.relieve --> draining
 *     draining -- calls.drained [isCurrentSession] --> (stays)
 *     draining -- breaker.tripped | server.relieve --> (ignored)
 *     draining -- after drainDeadline --> (stays)
 * ending -- session.closed [isCurrentSession] --> settling
 * ending -- after closeDeadline --> (stays)
 * ending -- after killDeadline --> settling
 * closing -- server.start | server.stop | server.retire | server.relieve | server.restart |
 *            server.reconnect | admission.withdrawn | after closeDeadline --> (stays)
 * closing -- session.closed [isCurrentSession] --> settling
 * closing -- after killDeadline --> settling
 * ```
 */

import { connectTimeoutOf } from './context.ts';
import { ofSession, serverSetup, settle } from './setup.ts';
import { watchStates } from './watch.ts';

export const engagedStates = serverSetup.createStateConfig({
  initial: 'starting',
  entry: 'beginSession',
  exit: 'forgetPeer',
  invoke: {
    id: 'session',
    src: 'session',
    input: ({ context }) => ({
      actorId: context.actorId,
      server: context.name,
      generation: context.generation,
      session: context.session,
    }),
    onError: { actions: ['recordBrokenSession', 'announceAbandoned'], target: settle },
  },
  on: {
    'server.stop': { actions: 'wishStop', target: '.closing' },
    'server.retire': { actions: 'wishRetire', target: '.closing' },
    'server.relieve': { actions: 'wishRetire', target: '.closing' },
    'server.restart': { actions: 'wishRestart', target: '.closing' },
    'server.reconnect': { actions: 'wishReconnect', target: '.closing' },
    'server.demanded': { actions: 'noteDemand' },
    'admission.granted': { actions: 'noteAdmitted' },
    'admission.withdrawn': { actions: 'noteWithdrawn', target: '.closing' },
    'spec.updated': { actions: 'applySpec' },
    'session.impaired': {
      guard: { type: 'isCurrentSession', params: ofSession },
      actions: 'noteImpaired',
    },
    'session.recovered': {
      guard: { type: 'isCurrentSession', params: ofSession },
      actions: 'noteRecovered',
    },
  },
  states: {
    starting: {
      initial: 'queued',
      tags: ['busy', 'waits'],
      entry: 'askForSlot',
      exit: 'returnSlot',
      on: {
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'recordFailedStart',
          target: settle,
        },
      },
      states: {
        queued: {
          on: {
            'slot.granted': { actions: 'tellSessionToOpen', target: 'connecting' },
            'server.demanded': { actions: ['noteDemand', 'askForSlot'] },
            'server.woke': { target: 'queued', reenter: true },
          },
          after: {
            queueDeadline: {
              actions: 'recordQueueDeadline',
              target: '#connection.engaged.closing',
            },
          },
        },
        connecting: {
          on: {
            'session.opened': {
              guard: { type: 'isCurrentSession', params: ofSession },
              actions: ['noteOpened', 'returnSlot', 'tellSessionToList'],
              target: 'loadingTools',
            },
            // Nobody could answer while nobody was awake: the deadline begins anew.
            'server.woke': { target: 'connecting', reenter: true },
          },
          after: {
            connectDeadline: {
              actions: {
                type: 'recordDeadline',
                params: ({ context }) => ({
                  message: `The server did not finish its handshake within ${connectTimeoutOf(context)} ms.`,
                }),
              },
              target: '#connection.engaged.closing',
            },
          },
        },
        loadingTools: {
          on: {
            'session.listed': {
              guard: { type: 'isCurrentSession', params: ofSession },
              actions: 'announceListing',
              target: '#connection.engaged.ready',
            },
            // The list under way may be older than the change: the session runs one more.
            'session.notified': {
              guard: { type: 'isCurrentSession', params: ofSession },
              actions: 'tellSessionToList',
            },
            'server.woke': { target: 'loadingTools', reenter: true },
            'session.listFailed': {
              guard: { type: 'isCurrentSession', params: ofSession },
              actions: 'recordFailedStart',
              target: '#connection.engaged.closing',
            },
          },
          after: {
            listDeadline: {
              actions: {
                type: 'recordDeadline',
                params: ({ context }) => ({
                  message: `The server did not list its tools within ${context.policy.connect.listTimeoutMs} ms.`,
                }),
              },
              target: '#connection.engaged.closing',
            },
          },
        },
      },
    },
    ready: {
      type: 'parallel',
      tags: 'usable',
      entry: ['noteServed', 'reportReady'],
      exit: 'reportFalter',
      on: {
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'recordLostSession',
          target: settle,
        },
        'session.notified': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'tellSessionToList',
        },
        'session.listed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'announceListing',
        },
        'session.lost': {
          guard: { type: 'isCurrentSession', params: ofSession },
          target: 'ending',
        },
        'probe.wanted': { actions: ['tellSessionToList', 'announceProbe'] },
        'server.idled': { actions: 'restWhenIdle', target: 'closing' },
        'server.reconnect': { actions: ['wishReconnect', 'takeTryBack'], target: 'closing' },
        // The session is exchanged at once: it has not ended, so nothing is waited for.
        'breaker.tripped': { actions: ['takeTryBack', 'recordExchange'], target: 'closing' },
        'server.hung': { actions: 'recordHang', target: 'closing' },
        'server.flooded': { actions: 'recordFlood', target: 'closing' },
        'server.relieved': 'closing',
      },
      after: { sustainedReady: { actions: 'forgetAttempts' } },
      states: {
        health: {
          initial: 'steady',
          states: {
            steady: { always: { guard: 'isImpaired', target: 'degraded' } },
            degraded: { always: { guard: 'isUnimpaired', target: 'steady' } },
          },
        },
        watch: watchStates,
        // A server that sends faster than its budget allows is held back; if it goes on, it is disconnected.
        input: {
          initial: 'flowing',
          states: {
            flowing: {
              on: {
                'session.paused': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  target: 'paused',
                },
              },
            },
            paused: {
              on: {
                'session.resumed': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  target: 'flowing',
                },
              },
              after: { floodDeadline: { actions: 'announceFlood' } },
            },
          },
        },
        // A list that failed is asked for again until one comes; the old one is shown meanwhile.
        listing: {
          initial: 'current',
          states: {
            current: {
              on: {
                'session.listFailed': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  actions: 'recordFailedList',
                  target: 'outdated',
                },
              },
            },
            outdated: {
              on: {
                'session.listed': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  target: 'current',
                },
                'session.listFailed': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  actions: 'recordFailedList',
                },
              },
              after: {
                relistPause: {
                  actions: 'tellSessionToList',
                  target: 'outdated',
                  reenter: true,
                },
              },
            },
          },
        },
        activity: {
          initial: 'idle',
          states: {
            idle: {
              on: {
                'calls.began': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  target: 'busy',
                },
                // The deadline under way has the old length. Answered here, the event does not
                // reach `engaged`, so that the new settings are taken here as well.
                'spec.updated': { actions: 'applySpec', target: 'idle', reenter: true },
                'server.relieve': { actions: ['wishRetire', 'announceRelief'] },
                // Only here: a server that works on a call may have no time to answer.
                'look.failed': { guard: 'hasHung', actions: 'announceHang' },
              },
              after: { idleDeadline: { guard: 'stopsWhenIdle', actions: 'announceIdle' } },
            },
            busy: {
              on: {
                'calls.drained': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  target: 'idle',
                },
                'server.relieve': { actions: 'wishRetire', target: 'draining' },
              },
            },
            // No call comes any more, and what is under way may finish.
            draining: {
              on: {
                'calls.drained': {
                  guard: { type: 'isCurrentSession', params: ofSession },
                  actions: 'announceRelief',
                },
                // An exchanged session would take the other calls along, and serve nobody.
                'breaker.tripped': {},
                // Told already.
                'server.relieve': {},
              },
              after: { drainDeadline: { actions: 'announceRelief' } },
            },
          },
        },
      },
    },
    // The session broke off and no longer serves; its process has yet to end.
    ending: {
      tags: 'busy',
      on: {
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'recordLostSession',
          target: settle,
        },
      },
      after: {
        closeDeadline: { actions: 'tellSessionToKill' },
        killDeadline: { actions: ['recordBrokenSession', 'announceAbandoned'], target: settle },
      },
    },
    closing: {
      tags: 'busy',
      entry: 'tellSessionToClose',
      on: {
        'server.start': { actions: 'wishStart' },
        'server.stop': { actions: 'wishStop' },
        'server.retire': { actions: 'wishRetire' },
        'server.relieve': { actions: 'wishRetire' },
        'server.restart': { actions: 'wishRestart' },
        'server.reconnect': { actions: 'wishReconnect' },
        'admission.withdrawn': { actions: 'noteWithdrawn' },
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'recordEvidence',
          target: settle,
        },
      },
      after: {
        closeDeadline: { actions: 'tellSessionToKill' },
        // The next session waits until this one's process has ended, by force if need be.
        killDeadline: { actions: 'announceAbandoned', target: settle },
      },
    },
  },
});
