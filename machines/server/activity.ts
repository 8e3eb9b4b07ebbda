/**
 * Tracks whether calls are running on a ready server.
 *
 * An idle server comes to rest. A server that a successor replaced drains: it gets no new calls,
 * and running calls may finish. A server is given up after failed health checks only while no call
 * is running, because a busy server may have no time to respond.
 *
 * ```text
 * [*] -> unready
 * activity -- server.faltered | server.retire --> unready
 * activity -- done session [isRetiring] --> ended
 * activity -- server.ended --> ended
 * unready -- server.listed --> idle
 * idle -- calls.began [isCurrentSession] --> busy
 * idle -- spec.updated --> idle
 * idle -- server.relieve --> (stays)
 * idle -- session.silent [hasHung] --> (stays)
 * idle -- after idleDeadline [stopsWhenIdle] --> (stays)
 * busy -- calls.drained [isCurrentSession] --> idle
 * busy -- server.relieve --> draining
 * draining -- calls.drained [isCurrentSession] --> (stays)
 * draining -- after drainDeadline --> (stays)
 * ended -> [*]
 * ```
 */

import { ofSession, serverSetup } from './server-setup.ts';

const ofPresent = { guard: { type: 'isCurrentSession', params: ofSession } } as const;

export const activityRegion = serverSetup.createStateConfig({
  id: 'activity',
  initial: 'unready',
  on: {
    'server.faltered': '.unready',
    'server.retire': '.unready',
    'xstate.done.actor.session': { guard: 'isRetiring', target: '.ended' },
    'server.ended': '.ended',
  },
  states: {
    unready: { on: { 'server.listed': 'idle' } },
    idle: {
      on: {
        'calls.began': { ...ofPresent, target: 'busy' },
        // Restarts the timer with its new duration.
        'spec.updated': { target: 'idle', reenter: true },
        'server.relieve': { actions: 'announceRelief' },
        'session.silent': {
          guard: { type: 'hasHung', params: ({ event }) => event },
          actions: 'announceHang',
        },
      },
      after: { idleDeadline: { guard: 'stopsWhenIdle', actions: 'announceIdle' } },
    },
    busy: {
      on: {
        'calls.drained': { ...ofPresent, target: 'idle' },
        'server.relieve': 'draining',
      },
    },
    draining: {
      on: { 'calls.drained': { ...ofPresent, actions: 'announceRelief' } },
      after: { drainDeadline: { actions: 'announceRelief' } },
    },
    ended: { type: 'final' },
  },
});
