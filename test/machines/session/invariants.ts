/** What must hold of a session everywhere, and on each step. */

import { isDeepStrictEqual } from 'node:util';
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { type SessionEvent, sessionMachine } from '../../../machines/session/session.ts';
import { activeStates, createInertScope, type Effect } from '../../../machines/xstate/internals.ts';
import type { SessionFact } from '../../../src/domain/session.ts';
import type { ExploredStep } from '../../../src/testing/explore.ts';
import type { RefreshSnapshot, SessionSnapshot } from './small-session.ts';

type Step = ExploredStep<typeof sessionMachine>;
type Rules<Subject> = Readonly<Record<string, (subject: Subject) => boolean>>;

/** The phases of a session, in their order. */
const phases = ['opening', 'loadingTools', 'open', 'broken', 'ending', 'closed'] as const;
type Phase = (typeof phases)[number];

function phaseOf({ value }: Pick<SessionSnapshot, 'value'>): Phase {
  const [name = ''] = typeof value === 'string' ? [value] : Object.keys(value);
  return phases.find((phase) => phase === name) ?? 'ending';
}

const rankOf = (snapshot: SessionSnapshot): number => phases.indexOf(phaseOf(snapshot));
const isEnding = (snapshot: SessionSnapshot): boolean => phaseOf(snapshot) === 'ending';
const isServing = (snapshot: SessionSnapshot): boolean => rankOf(snapshot) <= 2;

const sent = ({ effects }: Step, type: SessionFact['type']): number =>
  effects.filter(({ params }) => fieldOf(fieldOf(params, 'event'), 'type') === type).length;

const started = ({ effects }: Pick<Step, 'effects'>): readonly string[] =>
  effects.filter(({ type }) => type === 'xstate.spawnChild').map(({ params }) => idIn(params));

function idIn(params: unknown): string {
  return String(fieldOf(params, 'id'));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

const entered = ({ before, after }: Step, phase: Phase): boolean =>
  phaseOf(before) !== phase && phaseOf(after) === phase;

/** Which step runs in which state; the lists have charts of their own. */
const stepIn: Readonly<Record<string, string>> = {
  resolving: 'resolveTarget',
  launching: 'launchProcess',
  connecting: 'connectClient',
  leaving: 'closeConnection',
  relaunching: 'launchProcess',
  greetingOld: 'connectClient',
  fallingBack: 'closeConnection',
  greetingOverSse: 'connectClient',
  loadingTools: 'firstList',
  open: '',
  broken: '',
  closing: 'closeConnection',
  releasing: 'closeConnection',
  draining: 'closeConnection',
};
const steps = new Set(Object.values(stepIn).filter((name) => name !== ''));

/** The state of the sequence in which the session is: `launching`, `loadingTools`, `open`. */
function stateOf({ value }: SessionSnapshot): string {
  if (typeof value === 'string') return value;
  if (!('opening' in value)) return Object.keys(value)[0] ?? '';
  const { opening } = value;
  return typeof opening === 'string' ? opening : 'connecting';
}

/** Hold in every state. */
const stateRules: Rules<SessionSnapshot> = {
  'the wire runs during the whole life': ({ children }) => children.wire !== undefined,
  'a state has one step running, which is its own': (state) => {
    const running = Object.keys(state.children).filter((id) => steps.has(id));
    const own = stepIn[stateOf(state)];
    return isDeepStrictEqual(running, own === '' ? [] : [own]);
  },
  'only a process is launched, and only an address is tried over SSE': (state) =>
    (!['launching', 'leaving', 'relaunching', 'greetingOld'].includes(stateOf(state)) ||
      state.context.hasProcess) &&
    (!['fallingBack', 'greetingOverSse'].includes(stateOf(state)) || !state.context.hasProcess),
  'lists run only while the session is open': (state) =>
    phaseOf(state) === 'open' ||
    !['tools', 'resources', 'prompts'].some((list) => list in state.children),
  'only what is offered is listed': ({ children, context: { offers } }) =>
    (offers.resources || children['resources'] === undefined) &&
    (offers.prompts || children['prompts'] === undefined),
  'an end that no command caused has a reason': (state) =>
    stateOf(state) !== 'releasing' || state.context.failure !== null,
  'only a forgotten session drains': (state) =>
    stateOf(state) !== 'draining' || state.context.failure !== null,
  'no session that serves has a reason to end': (state) =>
    !isServing(state) || (state.context.failure === null && !state.context.isFlood),
  'failed checks are counted to the last': ({ context: { failedChecks, policy } }) =>
    failedChecks <= policy.health.failures,
  'time alone ends every state but an open session': (state) =>
    phaseOf(state) === 'open' || endsByTime(state),
};

/** Hold for every transition. */
const stepRules: Rules<Step> = {
  'phases follow each other': ({ before, after }) => rankOf(after) >= rankOf(before),
  'an end is decided once': ({ before, after }) =>
    !isEnding(before) || phaseOf(after) === 'closed' || stateOf(before) === stateOf(after),
  'a close is obeyed at once': ({ before, event, after }) =>
    event.type !== 'session.close' || isEnding(before) || stateOf(after) === 'closing',
  'only the goodbye is started once the session ends': (step) =>
    isServing(step.after) || started(step).every((id) => id === 'closeConnection'),
  'nothing is started while the session ends': (step) =>
    !isEnding(step.before) || started(step).length === 0,
  'no event restarts or shortens the deadlines of an end': ({ before, after, effects }) =>
    !isEnding(before) || phaseOf(after) === 'closed' || !effects.some(isTimer),
  'a session is reported as open when it has connected': (step) =>
    sent(step, 'session.opened') === (entered(step, 'loadingTools') ? 1 : 0),
  'the first list is reported when the session opens': (step) =>
    !entered(step, 'open') || sent(step, 'session.listed') === 1,
  'lists and failed checks are reported by open sessions': (step) =>
    phaseOf(step.after) === 'open' ||
    (['session.listed', 'session.listFailed', 'session.silent'] as const).every(
      (type) => sent(step, type) === 0,
    ),
  'a session reports that it closes once, when it stops serving': (step) =>
    sent(step, 'session.closing') <= (isServing(step.before) && !isServing(step.after) ? 1 : 0),
  'an end that was not asked for and not yet over is reported': (step) =>
    phaseOf(step.before) !== 'open' ||
    isServing(step.after) ||
    ['closed', 'draining'].includes(stateOf(step.after)) ||
    step.event.type === 'session.close' ||
    sent(step, 'session.closing') === 1 ||
    fieldOf(step.event, 'isGone') === true,
  'a session was open once its tools were listed': (step) =>
    step.after.context.wasOpen === (step.before.context.wasOpen || entered(step, 'open')),
  'a reason is kept but for a fault of ours': ({ before, after, event }) =>
    before.context.failure === null ||
    before.context.failure === after.context.failure ||
    event.type.startsWith('xstate.error.actor.'),
  'a closed session has one output, with all that it knows': ({ after }) => {
    const { at, wasOpen, failure, isFlood, evidence } = after.context;
    const end = { at, wasOpen, failure, isFlood, evidence };
    return after.status === 'done'
      ? isDeepStrictEqual(after.output, end)
      : after.output === undefined;
  },
  'only a session that was asked to end has no reason': ({ before, event, after }) =>
    phaseOf(after) !== 'ending' ||
    isEnding(before) ||
    after.context.failure !== null ||
    event.type === 'session.close',
  'a check is made once when it is due': (step) =>
    probes(step) ===
    ((!isChecking(step.before) || isRepeating(step)) && isChecking(step.after) ? 1 : 0),
};

const isTimer = ({ type }: Effect): boolean => type === 'xstate.raise' || type === 'xstate.cancel';

const probes = ({ effects }: Step): number =>
  effects.filter(({ params }) => fieldOf(fieldOf(params, 'event'), 'type') === 'wire.probe').length;

const isChecking = (state: SessionSnapshot): boolean =>
  state.matches({ loadingTools: 'suspecting' }) ||
  (['looking', 'lookingAfterWaking', 'suspecting'] as const).some((watch) =>
    state.matches({ open: { watch } }),
  );

/** Whether a server stayed silent that is checked regularly. */
const isRepeating = ({ before, event }: Step): boolean =>
  before.matches({ open: { watch: 'suspecting' } }) &&
  before.context.policy.health.mode === 'ping' &&
  event.type.startsWith('xstate.after.silenceDeadline.');

const inert = createInertScope();
const knownToEnd = new Map<string, boolean>();

/** Says whether timers alone, in some order, lead to the end. */
function endsByTime(snapshot: SessionSnapshot): boolean {
  const key = JSON.stringify(snapshot.value);
  const known = knownToEnd.get(key);
  if (known !== undefined) return known;
  const seen = new Set<string>();
  const waiting = [snapshot];
  let isOver = false;
  for (const at of waiting) {
    isOver ||= at.status === 'done';
    for (const event of timersOf(at)) {
      inert.begin(at);
      const next = sessionMachine.transition(at, event as SessionEvent, inert.scope);
      const nextKey = JSON.stringify(next.value);
      if (!seen.has(nextKey)) waiting.push(next as SessionSnapshot);
      seen.add(nextKey);
    }
  }
  knownToEnd.set(key, isOver);
  return isOver;
}

function timersOf(snapshot: SessionSnapshot): readonly EventObject[] {
  const states = activeStates(snapshot as AnyMachineSnapshot);
  const types = states.flatMap((state) => [...state.transitions.keys()]);
  return types
    .filter((type) => type.startsWith('xstate.after.') || type === 'start.expired')
    .map((type) => ({ type }));
}

const violations = <Subject>(rules: Rules<Subject>, subject: Subject): readonly string[] =>
  Object.entries(rules).flatMap(([rule, holds]) => (holds(subject) ? [] : [`broken: ${rule}`]));

export const sessionRules = {
  invariants: (snapshot: SessionSnapshot) =>
    snapshot.status === 'active' ? violations(stateRules, snapshot) : [],
  stepInvariants: (step: Step) => violations(stepRules, step),
  goals: { 'its end': ({ status }: SessionSnapshot) => status === 'done' },
};

const refreshRulesByName: Rules<RefreshSnapshot> = {
  'a list runs exactly while the chart is listing': (state) =>
    (state.children.listItems !== undefined) === state.matches('listing'),
  'pauses have bounds': ({ context: { list, pauseMs, retryMs } }) =>
    pauseMs <= (list === 'tools' ? 30_000 : 1_000) &&
    retryMs <= (list === 'tools' ? 30_000 : 300_000),
};

export const refreshRules = {
  invariants: (snapshot: RefreshSnapshot) =>
    snapshot.status === 'active' ? violations(refreshRulesByName, snapshot) : [],
  goals: { 'a current list': ({ status }: RefreshSnapshot) => status === 'done' },
};
