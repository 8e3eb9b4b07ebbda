/**
 * Whether a session to the server exists, and where the server rests without one.
 *
 * Every loss and every wish leads to `settling`, which is left at once. Its tables
 * are asked in sequence, each takes the first row that holds: `admitting` answers
 * what is wanted (retire, admission, stop), `answeringLoss` answers a lost session,
 * and `wanting` starts the server if it is in demand. A resting state with several
 * reasons picks its reason in a table of its own, `choosing`. Only a backoff that
 * ran out goes straight to `engaged`. Only `engaged` has a session actor, which
 * opens nothing before its permit is granted. Stop wins every race: commands leave
 * through `closing`, which only notes further ones, so that none restarts or
 * shortens the deadline after which the session is ended by force. "(stays)" means
 * that only actions run: the idle deadline, for one, raises `server.idled`.
 *
 * ```text
 * [*] -> settling
 * settling:
 *   [*] -> admitting
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
 * parked -- server.start | server.stop | server.restart | server.reconnect | server.retire |
 *           server.relieve | admission.granted | admission.withdrawn | spec.updated --> settling
 * parked:
 *   [*] -> dormant
 *   blocked:
 *     [*] -> choosing
 *     choosing -- always [isBlockedBy(untrusted)] --> untrusted
 *     choosing -- always [isBlockedBy(excluded)] --> excluded
 *     choosing -- always [isBlockedBy(notAllowed)] --> notAllowed
 *     choosing -- always [isBlockedBy(pendingApproval)] --> pendingApproval
 *     choosing -- always [isBlockedBy(rejected)] --> rejected
 *     choosing -- always [isBlockedBy(invalidConfig)] --> invalidConfig
 *     choosing -- always [isBlockedBy(overBudget)] --> overBudget
 *     untrusted, excluded, notAllowed, pendingApproval, rejected, invalidConfig, overBudget
 *   dormant -- server.demanded --> settling
 *   backingOff -- server.demanded | spec.updated --> (stays)
 *   backingOff:
 *     [*] -> choosing
 *     choosing -- always [isBusyStart] --> retrying
 *     choosing -- always [hasAttemptsLeft] --> retrying
 *     choosing -- always [isLostRemote] --> lost
 *     retrying -- server.woke [isNotAskedToWait] --> retrying
 *     retrying -- after reconnectBackoff --> engaged
 *     lost -- server.woke [isNotAskedToWait] --> lost
 *     lost -- after reconnectBackoff --> engaged
 *   suspended -- spec.updated | admission.granted --> (stays)
 *   suspended:
 *     [*] -> choosing
 *     choosing -- always [isCrashLooping(suspend)] --> crashLoop
 *     choosing -- always [isReconnectStorm(suspend)] --> reconnectStorm
 *     crashLoop, reconnectStorm
 *   failed:
 *     [*] -> choosing
 *     choosing -- always [isCrashLooping(fail)] --> crashLoop
 *     choosing -- always [isReconnectStorm(fail)] --> reconnectStorm
 *     choosing -- always [hasLost(capabilityMissing)] --> capabilityMissing
 *     choosing -- always [hasLost(versionUnsupported)] --> versionUnsupported
 *     choosing -- always [isRestartForbidden] --> restartNever
 *     choosing -- always [isLost] --> attemptsExhausted
 *     crashLoop -- spec.updated | admission.granted --> (stays)
 *     reconnectStorm -- spec.updated | admission.granted --> (stays)
 *     attemptsExhausted, capabilityMissing, versionUnsupported, restartNever
 *   disabled, authRequired, stopped
 * engaged invokes session
 * engaged -- server.stop | server.retire | server.relieve | server.restart | server.reconnect |
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
 *     queued -- server.woke --> queued
 *     queued -- after queueDeadline --> closing
 *     connecting -- session.opened [isCurrentSession] --> loadingTools
 *     connecting -- server.woke --> connecting
 *     connecting -- after connectDeadline --> closing
 *     loadingTools -- session.listed [isCurrentSession] --> ready
 *     loadingTools -- session.notified [isCurrentSession] --> (stays)
 *     loadingTools -- server.woke --> loadingTools
 *     loadingTools -- session.listFailed [isCurrentSession] --> closing
 *     loadingTools -- after listDeadline --> closing
 *   ready -- session.closed [isCurrentSession] --> settling
 *   ready -- session.notified | session.listed [isCurrentSession] --> (stays)
 *   ready -- session.lost [isCurrentSession] --> ending
 *   ready -- probe.wanted | after sustainedReady --> (stays)
 *   ready -- server.idled | server.reconnect | breaker.tripped | server.hung | server.flooded |
 *            server.relieved --> closing
 *   ready:
 *     [*] -> health + watch + input + listing + activity
 *     health:
 *       [*] -> steady
 *       steady -- always [isImpaired] --> degraded
 *       degraded -- always [isUnimpaired] --> steady
 *     watch:
 *       [*] -> unwatched
 *       unwatched -- always [isWatched] --> resting
 *       unwatched -- spec.updated --> unwatched
 *       unwatched -- server.woke --> waking
 *       resting -- session.probed [isSignOfLife] --> (stays)
 *       resting -- spec.updated --> unwatched
 *       resting -- server.woke --> waking
 *       resting -- after lookPause --> looking
 *       looking -- session.probed [isSignOfLife] --> unwatched
 *       looking -- session.probed [isCurrentSession] --> resting
 *       looking -- server.woke --> waking
 *       looking -- after lookDeadline --> resting
 *       waking -- session.probed [isSignOfLife] --> (stays)
 *       waking -- after wakePause --> lookingAfterWaking
 *       lookingAfterWaking -- session.probed [isSignOfLife] --> unwatched
 *       lookingAfterWaking -- session.probed [isCurrentSession] --> doubting
 *       lookingAfterWaking -- server.woke --> waking
 *       lookingAfterWaking -- after wokenLookDeadline --> doubting
 *       doubting -- session.probed [isSignOfLife] --> unwatched
 *       doubting -- server.woke --> waking
 *       doubting -- after doubtPause --> lookingAfterWaking
 *     input:
 *       [*] -> flowing
 *       flowing -- session.paused [isCurrentSession] --> paused
 *       paused -- session.resumed [isCurrentSession] --> flowing
 *       paused -- after floodDeadline --> (stays)
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
 *       idle -- server.relieve --> (stays)
 *       idle -- look.failed [hasHung] --> (stays)
 *       idle -- after idleDeadline [stopsWhenIdle] --> (stays)
 *       busy -- calls.drained [isCurrentSession] --> idle
 *       busy -- server.relieve --> draining
 *       draining -- calls.drained [isCurrentSession] --> (stays)
 *       draining -- breaker.tripped | server.relieve --> (ignored)
 *       draining -- after drainDeadline --> (stays)
 *   ending -- session.closed [isCurrentSession] --> settling
 *   ending -- after closeDeadline --> (stays)
 *   ending -- after killDeadline --> settling
 *   closing -- server.start | server.stop | server.retire | server.relieve | server.restart |
 *              server.reconnect | admission.withdrawn | after closeDeadline --> (stays)
 *   closing -- session.closed [isCurrentSession] --> settling
 *   closing -- after killDeadline --> settling
 * retired -> [*]
 * ```
 */

import { engagedStates } from './engaged.ts';
import { parkedStates } from './parked.ts';
import { serverSetup } from './setup.ts';

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
              actions: 'restUntilDemanded',
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
    parked: parkedStates,
    engaged: engagedStates,
    retired: { type: 'final', entry: 'announceEnd' },
  },
});
