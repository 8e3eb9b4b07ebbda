/**
 * Whether somebody still lives behind a ready session: asked every so often where
 * the policy wants it, and once after the machine woke, wherever it woke.
 *
 * A look is one question of ours, never two at a time, and any answer counts, even
 * a late one. Failed looks degrade the server; that enough of them in a row end
 * its session is decided by whoever knows that no call is at work. After a wake-up the
 * looks go on at short intervals until somebody answers: the network may need a
 * moment.
 *
 * ```text
 * [*] -> unwatched
 * unwatched -- always [isWatched] --> resting
 * unwatched -- spec.updated --> unwatched
 * unwatched -- server.woke --> waking
 * resting -- session.probed [isSignOfLife] --> (stays)
 * resting -- spec.updated --> unwatched
 * resting -- server.woke --> waking
 * resting -- after lookPause --> looking
 * looking -- session.probed [isSignOfLife] --> unwatched
 * looking -- session.probed [isCurrentSession] --> resting
 * looking -- server.woke --> waking
 * looking -- after lookDeadline --> resting
 * waking -- session.probed [isSignOfLife] --> (stays)
 * waking -- after wakePause --> lookingAfterWaking
 * lookingAfterWaking -- session.probed [isSignOfLife] --> unwatched
 * lookingAfterWaking -- session.probed [isCurrentSession] --> doubting
 * lookingAfterWaking -- server.woke --> waking
 * lookingAfterWaking -- after wokenLookDeadline --> doubting
 * doubting -- session.probed [isSignOfLife] --> unwatched
 * doubting -- server.woke --> waking
 * doubting -- after doubtPause --> lookingAfterWaking
 * ```
 */

import type { Failure } from '../../src/domain/failure.ts';
import { ofProbe, ofSession, serverSetup } from './setup.ts';

const signOfLife = { guard: { type: 'isSignOfLife', params: ofProbe } } as const;
const lateSignOfLife = { ...signOfLife, actions: 'noteAlive' } as const;
// Answered here, the event does not reach `engaged`, so that the new settings are taken here as well.
const edited = { actions: 'applySpec', target: 'unwatched' } as const;
const woken = { actions: 'noteWake', target: 'waking' } as const;

/** Answered, answered in vain, or not at all: where each leads. */
function lookThat(failsInto: 'resting' | 'doubting') {
  return {
    probed: [
      { ...signOfLife, actions: 'noteAlive', target: 'unwatched' },
      {
        guard: { type: 'isCurrentSession', params: ofSession },
        actions: [
          {
            type: 'noteFailedLook',
            params: ({ event }: { event: { failure?: Failure } }) => ({ failure: event.failure }),
          },
          'announceFailedLook',
        ],
        target: failsInto,
      },
    ],
    silence: {
      actions: [{ type: 'noteFailedLook', params: {} }, 'announceFailedLook'],
      target: failsInto,
    },
  } as const;
}
const routine = lookThat('resting');
const afterWaking = lookThat('doubting');

export const watchStates = serverSetup.createStateConfig({
  initial: 'unwatched',
  states: {
    unwatched: {
      always: { guard: 'isWatched', target: 'resting' },
      on: { 'spec.updated': edited, 'server.woke': woken },
    },
    resting: {
      on: {
        'session.probed': lateSignOfLife,
        'spec.updated': edited,
        'server.woke': woken,
      },
      after: { lookPause: 'looking' },
    },
    looking: {
      entry: 'tellSessionToProbe',
      on: { 'session.probed': routine.probed, 'server.woke': woken },
      after: { lookDeadline: routine.silence },
    },
    // All servers of all hosts of this machine woke at the same moment.
    waking: {
      on: { 'session.probed': lateSignOfLife },
      after: { wakePause: 'lookingAfterWaking' },
    },
    lookingAfterWaking: {
      entry: 'tellSessionToProbe',
      on: { 'session.probed': afterWaking.probed, 'server.woke': woken },
      after: { wokenLookDeadline: afterWaking.silence },
    },
    doubting: {
      on: {
        'session.probed': { ...lateSignOfLife, target: 'unwatched' },
        'server.woke': woken,
      },
      after: { doubtPause: 'lookingAfterWaking' },
    },
  },
});
