/**
 * Tracks whether a session with the server exists, and where the server rests without one.
 *
 * Every loss and every request leads to `settling`, which is left at once. Its tables are read in
 * sequence, and each takes the first row whose guard holds: `admitting` decides what is wanted
 * (retire, admission, stop), `answeringLoss` reacts to a lost session, and `wanting` starts the
 * server if it is demanded. A resting state with several reasons picks its reason in its own table,
 * `choosing`. Only the end of a backoff leads straight to `engaged`. Only `engaged.live` has a
 * session, which begins with its start permit. Stop wins every race: commands lead to `closing`,
 * which only records further ones, and the session ends within its own deadlines. "(stays)" means
 * that only actions run.
 *
 * ```text
 * [*] -> settling
 * settling: [*] -> admitting
 *   admitting -- always [isRetiring] --> retired
 *   admitting -- always [isDisabled] --> parked.disabled
 *   admitting -- always [isBlocked] --> parked.blocked
 *   admitting -- always [isStopWanted] --> parked.stopped
 *   admitting -- always [isLost] --> answeringLoss
 *   admitting -- always --> wanting
 *   answeringLoss -- always [hasLost(authRequired)] --> parked.authRequired
 *   answeringLoss -- always [isStorming(suspend)] --> parked.suspended
 *   answeringLoss -- always [isBeyondRetry] --> parked.failed
 *   answeringLoss -- always [isBusyStart] --> parked.backingOff
 *   answeringLoss -- always [sleepsAfterGivingUp] --> parked.dormant
 *   answeringLoss -- always [isRestartForbidden] --> parked.failed
 *   answeringLoss -- always [isTriedAgain] --> parked.backingOff
 *   answeringLoss -- always --> parked.failed
 *   wanting -- always [isUndemanded] --> parked.dormant
 *   wanting -- always --> engaged
 * retired -> [*]
 * parked -- (see parked.ts) --> settling | engaged
 * engaged -- (see engaged.ts) --> settling | retired
 * ```
 */

import { engagedStates } from './engaged.ts';
import { parkedStates } from './parked.ts';
import { serverSetup } from './server-setup.ts';

export const connectionRegion = serverSetup.createStateConfig({
  id: 'connection',
  initial: 'settling',
  states: {
    settling: {
      initial: 'admitting',
      states: {
        admitting: {
          always: [
            { guard: 'isRetiring', target: '#connection.retired' },
            { guard: 'isDisabled', target: '#connection.parked.disabled' },
            { guard: 'isBlocked', target: '#connection.parked.blocked' },
            { guard: 'isStopWanted', target: '#connection.parked.stopped' },
            { guard: 'isLost', target: 'answeringLoss' },
            { target: 'wanting' },
          ],
        },
        answeringLoss: {
          always: [
            {
              guard: { type: 'hasLost', params: { kind: 'authRequired' } },
              target: '#connection.parked.authRequired',
            },
            {
              guard: { type: 'isStorming', params: { action: 'suspend' } },
              target: '#connection.parked.suspended',
            },
            { guard: 'isBeyondRetry', target: '#connection.parked.failed' },
            { guard: 'isBusyStart', target: '#connection.parked.backingOff' },
            {
              guard: 'sleepsAfterGivingUp',
              actions: 'forgetDemandAndLoss',
              target: '#connection.parked.dormant',
            },
            { guard: 'isRestartForbidden', target: '#connection.parked.failed' },
            { guard: 'isTriedAgain', target: '#connection.parked.backingOff' },
            { target: '#connection.parked.failed' },
          ],
        },
        wanting: {
          always: [
            { guard: 'isUndemanded', target: '#connection.parked.dormant' },
            { target: '#connection.engaged' },
          ],
        },
      },
    },
    // Before `engaged`: its arrow then leads back, and the unfolded drawing fits on a screen.
    retired: { type: 'final', entry: 'announceEnd' },
    parked: parkedStates,
    engaged: engagedStates,
  },
});
