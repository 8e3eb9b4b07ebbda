/**
 * Decides whether calls to the server may go out.
 *
 * A run of failed calls opens the circuit. After the cool-down the server is
 * probed once, by a tool list of our own and never by a user's call; its answer
 * closes the circuit, silence or an error opens it again for twice as long.
 * A person's restart starts afresh, and so does a server that rests: without a
 * session to come there is nothing to probe, and no timer should run.
 *
 * ```text
 * [*] -> closed
 * circuit -- server.start | server.restart | server.reconnect | server.rested --> closed
 * circuit -- server.ended --> ended
 * closed -- call.failed [reachesThreshold] --> open
 * closed -- call.failed [isCurrentSession] --> (stays)
 * closed -- call.succeeded [isCurrentSession] --> (stays)
 * open -- after circuitCooldown --> halfOpen
 * halfOpen -- session.listed [isCurrentSession] --> closed
 * halfOpen -- session.listFailed | session.closed [isCurrentSession] --> open
 * halfOpen -- after probeDeadline --> open
 * ended -> [*]
 * ```
 */

import { ofSession, serverSetup } from './server.setup.ts';

export const circuitRegion = serverSetup.createStateConfig({
  id: 'circuit',
  initial: 'closed',
  on: {
    'server.start': '.closed',
    'server.restart': '.closed',
    'server.reconnect': '.closed',
    'server.rested': '.closed',
    'server.ended': '.ended',
  },
  states: {
    closed: {
      entry: 'forgetFailedCalls',
      on: {
        'call.failed': [
          {
            guard: { type: 'reachesThreshold', params: ofSession },
            actions: 'startCooldown',
            target: 'open',
          },
          {
            guard: { type: 'isCurrentSession', params: ofSession },
            actions: 'countFailedCall',
          },
        ],
        'call.succeeded': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'forgetFailedCalls',
        },
      },
    },
    open: { after: { circuitCooldown: 'halfOpen' } },
    halfOpen: {
      entry: 'askForProbe',
      on: {
        'session.listed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          target: 'closed',
        },
        'session.listFailed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'lengthenCooldown',
          target: 'open',
        },
        'session.closed': {
          guard: { type: 'isCurrentSession', params: ofSession },
          actions: 'lengthenCooldown',
          target: 'open',
        },
      },
      after: { probeDeadline: { actions: 'lengthenCooldown', target: 'open' } },
    },
    ended: { type: 'final' },
  },
});
