/**
 * An open session: its lists, its health checks, its input budget and updates to watched resources.
 *
 * Each list is refreshed by its own chart when it is due. The health checks are in
 * `health.ts`.
 *
 * ```text
 * [*] -> tools + resources + prompts + watch + input + news
 * open -- session.close | session.giveUp | input.flooded | part.broke --> closing
 * open -- wire.broke --> broken
 * open -- wire.ended [drains] --> draining
 * open -- wire.ended [isGone] --> releasing
 * open -- wire.ended --> releasing
 * open -- wire.lost [drains] --> draining
 * open -- wire.lost [isGone] --> releasing
 * open -- wire.lost --> releasing
 * open -- list.settled [isFailureOfTools] --> (stays)
 * open -- list.settled [isOfTools] --> (stays)
 * open -- list.settled --> (stays)
 * tools -- session.list --> (stays)
 * tools: [*] -> current
 *   current -- tools.changed | session.refresh | session.list --> refreshing
 *   current -- after listExpiry [mayExpire] --> refreshing
 *   refreshing invokes tools
 *   refreshing -- tools.changed | session.refresh | policy.updated | error tools --> (stays)
 *   refreshing -- done tools --> current
 * resources: [*] -> choosing
 *   choosing -- always [isOffered] --> refreshing
 *   choosing -- always --> unoffered
 *   current -- resources.changed | session.refresh --> refreshing
 *   current -- after listExpiry [mayExpire] --> refreshing
 *   refreshing invokes resources
 *   refreshing -- resources.changed | session.refresh | policy.updated | error resources --> (stays)
 *   refreshing -- done resources --> current
 *   unoffered
 * prompts: [*] -> choosing
 *   choosing -- always [isOffered] --> refreshing
 *   choosing -- always --> unoffered
 *   current -- prompts.changed | session.refresh --> refreshing
 *   current -- after listExpiry [mayExpire] --> refreshing
 *   refreshing invokes prompts
 *   refreshing -- prompts.changed | session.refresh | policy.updated | error prompts --> (stays)
 *   refreshing -- done prompts --> current
 *   unoffered
 * watch -- (see health.ts)
 * input: [*] -> flowing
 *   flowing -- wire.paused --> paused
 *   paused -- wire.resumed --> flowing
 *   paused -- after floodDeadline --> (stays)
 * news: [*] -> quiet
 *   quiet -- resource.updated --> gathering
 *   gathering -- after newsPause [hasMoreNews] --> gathering
 *   gathering -- after newsPause --> quiet
 *   gathering: [*] -> unchanged
 *     unchanged -- resource.updated --> changed
 *     changed
 * ```
 */

import type { ListName } from '../../src/domain/session.ts';
import { watchStates } from './health.ts';
import type { RefreshInput } from './list-refresh.ts';
import {
  broken,
  ends,
  eventOf,
  idOf,
  type SessionContext,
  sessionSetup,
  settledAs,
} from './session-setup.ts';

/** Creates the state that runs a list's refresh chart. */
function refreshing(list: ListName) {
  return {
    invoke: {
      id: list,
      src: 'refresh',
      input: ({ context }: { readonly context: SessionContext }): RefreshInput => ({
        ...idOf({ context }),
        list,
        listTimeoutMs: context.policy.connect.listTimeoutMs,
      }),
      onDone: 'current',
      onError: { actions: 'announceFault' },
    },
    on: {
      [`${list}.changed`]: { actions: { type: 'announceChange', params: list } },
      'session.refresh': { actions: { type: 'demandList', params: list } },
      // An event handled in a region does not reach the chart, so the policy is applied here too.
      'policy.updated': { actions: ['applyPolicy', { type: 'passDeadlineOn', params: list }] },
    },
  } as const;
}

/** Creates the state of a list that is not being refreshed. */
function current(list: ListName) {
  return {
    on: { [`${list}.changed`]: 'refreshing', 'session.refresh': 'refreshing' },
    after: { listExpiry: { guard: 'mayExpire', target: 'refreshing' } },
  } as const;
}

const tools = sessionSetup.createStateConfig({
  initial: 'current',
  on: { 'session.list': { actions: { type: 'demandList', params: 'tools' } } },
  states: {
    current: {
      ...current('tools'),
      on: { ...current('tools').on, 'session.list': 'refreshing' },
    },
    refreshing: refreshing('tools'),
  },
});

/** Creates the region of a list that a server need not have. */
function offered(list: 'resources' | 'prompts') {
  return sessionSetup.createStateConfig({
    initial: 'choosing',
    states: {
      choosing: {
        always: [
          { guard: { type: 'isOffered', params: list }, target: 'refreshing' },
          { target: 'unoffered' },
        ],
      },
      unoffered: {},
      current: current(list),
      refreshing: refreshing(list),
    },
  });
}

// A server that exceeds its input budget is throttled, and disconnected if it continues.
const input = sessionSetup.createStateConfig({
  initial: 'flowing',
  states: {
    flowing: { on: { 'wire.paused': 'paused' } },
    paused: {
      on: { 'wire.resumed': 'flowing' },
      after: { floodDeadline: { actions: 'announceFlood' } },
    },
  },
});

// The first update to watched resources is reported at once; later ones are batched.
const news = sessionSetup.createStateConfig({
  initial: 'quiet',
  states: {
    quiet: { on: { 'resource.updated': { actions: 'publishNews', target: 'gathering' } } },
    gathering: {
      initial: 'unchanged',
      after: {
        newsPause: [
          { guard: 'hasMoreNews', actions: 'publishNews', target: 'gathering', reenter: true },
          { target: 'quiet' },
        ],
      },
      states: {
        unchanged: { on: { 'resource.updated': 'changed' } },
        changed: {},
      },
    },
  },
});

export const openStates = sessionSetup.createStateConfig({
  type: 'parallel',
  // Reports what changed during the first list.
  entry: ['noteOpen', 'publishNews'],
  on: {
    'session.close': '#session.closing',
    'session.giveUp': {
      actions: ['recordGivenUp', 'reportClosing'],
      target: '#session.closing',
    },
    'input.flooded': { actions: ['recordFlood', 'reportClosing'], target: '#session.closing' },
    'part.broke': broken,
    'wire.broke': '#session.broken',
    'wire.ended': ends,
    'wire.lost': ends,
    'list.settled': [
      {
        guard: { type: 'isFailureOfTools', params: eventOf },
        actions: [
          { type: 'noteGap', params: eventOf },
          { type: 'reportListFailed', params: settledAs },
        ],
      },
      {
        guard: { type: 'isOfTools', params: eventOf },
        actions: [
          { type: 'reportListed', params: settledAs },
          { type: 'noteGap', params: eventOf },
        ],
      },
      { actions: { type: 'noteGap', params: eventOf } },
    ],
  },
  states: {
    tools,
    resources: offered('resources'),
    prompts: offered('prompts'),
    watch: watchStates,
    input,
    news,
  },
});
