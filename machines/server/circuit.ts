/**
 * Decides whether calls to the server may be sent.
 *
 * Consecutive failed calls open the circuit or replace the session (`breaker.tripped`), depending
 * on the policy. They are counted across sessions, because a server that crashes on every call
 * fails only once in each. Late reports about an earlier session do not count. After the cool-down,
 * a ready server is probed once, by our own tool list and never by a user's call. Any successful
 * list then closes the circuit; a failed one, a lost session or silence opens it again for twice as
 * long, up to a maximum. While the server is not ready, the probe stays `due`: an outage, however
 * long, is not a failed probe, and the next session's first list serves as one. The circuit closes
 * at once when the user starts, restarts or reconnects the server, and when the server comes to a
 * rest that no timer ends (`server.rested`): there is nothing to probe, and no timer should run.
 * Backing off is not that kind of rest.
 *
 * ```text
 * [*] -> closed
 * circuit -- server.start | server.restart | server.reconnect | server.rested --> closed
 * circuit -- done session [isRetiring] --> ended
 * circuit -- server.ended --> ended
 * closed -- call.failed [reachesThreshold] --> open
 * closed -- call.failed [reachesThreshold] --> (stays)
 * closed -- call.failed [countsCalls] --> (stays)
 * closed -- call.succeeded [isCurrentSession] --> (stays)
 * open -- after circuitCooldown --> due
 * due -- probe.began --> halfOpen
 * due -- session.listed --> closed
 * halfOpen -- session.listed --> closed
 * halfOpen -- session.listFailed | done session | error session | after probeDeadline --> open
 * ended -> [*]
 * ```
 */

import { ofSession, serverSetup } from './server-setup.ts';

const probeFailed = { actions: 'lengthenCooldown', target: 'open' } as const;

export const circuitRegion = serverSetup.createStateConfig({
  id: 'circuit',
  initial: 'closed',
  on: {
    'server.start': '.closed',
    'server.restart': '.closed',
    'server.reconnect': '.closed',
    'server.rested': '.closed',
    'xstate.done.actor.session': { guard: 'isRetiring', target: '.ended' },
    'server.ended': '.ended',
  },
  states: {
    closed: {
      entry: 'forgetFailedCalls',
      on: {
        'call.failed': [
          {
            guard: {
              type: 'reachesThreshold',
              params: ({ event }) => ({ session: event.session, action: 'failFast' }),
            },
            actions: 'startCooldown',
            target: 'open',
          },
          {
            guard: {
              type: 'reachesThreshold',
              params: ({ event }) => ({ session: event.session, action: 'reconnect' }),
            },
            actions: ['forgetFailedCalls', 'announceTrip'],
          },
          {
            guard: { type: 'countsCalls', params: ofSession },
            actions: 'countFailedCall',
          },
        ],
        'call.succeeded': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'forgetFailedCalls',
        },
      },
    },
    open: { after: { circuitCooldown: 'due' } },
    // A server that is ready is probed at once.
    due: {
      entry: 'askForProbe',
      on: {
        'probe.began': 'halfOpen',
        'session.listed': 'closed',
      },
    },
    halfOpen: {
      on: {
        'session.listed': 'closed',
        'session.listFailed': probeFailed,
        'xstate.done.actor.session': probeFailed,
        'xstate.error.actor.session': probeFailed,
      },
      after: { probeDeadline: probeFailed },
    },
    ended: { type: 'final' },
  },
});
