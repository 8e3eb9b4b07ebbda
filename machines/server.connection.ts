/**
 * Whether a session to the server exists, and where the server rests when none does.
 *
 * All paths meet in `settling`, which is left at once: its one table decides
 * from what is wanted (retire, admission, stop wish) and what was lost where to
 * rest. Only `engaged` has a session, and only here is anything sent to it.
 * Stop wins every race: commands leave through `closing`, which repeats them
 * without a target so that none restarts or shortens the deadline of the kill.
 *
 * ```text
 * [*] -> settling
 * settling -- always [isRetiring] --> retired
 * settling -- always [isDisabled] --> parked.disabled
 * settling -- always [isBlockedBy(untrusted)] --> parked.blocked.untrusted
 * settling -- always [isBlockedBy(excluded)] --> parked.blocked.excluded
 * settling -- always [isBlockedBy(notAllowed)] --> parked.blocked.notAllowed
 * settling -- always [isBlockedBy(invalidConfig)] --> parked.blocked.invalidConfig
 * settling -- always [isBlockedBy(pendingApproval)] --> parked.blocked.pendingApproval
 * settling -- always [isBlockedBy(rejected)] --> parked.blocked.rejected
 * settling -- always [isBlockedBy(overBudget)] --> parked.blocked.overBudget
 * settling -- always [isStopWanted] --> parked.stopped
 * settling -- always [hasLost(authRequired)] --> parked.authRequired
 * settling -- always [isCrashLooping] --> parked.suspended.crashLoop
 * settling -- always [isReconnectStorm] --> parked.suspended.reconnectStorm
 * settling -- always [hasLost(capabilityMissing)] --> parked.failed.capabilityMissing
 * settling -- always [hasLost(versionUnsupported)] --> parked.failed.versionUnsupported
 * settling -- always [isRestartForbidden] --> parked.failed.restartNever
 * settling -- always [hasAttemptsLeft] --> parked.backingOff.retrying
 * settling -- always [isLostRemote] --> parked.backingOff.lost
 * settling -- always [isLost] --> parked.failed.attemptsExhausted
 * settling -- always [isUndemanded] --> parked.dormant
 * settling -- always --> engaged
 * parked -- server.start | server.stop | server.restart | server.reconnect | server.retire |
 *           admission.granted | admission.withdrawn | spec.updated --> settling
 * parked:
 *   [*] -> dormant
 *   blocked:
 *     [*] -> untrusted
 *     excluded, notAllowed, pendingApproval, rejected, invalidConfig, overBudget
 *   dormant -- server.demanded --> settling
 *   backingOff -- server.demanded | spec.updated --> (stays)
 *   backingOff:
 *     [*] -> retrying
 *     retrying -- after reconnectBackoff --> engaged
 *     lost -- after reconnectBackoff --> engaged
 *   suspended -- spec.updated | admission.granted --> (stays)
 *   suspended:
 *     [*] -> crashLoop
 *     reconnectStorm
 *   failed:
 *     [*] -> attemptsExhausted
 *     capabilityMissing, versionUnsupported, restartNever
 *   disabled, authRequired, stopped
 * engaged invokes session
 * engaged -- server.stop | server.retire | server.restart | server.reconnect |
 *            admission.withdrawn --> engaged.closing
 * engaged -- server.demanded | admission.granted | spec.updated --> (stays)
 * engaged -- session.impaired | session.recovered [isCurrentSession] --> (stays)
 * engaged -- error session --> settling
 * engaged:
 *   [*] -> starting
 *   starting -- session.closed [isCurrentSession] --> settling
 *   starting:
 *     [*] -> queued
 *     queued -- slot.granted --> connecting
 *     queued -- server.demanded --> (stays)
 *     queued -- after queueDeadline --> closing
 *     connecting -- session.opened [isCurrentSession] --> loadingTools
 *     connecting -- after connectDeadline --> closing
 *     loadingTools -- session.listed [isCurrentSession] --> ready
 *     loadingTools -- session.notified [isCurrentSession] --> (stays)
 *     loadingTools -- session.listFailed [isCurrentSession] --> closing
 *     loadingTools -- after listDeadline --> closing
 *   ready -- session.closed [isCurrentSession] --> settling
 *   ready -- session.notified | session.listed [isCurrentSession] --> (stays)
 *   ready -- probe.wanted | after sustainedReady --> (stays)
 *   ready -- server.idled | server.reconnect --> closing
 *   ready:
 *     [*] -> health + listing + activity
 *     health:
 *       [*] -> steady
 *       steady -- always [isImpaired] --> degraded
 *       degraded -- always [isUnimpaired] --> steady
 *     listing:
 *       [*] -> current
 *       current -- session.listFailed [isCurrentSession] --> outdated
 *       outdated -- session.listed [isCurrentSession] --> current
 *       outdated -- session.listFailed [isCurrentSession] --> (stays)
 *       outdated -- after relistPause --> outdated
 *     activity:
 *       [*] -> idle
 *       idle -- calls.began [isCurrentSession] --> busy
 *       idle -- spec.updated --> idle
 *       idle -- after idleDeadline [stopsWhenIdle] --> (stays)
 *       busy -- calls.drained [isCurrentSession] --> idle
 *   closing -- server.start | server.stop | server.retire | server.restart | server.reconnect |
 *              admission.withdrawn --> (stays)
 *   closing -- session.closed [isCurrentSession] --> settling
 *   closing -- after closeDeadline --> settling
 * retired -> [*]
 * ```
 */

import { ofSession, serverSetup } from './server.setup.ts';

const settle = '#connection.settling';

export const connectionRegion = serverSetup.createStateConfig({
  id: 'connection',
  initial: 'settling',
  states: {
    settling: {
      always: [
        { guard: 'isRetiring', target: 'retired' },
        { guard: 'isDisabled', target: 'parked.disabled' },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'untrusted' } },
          target: 'parked.blocked.untrusted',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'excluded' } },
          target: 'parked.blocked.excluded',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'notAllowed' } },
          target: 'parked.blocked.notAllowed',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'invalidConfig' } },
          target: 'parked.blocked.invalidConfig',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'pendingApproval' } },
          target: 'parked.blocked.pendingApproval',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'rejected' } },
          target: 'parked.blocked.rejected',
        },
        {
          guard: { type: 'isBlockedBy', params: { reason: 'overBudget' } },
          target: 'parked.blocked.overBudget',
        },
        { guard: 'isStopWanted', target: 'parked.stopped' },
        {
          guard: { type: 'hasLost', params: { kind: 'authRequired' } },
          target: 'parked.authRequired',
        },
        { guard: 'isCrashLooping', target: 'parked.suspended.crashLoop' },
        { guard: 'isReconnectStorm', target: 'parked.suspended.reconnectStorm' },
        {
          guard: { type: 'hasLost', params: { kind: 'capabilityMissing' } },
          target: 'parked.failed.capabilityMissing',
        },
        {
          guard: { type: 'hasLost', params: { kind: 'versionUnsupported' } },
          target: 'parked.failed.versionUnsupported',
        },
        { guard: 'isRestartForbidden', target: 'parked.failed.restartNever' },
        { guard: 'hasAttemptsLeft', target: 'parked.backingOff.retrying' },
        { guard: 'isLostRemote', target: 'parked.backingOff.lost' },
        { guard: 'isLost', target: 'parked.failed.attemptsExhausted' },
        { guard: 'isUndemanded', target: 'parked.dormant' },
        { target: 'engaged' },
      ],
    },
    parked: {
      initial: 'dormant',
      on: {
        'server.start': { actions: 'wishStart', target: settle },
        'server.stop': { actions: 'wishStop', target: settle },
        'server.restart': { actions: 'wishRestart', target: settle },
        'server.reconnect': { actions: 'wishReconnect', target: settle },
        'server.retire': { actions: 'wishRetire', target: settle },
        'admission.granted': { actions: 'noteAdmitted', target: settle },
        'admission.withdrawn': { actions: 'noteWithdrawn', target: settle },
        'spec.updated': { actions: 'applySpec', target: settle },
      },
      states: {
        disabled: { entry: 'announceRest' },
        blocked: {
          tags: 'needsUser',
          entry: 'announceRest',
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
          entry: 'announceRest',
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
            retrying: {
              entry: 'drawReconnectDelay',
              after: { reconnectBackoff: '#connection.engaged' },
            },
            lost: {
              entry: 'drawLostDelay',
              after: { reconnectBackoff: '#connection.engaged' },
            },
          },
        },
        authRequired: { tags: 'needsUser', entry: ['forgetWindows', 'announceRest'] },
        suspended: {
          tags: 'needsUser',
          entry: ['forgetWindows', 'announceRest'],
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
          tags: 'needsUser',
          entry: ['announceGivingUp', 'announceRest'],
          initial: 'attemptsExhausted',
          states: {
            attemptsExhausted: {},
            capabilityMissing: {},
            versionUnsupported: {},
            restartNever: {},
          },
        },
        stopped: { entry: 'announceRest' },
      },
    },
    engaged: {
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
                  actions: ['noteOpened', 'keepSlot', 'tellSessionToList'],
                  target: 'loadingTools',
                },
              },
              after: {
                connectDeadline: {
                  actions: {
                    type: 'recordDeadline',
                    params: ({ context }) => ({
                      message: `The server did not finish its handshake within ${context.policy.connectTimeoutMs} ms.`,
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
                      message: `The server did not list its tools within ${context.policy.listTimeoutMs} ms.`,
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
          entry: 'noteServed',
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
            'probe.wanted': { actions: 'tellSessionToList' },
            'server.idled': { actions: 'restWhenIdle', target: 'closing' },
            'server.reconnect': { actions: ['wishReconnect', 'takeTryBack'], target: 'closing' },
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
                    // The deadline under way has the old length; `engaged` takes the new one.
                    'spec.updated': { target: 'idle', reenter: true },
                  },
                  after: { idleDeadline: { guard: 'stopsWhenIdle', actions: 'announceIdle' } },
                },
                busy: {
                  on: {
                    'calls.drained': {
                      guard: { type: 'isCurrentSession', params: ofSession },
                      target: 'idle',
                    },
                  },
                },
              },
            },
          },
        },
        closing: {
          tags: 'busy',
          entry: 'tellSessionToClose',
          on: {
            'server.start': { actions: 'wishStart' },
            'server.stop': { actions: 'wishStop' },
            'server.retire': { actions: 'wishRetire' },
            'server.restart': { actions: 'wishRestart' },
            'server.reconnect': { actions: 'wishReconnect' },
            'admission.withdrawn': { actions: 'noteWithdrawn' },
            'session.closed': {
              guard: { type: 'isCurrentSession', params: ofSession },
              actions: 'recordEvidence',
              target: settle,
            },
          },
          after: { closeDeadline: { actions: 'announceAbandoned', target: settle } },
        },
      },
    },
    retired: { type: 'final', entry: 'announceEnd' },
  },
});
