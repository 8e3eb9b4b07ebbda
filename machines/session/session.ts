/**
 * One session with an MCP server, from its settings to the end of its process or connection.
 *
 * The server chart invokes it after receiving a start permit, and follows it through its facts and
 * its output. `closing` ends the connection gracefully, `releasing` cleans up a lost connection,
 * and `draining` keeps the connection for requests in flight after the server dropped the session.
 * Each ends within the policy's deadlines, by force if necessary. `broken` is a connection that
 * broke while its process is alive; the process's exit, which follows soon, explains it.
 *
 * Three laws hold in every state:
 *
 * 1. One step at a time. A state starts its own step when entered and stops it when left, so a late
 *    answer reaches no other state. Held by `test/machines/session/invariants.ts`: a state has one
 *    step running, which is its own.
 * 2. Time alone ends everything but an open session, whatever its process does. Held by
 *    `test/machines/session/invariants.ts`: time alone ends every state but an open session.
 * 3. An end is decided once. A close that follows neither changes how the session ends nor restarts
 *    a deadline. Held by `test/machines/session/invariants.ts`: an end is decided once.
 *
 * ```text
 * [*] -> opening
 * session invokes wire
 * session -- policy.updated | wire.impaired | wire.recovered | wire.killed --> (stays)
 * session -- error wire --> closing
 * opening -- (see opening.ts) --> closing | releasing | loadingTools
 * loadingTools invokes firstList
 * loadingTools -- session.close | start.expired | error firstList --> closing
 * loadingTools -- wire.ended [drains] --> draining
 * loadingTools -- wire.ended [isGone] --> releasing
 * loadingTools -- wire.ended --> releasing
 * loadingTools -- wire.lost [drains] --> draining
 * loadingTools -- wire.lost [isGone] --> releasing
 * loadingTools -- wire.lost --> releasing
 * loadingTools -- wire.broke --> broken
 * loadingTools -- wire.probed [isAnswer] --> (ignored)
 * loadingTools -- wire.probed --> (stays)
 * loadingTools -- server.woke --> (stays)
 * loadingTools -- done firstList [hasFailed] --> closing
 * loadingTools -- done firstList [isStartOutdated] --> open.tools.refreshing
 * loadingTools -- done firstList --> open
 * loadingTools: [*] -> fresh
 *   fresh -- tools.changed --> outdated
 *   fresh -- wire.doubted --> suspecting
 *   suspecting -- tools.changed --> outdated
 *   suspecting -- wire.probed [isAnswer] --> fresh
 *   suspecting -- after silenceDeadline --> suspecting
 *   outdated
 * open -- (see open.ts) --> closing | broken | draining | releasing
 * broken -- session.close | error wire --> closing
 * broken -- wire.ended --> releasing
 * broken -- after closeDeadline --> (stays)
 * broken -- after killDeadline --> closed
 * closing invokes closeConnection
 * closing -- error wire --> (ignored)
 * closing -- done closeConnection | error closeConnection | after killDeadline --> closed
 * closing -- after closeDeadline --> (stays)
 * releasing invokes closeConnection
 * releasing -- error wire --> (ignored)
 * releasing -- done closeConnection | error closeConnection | after killDeadline --> closed
 * releasing -- after closeDeadline --> (stays)
 * draining invokes closeConnection
 * draining -- error wire --> (ignored)
 * draining -- done closeConnection | error closeConnection | after killDeadline --> closed
 * closed -> [*]
 * ```
 */

import type { ListOutcome } from '../../src/domain/session.ts';
import { openStates } from './open.ts';
import { openingStates } from './opening.ts';
import {
  broken,
  ends,
  eventOf,
  freshGaps,
  idOf,
  outcomeOf,
  sessionSetup,
} from './session-setup.ts';

export type { SessionContext, SessionEvent } from './session-setup.ts';

const reportListed = { type: 'reportListed', params: outcomeOf } as const;
const noteGap = {
  type: 'noteGap',
  params: ({ event }: { readonly event: { readonly output: ListOutcome } }) =>
    ({ list: 'tools', outcome: event.output }) as const,
} as const;

const loadingTools = sessionSetup.createStateConfig({
  initial: 'fresh',
  entry: 'startListDeadline',
  exit: 'cancelListDeadline',
  invoke: {
    id: 'firstList',
    src: 'listItems',
    input: ({ context }) => ({ ...idOf({ context }), list: 'tools' }),
    onDone: [
      {
        guard: { type: 'hasFailed', params: outcomeOf },
        actions: [{ type: 'recordFailure', params: outcomeOf }, 'reportClosing'],
        target: '#session.closing',
      },
      {
        guard: 'isStartOutdated',
        actions: [reportListed, noteGap],
        target: '#session.open.tools.refreshing',
      },
      { actions: [reportListed, noteGap], target: '#session.open' },
    ],
    onError: broken,
  },
  on: {
    'session.close': '#session.closing',
    'wire.ended': ends,
    'wire.lost': ends,
    'wire.broke': '#session.broken',
    'wire.probed': [{ guard: { type: 'isAnswer', params: eventOf } }, { actions: 'abandon' }],
    // The server could not respond while the machine slept.
    'server.woke': { actions: ['cancelListDeadline', 'startListDeadline'] },
    'start.expired': { actions: ['recordLateList', 'reportClosing'], target: '#session.closing' },
  },
  states: {
    // The list may be older than the change, so another one follows.
    fresh: {
      on: {
        'tools.changed': 'outdated',
        'wire.doubted': { actions: 'probe', target: 'suspecting' },
      },
    },
    // As in health.ts; the list that is awaited mostly makes the server busy.
    suspecting: {
      on: {
        'tools.changed': 'outdated',
        'wire.probed': { guard: { type: 'isAnswer', params: eventOf }, target: 'fresh' },
      },
      after: { silenceDeadline: { actions: 'abandon', target: 'suspecting', reenter: true } },
    },
    outdated: {},
  },
});

/** Creates the state that closes the connection within the policy's deadlines. */
function leaving(how: 'orderly' | 'lost' | 'draining') {
  return sessionSetup.createStateConfig({
    invoke: {
      id: 'closeConnection',
      src: 'closeConnection',
      input: ({ context }) => ({ ...idOf({ context }), how }),
      onDone: { actions: { type: 'noteEnd', params: outcomeOf }, target: '#session.closed' },
      onError: { actions: 'recordFault', target: '#session.closed' },
    },
    // The session is already ending, and its deadlines must not restart.
    on: { 'xstate.error.actor.wire': {} },
    after: {
      // Requests in flight are not cut off while draining.
      ...(how !== 'draining' && { closeDeadline: { actions: 'killConnection' } }),
      // The next session waits until this one's process has ended, by force if necessary.
      killDeadline: '#session.closed',
    },
  });
}

/** One session with a server, from its settings to its end. */
export const sessionMachine = sessionSetup.createMachine({
  options: { maxIterations: 1_000 },
  id: 'session',
  context: ({ input }) => ({
    hasProcess: false,
    asksEra: false,
    offers: { resources: false, prompts: false },
    refusal: null,
    gaps: freshGaps,
    failedChecks: 0,
    wakeSpreadMs: 0,
    wasOpen: false,
    failure: null,
    isFlood: false,
    evidence: {},
    at: 0,
    ...input,
  }),
  invoke: { id: 'wire', src: 'wire', input: idOf, onError: broken },
  on: {
    'policy.updated': { actions: 'applyPolicy' },
    'wire.impaired': { actions: 'reportImpaired' },
    'wire.recovered': { actions: 'reportRecovered' },
    'wire.killed': { actions: 'noteKill' },
  },
  initial: 'opening',
  states: {
    opening: openingStates,
    loadingTools,
    open: openStates,
    broken: {
      entry: 'reportClosing',
      on: {
        // Stops waiting for the exit; the deadlines of a graceful close apply from now on.
        'session.close': 'closing',
        'wire.ended': {
          actions: { type: 'recordFailure', params: eventOf },
          target: 'releasing',
        },
        'xstate.error.actor.wire': { actions: 'recordFault', target: 'closing' },
      },
      after: {
        closeDeadline: { actions: 'killConnection' },
        killDeadline: { actions: 'recordBreak', target: 'closed' },
      },
    },
    closing: leaving('orderly'),
    releasing: leaving('lost'),
    draining: leaving('draining'),
    closed: { type: 'final' },
  },
  output: ({ context: { at, wasOpen, failure, isFlood, evidence } }) => ({
    at,
    wasOpen,
    failure,
    isFlood,
    evidence,
  }),
});
