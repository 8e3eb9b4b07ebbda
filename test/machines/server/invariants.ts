/** What must hold for one server, whatever happens to it. */

import { floodsToSuspend } from '../../../machines/server/context.ts';
import type { ServerEvent, serverMachine } from '../../../machines/server/server.ts';
import {
  isAtRest,
  isOnItsWay,
  isUsable,
  needsUser,
  reasonsOf,
} from '../../../src/domain/server-state.ts';
import { conditionOf } from '../../../src/runtime/status/status-of.ts';
import type { ExploredStep } from '../../../src/testing/explore.ts';
import type { ServerSnapshot } from './small-server.ts';

type Step = ExploredStep<typeof serverMachine>;
type Rules<Subject> = Readonly<Record<string, (subject: Subject) => boolean>>;

const isEngaged = ({ value: { connection } }: ServerSnapshot): boolean =>
  typeof connection === 'object' && 'engaged' in connection;
const isLive = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { engaged: 'live' } });
const isReady = (snapshot: ServerSnapshot): boolean => snapshot.hasTag('usable');
const isClosing = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { engaged: { live: 'closing' } } });
const isEnding = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { engaged: { live: 'ending' } } });
/** It waits for a permit, or has one. */
const isStarting = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { engaged: 'queued' } }) ||
  snapshot.matches({ connection: { engaged: { live: 'connecting' } } });
const isIdle = ({ value }: ServerSnapshot): boolean => value.activity === 'idle';
const isBusyReady = ({ value }: ServerSnapshot): boolean => value.activity === 'busy';
const isDraining = ({ value }: ServerSnapshot): boolean => value.activity === 'draining';
const isBackingOff = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { parked: 'backingOff' } });
const isAfterStorm = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { parked: 'suspended' } }) ||
  snapshot.matches({ connection: { parked: { failed: 'crashLoop' } } }) ||
  snapshot.matches({ connection: { parked: { failed: 'reconnectStorm' } } });
const isNotStartable = (snapshot: ServerSnapshot): boolean =>
  snapshot.matches({ connection: { parked: { failed: 'notStartable' } } });
const isShut = (snapshot: ServerSnapshot): boolean =>
  snapshot.status === 'done' ||
  (['disabled', 'stopped', 'blocked', 'failed'] as const).some((parked) =>
    snapshot.matches({ connection: { parked } }),
  );
const mayRun = ({ context }: ServerSnapshot): boolean =>
  context.verdict === 'admitted' && !context.stopWanted && !context.retiring;
const hasSession = ({ children }: ServerSnapshot): boolean => children.session !== undefined;

/** Hold in every state. */
const stateRules: Rules<ServerSnapshot> = {
  'no table is seen from outside: state and reason are public words': (snapshot) => {
    const { state, reason } = conditionOf(snapshot);
    const reasons = reasonsOf[state];
    return reason === undefined ? reasons.length === 0 : reasons.includes(reason);
  },
  'the tags say what the predicates of the status words say': (state) => {
    const word = conditionOf(state).state;
    return (
      state.status === 'done' ||
      (state.hasTag('usable') === isUsable(word) &&
        state.hasTag('needsUser') === needsUser(word) &&
        state.hasTag('atRest') === isAtRest(word) &&
        state.hasTag('busy') === isOnItsWay(word))
    );
  },
  'a session exists exactly while the server is live': (state) =>
    hasSession(state) === isLive(state),
  'calls are followed exactly while the server is ready': (state) =>
    isReady(state) === (isIdle(state) || isBusyReady(state) || isDraining(state)),
  'ready means listed in this session': (state) =>
    !isReady(state) || (state.value.catalog === 'live' && state.context.peer.era !== null),
  'a server that may not run, was stopped or gave up shows no tools': (state) =>
    !isShut(state) ||
    ['none', 'ended'].includes(state.value.catalog) ||
    (state.value.catalog === 'stale' && state.context.policy.catalog.afterGiveUp === 'keepStale'),
  'a lost server shows what its policy says': ({ context: { policy }, value: { catalog } }) =>
    catalog !== 'stale' || policy.catalog.whileDown === 'keepStale',
  'lists that are not kept are never shown from before': ({ context, value: { catalog } }) =>
    catalog !== 'deferred' || context.policy.catalog.cache !== 'none',
  'only a server with a session has a live catalog': (state) =>
    state.value.catalog !== 'live' || isLive(state),
  'a server that may not run is parked, leaving or finishing its calls': (state) =>
    mayRun(state) ||
    !isEngaged(state) ||
    isClosing(state) ||
    isDraining(state) ||
    (isEnding(state) && state.context.retiring),
  'only a relieved server finishes its calls': (state) =>
    !isDraining(state) || state.context.retiring,
  'attempts are counted from zero': ({ context }) => context.tries.attempt >= 0,
  'windows hold no more than their limits': ({ context }) =>
    context.windows.crashTimes.length <= (context.policy.storm.crashLoop?.limit ?? 0) &&
    context.windows.lossTimes.length <= (context.policy.storm.reconnectStorm?.limit ?? 0),
  'floods are counted up to the one that suspends': ({ context }) =>
    context.floods <= floodsToSuspend,
  'failed calls are counted below the threshold': ({ context }) =>
    context.circuit.failedCalls < (context.policy.breaker.threshold ?? 1),
  'the cool-down keeps its bound': ({ context }) =>
    context.circuit.cooldownMs <= context.policy.breaker.maxCooldownMs,
  'what is known of a peer is forgotten with its session': (state) =>
    isEngaged(state) ||
    (state.context.peer.era === null &&
      state.context.peer.pid === null &&
      state.context.peer.impairments.length === 0),
  'a server at rest has no timer of its circuit running': (state) =>
    isEngaged(state) || isBackingOff(state) || ['closed', 'ended'].includes(state.value.circuit),
  'the regions end together': ({ status, value }) =>
    [
      value.connection === 'retired',
      value.catalog === 'ended',
      value.circuit === 'ended',
      value.activity === 'ended',
    ].every((hasEnded) => hasEnded === (status === 'done')),
};

const sent = ({ effects }: Step, type: string): number =>
  effects.filter(({ params }) => eventOf(params) === type).length;

function eventOf(params: unknown): unknown {
  const { event } = (params ?? {}) as { event?: { type?: unknown } };
  return event?.type;
}

const started = ({ effects }: Step): number =>
  effects.filter(({ type }) => type === 'xstate.spawnChild').length;
const timesBegun = ({ before, after }: Step): number =>
  after.context.session - before.context.session;

const isEndOfSession = ({ event }: Step): boolean =>
  event.type === 'xstate.done.actor.session' || event.type === 'xstate.error.actor.session';
const isEndOfClosing = (step: Step): boolean => isClosing(step.before) && isEndOfSession(step);

const isStale = ({ before, event }: Step): boolean =>
  'session' in event && event.session !== before.context.session;

/** A person, the root on a person's behalf, or a new verdict; never time or a peer. */
const wishes: ReadonlySet<ServerEvent['type']> = new Set([
  'server.start',
  'server.stop',
  'server.restart',
  'server.reconnect',
  'server.retire',
  'server.relieve',
  'admission.granted',
  'admission.withdrawn',
  'spec.updated',
]);

/** A busy peer is asked without a limit of tries. */
function limitOf({ policy, hasServed, loss }: ServerSnapshot['context']): number {
  const { startup, restart } = policy;
  const isBusy = loss?.httpStatus === 503 && startup.busyBackoff !== null && !hasServed;
  const { maxAttempts } = hasServed ? restart : startup;
  return isBusy || maxAttempts === null ? Number.POSITIVE_INFINITY : maxAttempts;
}

const isInit = ({ event }: Step): boolean => (event.type as string) === 'xstate.init';

/** Hold for every transition. */
const stepRules: Rules<Step> = {
  'one session is counted at a time': (step) => timesBegun(step) <= 1,
  'a session begins only with a permit': (step) =>
    started(step) === (step.event.type === 'slot.granted' && step.isHandled ? 1 : 0),
  'nothing is begun for a server that may not run': (step) =>
    timesBegun(step) === 0 || mayRun(step.after),
  'a start asks for a permit, unless the root asks for it': (step) =>
    sent(step, 'slot.requested') === (isInit(step) ? 0 : timesBegun(step)) ||
    (step.event.type === 'server.demanded' && timesBegun(step) === 0),
  'a permit returns when the session opens, and at the latest with the end of the start': (
    step,
  ) => {
    const isOpened = step.event.type === 'session.opened' && step.isHandled;
    const isOver = isStarting(step.before) && (!isStarting(step.after) || timesBegun(step) === 1);
    return sent(step, 'slot.returned') === (isOpened || isOver ? 1 : 0);
  },
  'news of an earlier session changes nothing': (step) =>
    !isStale(step) || (!step.isHandled && step.before.context === step.after.context),
  'a server is given up only after enough failed health checks, and while no call runs': (step) =>
    sent(step, 'session.giveUp') ===
    (step.event.type === 'session.silent' &&
    step.event.failedChecks >= step.before.context.policy.health.failures &&
    isIdle(step.before)
      ? 1
      : 0),
  'session.close is sent exactly when closing begins': (step) =>
    sent(step, 'session.close') === (!isClosing(step.before) && isClosing(step.after) ? 1 : 0),
  'an ending session stays until it has ended or is closed': (step) =>
    !isEnding(step.before) || isEnding(step.after) || isClosing(step.after) || isEndOfSession(step),
  'no attempt goes beyond the last, but the quiet ones of a lost server': ({ before, after }) =>
    !before.matches({ connection: { parked: { backingOff: 'retrying' } } }) ||
    !isEngaged(after) ||
    before.context.tries.attempt < limitOf(before.context),
  'a server that needs the user keeps waiting for the user': (step) =>
    !step.before.hasTag('needsUser') ||
    wishes.has(step.event.type) ||
    (isNotStartable(step.before) && step.event.type === 'server.demanded') ||
    step.after.hasTag('needsUser'),
  'an edit of numbers wakes no server that a storm brought to rest': (step) =>
    step.event.type !== 'spec.updated' || !isAfterStorm(step.before) || isAfterStorm(step.after),
  'a stop begins at once': ({ event, after }) =>
    event.type !== 'server.stop' ||
    (after.context.stopWanted && (isClosing(after) || isShut(after))),
  'a retirement begins at once': ({ event, after }) =>
    event.type !== 'server.retire' ||
    (after.context.retiring && (isClosing(after) || after.status === 'done')),
  'a relieved server leaves at once, or drains its running calls first': (step) =>
    step.event.type !== 'server.relieve' ||
    (step.after.context.retiring &&
      (isClosing(step.after) ||
        step.after.status === 'done' ||
        (isDraining(step.after) && (isBusyReady(step.before) || isDraining(step.before))))),
  'retirement is never taken back': ({ before, after }) =>
    !before.context.retiring || after.context.retiring,
  'only a start or a restart takes a stop back': ({ before, event, after }) =>
    !before.context.stopWanted ||
    after.context.stopWanted ||
    event.type === 'server.start' ||
    event.type === 'server.restart',
  'closing lasts until the session is over': (step) =>
    !isClosing(step.before) || isClosing(step.after) === !isEndOfClosing(step),
  'after closing, a retired server is gone and a stopped one is shut': (step) => {
    if (!isEndOfClosing(step)) return true;
    const { retiring, stopWanted } = step.before.context;
    if (retiring) return step.after.status === 'done';
    return !stopWanted || isShut(step.after);
  },
};

const broken = <Subject>(rules: Rules<Subject>, subject: Subject): readonly string[] =>
  Object.entries(rules).flatMap(([rule, holds]) => (holds(subject) ? [] : [`broken: ${rule}`]));

export const serverRules = {
  invariants: (snapshot: ServerSnapshot) => broken(stateRules, snapshot),
  stepInvariants: (step: Step) => broken(stepRules, step),
};

/** Goals reachable from every state when the user, the root and the peers may act. */
export const reachableByAll = {
  'the end': (state: ServerSnapshot) => state.status === 'done',
  'ready, unless it shall end': (state: ServerSnapshot) => state.context.retiring || isReady(state),
  'a stop, unless it shall end': (state: ServerSnapshot) =>
    state.context.retiring || state.matches({ connection: { parked: 'stopped' } }),
};

/** Goals reachable from every state without outside action: no wait lasts forever. */
export const reachableAlone = {
  'ready, at rest, or a state that needs the user': (state: ServerSnapshot) =>
    isReady(state) ||
    isShut(state) ||
    state.hasTag('needsUser') ||
    state.matches({ connection: { parked: 'dormant' } }),
  'a closed circuit': (state: ServerSnapshot) => ['closed', 'ended'].includes(state.value.circuit),
};
