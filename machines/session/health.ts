/**
 * The health checks of an open session.
 *
 * One check runs at a time, and any message proves that the server is alive, even a late one.
 * Failed checks degrade the server. After enough consecutive failures, the server chart gives the
 * session up, unless calls are running. After a wake-up, checks follow at short intervals until the
 * server responds, because the network may need a moment.
 *
 * A remote server that may be gone is checked at once, unless it has just woken. It is lost when that
 * check fails, or when it stays silent without being busy with calls. A server that is busy is checked
 * again if it is checked regularly, and its silence counts as a failed check. Calls over WebSocket are
 * not counted.
 *
 * ```text
 * [*] -> unwatched
 * unwatched -- always [isPinged] --> resting
 * unwatched -- policy.updated --> unwatched
 * unwatched -- server.woke --> waking
 * unwatched -- wire.doubted --> suspecting
 * resting -- wire.probed [isSignOfLife] --> (stays)
 * resting -- policy.updated --> unwatched
 * resting -- server.woke --> waking
 * resting -- wire.doubted --> suspecting
 * resting -- after checkPause --> looking
 * looking -- wire.probed [isSignOfLife] --> unwatched
 * looking -- wire.probed --> unwatched
 * looking -- server.woke --> waking
 * looking -- wire.doubted --> suspecting
 * looking -- after checkDeadline --> unwatched
 * waking -- wire.probed [isSignOfLife] --> (stays)
 * waking -- after wakePause --> lookingAfterWaking
 * lookingAfterWaking -- wire.probed [isSignOfLife] --> unwatched
 * lookingAfterWaking -- wire.probed --> doubting
 * lookingAfterWaking -- server.woke --> waking
 * lookingAfterWaking -- after wokenCheckDeadline --> doubting
 * doubting -- wire.probed [isSignOfLife] --> unwatched
 * doubting -- server.woke --> waking
 * doubting -- after doubtPause --> lookingAfterWaking
 * suspecting -- wire.probed [isSignOfLife] --> unwatched
 * suspecting -- wire.probed [isAnswer] --> unwatched
 * suspecting -- wire.probed --> (stays)
 * suspecting -- server.woke --> waking
 * suspecting -- after silenceDeadline [isPinged] --> suspecting
 * suspecting -- after silenceDeadline --> suspecting
 * ```
 */

import type { Failure } from '../../src/domain/failure.ts';
import { eventOf, sessionSetup } from './session-setup.ts';

const signOfLife = { guard: { type: 'isSignOfLife', params: eventOf } } as const;
const lateSignOfLife = { ...signOfLife, actions: 'noteAlive' } as const;
// An event handled in a region does not reach the chart, so the policy is applied here too.
const edited = { actions: 'applyPolicy', target: 'unwatched' } as const;
/** Starts a check at once, or awaits the one that is running, but not as long. */
const doubted = { actions: 'probe', target: 'suspecting' } as const;
const woken = { actions: 'noteWake', target: 'waking' } as const;

/** The transitions of a health check: answered, failed, or timed out. */
function checkThat(failsInto: 'unwatched' | 'doubting') {
  return {
    probed: [
      { ...signOfLife, actions: 'noteAlive', target: 'unwatched' },
      {
        actions: {
          type: 'noteFailedCheck',
          params: ({ event }: { event: { failure?: Failure } }) => ({ failure: event.failure }),
        },
        target: failsInto,
      },
    ],
    unanswered: { actions: { type: 'noteFailedCheck', params: {} }, target: failsInto },
  } as const;
}
const routine = checkThat('unwatched');
const afterWaking = checkThat('doubting');

export const watchStates = sessionSetup.createStateConfig({
  initial: 'unwatched',
  states: {
    unwatched: {
      always: { guard: 'isPinged', target: 'resting' },
      on: { 'policy.updated': edited, 'server.woke': woken, 'wire.doubted': doubted },
    },
    resting: {
      on: {
        'wire.probed': lateSignOfLife,
        'policy.updated': edited,
        'server.woke': woken,
        'wire.doubted': doubted,
      },
      after: { checkPause: 'looking' },
    },
    looking: {
      entry: 'probe',
      on: { 'wire.probed': routine.probed, 'server.woke': woken, 'wire.doubted': 'suspecting' },
      after: { checkDeadline: routine.unanswered },
    },
    // All servers of all hosts on this machine woke at the same moment. After that, broken connections
    // are to be expected, and are no reason for a check out of turn or with less patience.
    waking: {
      on: { 'wire.probed': lateSignOfLife },
      after: { wakePause: 'lookingAfterWaking' },
    },
    lookingAfterWaking: {
      entry: 'probe',
      on: { 'wire.probed': afterWaking.probed, 'server.woke': woken },
      after: { wokenCheckDeadline: afterWaking.unanswered },
    },
    doubting: {
      on: { 'wire.probed': { ...lateSignOfLife, target: 'unwatched' }, 'server.woke': woken },
      after: { doubtPause: 'lookingAfterWaking' },
    },
    suspecting: {
      on: {
        'wire.probed': [
          { ...lateSignOfLife, target: 'unwatched' },
          { guard: { type: 'isAnswer', params: eventOf }, target: 'unwatched' },
          { actions: 'abandon' },
        ],
        'server.woke': woken,
      },
      after: {
        silenceDeadline: [
          {
            guard: 'isPinged',
            actions: ['abandon', { type: 'noteFailedCheck', params: {} }, 'probe'],
            target: 'suspecting',
            reenter: true,
          },
          { actions: 'abandon', target: 'suspecting', reenter: true },
        ],
      },
    },
  },
});
