/**
 * Whether a session to the server exists, and where the server rests when none does.
 *
 * Every loss and every wish meets in `settling`, which is left at once: its one
 * table decides, first match first, from what is wanted (retire, admission, stop)
 * and what was lost where to rest; only a backoff that ran out goes straight back
 * to `engaged`. Only `engaged` has a session actor, which opens nothing until its
 * permit is there. Stop wins every race: commands leave through `closing`, where
 * further ones are only noted, so that none restarts or shortens the deadline
 * after which the session is ended by force. "(stays)" means that only actions
 * run: the idle deadline, for one, raises `server.idled`.
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
 * settling -- always [isCrashLooping(suspend)] --> parked.suspended.crashLoop
 * settling -- always [isReconnectStorm(suspend)] --> parked.suspended.reconnectStorm
 * settling -- always [isCrashLooping(fail)] --> parked.failed.crashLoop
 * settling -- always [isReconnectStorm(fail)] --> parked.failed.reconnectStorm
 * settling -- always [hasLost(capabilityMissing)] --> parked.failed.capabilityMissing
 * settling -- always [hasLost(versionUnsupported)] --> parked.failed.versionUnsupported
 * settling -- always [isBusyStart] --> parked.backingOff.retrying
 * settling -- always [sleepsAfterGivingUp] --> parked.dormant
 * settling -- always [isRestartForbidden] --> parked.failed.restartNever
 * settling -- always [hasAttemptsLeft] --> parked.backingOff.retrying
 * settling -- always [isLostRemote] --> parked.backingOff.lost
 * settling -- always [isLost] --> parked.failed.attemptsExhausted
 * settling -- always [isUndemanded] --> parked.dormant
 * settling -- always --> engaged
 * parked -- server.start | server.stop | server.restart | server.reconnect | server.retire |
 *           server.relieve | admission.granted | admission.withdrawn | spec.updated --> settling
 * parked:
 *   [*] -> dormant
 *   blocked:
 *     [*] -> untrusted
 *     excluded, notAllowed, pendingApproval, rejected, invalidConfig, overBudget
 *   dormant -- server.demanded --> settling
 *   backingOff -- server.demanded | spec.updated --> (stays)
 *   backingOff:
 *     [*] -> retrying
 *     retrying -- server.woke [isNotAskedToWait] --> retrying
 *     retrying -- after reconnectBackoff --> engaged
 *     lost -- server.woke [isNotAskedToWait] --> lost
 *     lost -- after reconnectBackoff --> engaged
 *   suspended -- spec.updated | admission.granted --> (stays)
 *   suspended:
 *     [*] -> crashLoop
 *     reconnectStorm
 *   failed:
 *     [*] -> attemptsExhausted
 *     crashLoop -- spec.updated | admission.granted --> (stays)
 *     reconnectStorm -- spec.updated | admission.granted --> (stays)
 *     capabilityMissing, versionUnsupported, restartNever
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
        {
          guard: { type: 'isCrashLooping', params: { action: 'suspend' } },
          target: 'parked.suspended.crashLoop',
        },
        {
          guard: { type: 'isReconnectStorm', params: { action: 'suspend' } },
          target: 'parked.suspended.reconnectStorm',
        },
        {
          guard: { type: 'isCrashLooping', params: { action: 'fail' } },
          target: 'parked.failed.crashLoop',
        },
        {
          guard: { type: 'isReconnectStorm', params: { action: 'fail' } },
          target: 'parked.failed.reconnectStorm',
        },
        {
          guard: { type: 'hasLost', params: { kind: 'capabilityMissing' } },
          target: 'parked.failed.capabilityMissing',
        },
        {
          guard: { type: 'hasLost', params: { kind: 'versionUnsupported' } },
          target: 'parked.failed.versionUnsupported',
        },
        {
          guard: 'isBusyStart',
          actions: 'drawReconnectDelay',
          target: 'parked.backingOff.retrying',
        },
        {
          guard: 'sleepsAfterGivingUp',
          actions: 'restUntilDemanded',
          target: 'parked.dormant',
        },
        { guard: 'isRestartForbidden', target: 'parked.failed.restartNever' },
        {
          guard: 'hasAttemptsLeft',
          actions: 'drawReconnectDelay',
          target: 'parked.backingOff.retrying',
        },
        { guard: 'isLostRemote', actions: 'drawLostDelay', target: 'parked.backingOff.lost' },
        { guard: 'isLost', target: 'parked.failed.attemptsExhausted' },
        { guard: 'isUndemanded', target: 'parked.dormant' },
        { target: 'engaged' },
      ],
    },
    parked: parkedStates,
    engaged: engagedStates,
    retired: { type: 'final', entry: 'announceEnd' },
  },
});
