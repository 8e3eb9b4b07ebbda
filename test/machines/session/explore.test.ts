/** Searches the session chart and the refresh chart through, in slices that end within seconds. */

import { describe, expect, it } from 'vitest';
import { refreshMachine } from '../../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../../machines/session/session.ts';
import type { ListName, SessionInput } from '../../../src/domain/session.ts';
import { type EventChoices, type Exploration, explore } from '../../../src/testing/explore.ts';
import { inAll, problemsOf, reportOf, runOnce, type Searches } from '../exploration-report.ts';
import { comparing } from '../xstate/comparing.ts';
import { refreshRules, sessionRules } from './invariants.ts';
import {
  connected,
  done,
  ended,
  failed,
  failure,
  launched,
  left,
  listed,
  pinged,
  remote,
  resolved,
  type SessionSnapshot,
  smallRefresh,
  smallSession,
  unconnected,
  unlisted,
} from './small-session.ts';

type Choices = EventChoices<typeof sessionMachine>;

const gap = failure('protocol');
const lists: readonly ListName[] = ['tools', 'resources', 'prompts'];
const everything = { resources: true, prompts: true };

/** Every way in which a connection can end. */
const ends = (type: 'wire.ended' | 'wire.lost') => [
  ended('crashed', { type }),
  ended('transport', { type, isGone: false }),
  ended('sessionMissing', { type, drains: true }),
];
/** Two health checks may fail, whether they are made or not. */
const quiet = { health: { mode: 'off', failures: 2 } } as const;
const isStarting = (snapshot: SessionSnapshot): boolean =>
  snapshot.matches('opening') || snapshot.matches('loadingTools');

/** Every event from outside and every answer of a step, with the payloads that make a difference. */
const everyEvent: Choices = {
  'session.giveUp': [{ type: 'session.giveUp', failure: failure('transport') }],
  'policy.updated': [
    { type: 'policy.updated', policy: smallSession({ policy: quiet }).policy },
    { type: 'policy.updated', policy: smallSession({ policy: pinged }).policy },
  ],
  'server.woke': [{ type: 'server.woke', spreadMs: 2_000 }],
  'start.expired': (snapshot) => (isStarting(snapshot) ? [{ type: 'start.expired' }] : []),
  'wire.sent': ['server/discover', 'initialize'].map((method) => ({ type: 'wire.sent', method })),
  'wire.ended': ends('wire.ended'),
  'wire.lost': ends('wire.lost'),
  'wire.probed': [
    { type: 'wire.probed', answer: 'alive' },
    { type: 'wire.probed', answer: 'unknownMethod' },
    { type: 'wire.probed', answer: 'none' },
    { type: 'wire.probed', answer: 'none', failure: failure('rateLimited') },
  ],
  'wire.impaired': [{ type: 'wire.impaired', reason: 'flooding', failure: gap }],
  'wire.recovered': [{ type: 'wire.recovered', reason: 'flooding' }],
  'list.settled': ({ children }) =>
    lists
      .filter((list) => list in children)
      .flatMap((list) =>
        [listed(), listed(1, gap), unlisted()].map((outcome) => ({
          type: 'list.settled' as const,
          list,
          outcome,
        })),
      ),
  'xstate.done.actor.resolveTarget': [
    done('resolveTarget', failed('notStarted')),
    ...[true, false].flatMap((hasProcess) =>
      [true, false].map((asksEra) => done('resolveTarget', resolved({ hasProcess, asksEra }))),
    ),
  ],
  'xstate.done.actor.launchProcess': [
    done('launchProcess', launched),
    done('launchProcess', failed('unavailable')),
  ],
  'xstate.done.actor.connectClient': ({ context: { hasProcess } }) => [
    done('connectClient', connected()),
    done('connectClient', connected({ offers: everything, pid: 7 })),
    done('connectClient', unconnected('crashed')),
    hasProcess
      ? done('connectClient', unconnected('crashed', { wasAnswered: false }))
      : done('connectClient', unconnected('protocol', { mayBeOverSse: true })),
  ],
  'xstate.done.actor.firstList': [listed(), listed(1, gap), unlisted()].map((outcome) =>
    done('firstList', outcome),
  ),
  'xstate.done.actor.closeConnection': [
    done('closeConnection', left),
    done('closeConnection', { at: 0, evidence: { exitCode: 1 } }),
  ],
};

const silent = {
  'wire.probed': [],
  'wire.doubted': [],
  'server.woke': [],
  'policy.updated': [],
} as const satisfies Choices;
const onlyConnected = (offers: { resources: boolean; prompts: boolean }): Choices => ({
  'xstate.done.actor.resolveTarget': [done('resolveTarget', resolved(remote))],
  'xstate.done.actor.connectClient': [done('connectClient', connected({ offers }))],
});

/** Everything until the session is open, and every end after that. */
const starts: Choices = {
  ...everyEvent,
  ...silent,
  'server.woke': (snapshot) =>
    isStarting(snapshot) ? [{ type: 'server.woke', spreadMs: 2_000 }] : [],
  'wire.doubted': (snapshot) =>
    snapshot.matches('loadingTools') ? [{ type: 'wire.doubted' }] : [],
  'wire.probed': (snapshot) =>
    snapshot.matches('loadingTools')
      ? [
          { type: 'wire.probed', answer: 'alive' },
          { type: 'wire.probed', answer: 'none' },
        ]
      : [],
  'tools.changed': (snapshot) => (isStarting(snapshot) ? [{ type: 'tools.changed' }] : []),
  'session.list': [],
  'session.refresh': [],
  'list.settled': [],
  'xstate.done.actor.resources': [],
  'xstate.done.actor.prompts': [],
  'resource.updated': [],
  'wire.paused': [],
};
/** The lists of an open session. */
const listing: Choices = {
  ...everyEvent,
  ...silent,
  ...onlyConnected(everything),
  'policy.updated': [{ type: 'policy.updated', policy: smallSession({ policy: quiet }).policy }],
  'resource.updated': [],
  'wire.paused': [],
};
/** Health, floods and updates of an open session whose lists rest. */
const health: Choices = {
  ...everyEvent,
  ...onlyConnected({ resources: false, prompts: false }),
  'list.settled': [],
};

/** Equal for sessions that answer every event alike. */
function keyOf({ value, context, children }: SessionSnapshot): string {
  const { policy, gaps, offers, failure: reason } = context;
  return JSON.stringify([
    value,
    Object.keys(children).toSorted(),
    context.hasProcess,
    context.asksEra,
    offers,
    context.refusal !== null,
    Object.values(gaps).map((missing) => missing?.message),
    context.failedChecks,
    context.wasOpen,
    reason?.kind,
    context.isFlood,
    policy.health.mode,
    context.evidence,
  ]);
}

function search(inputs: readonly SessionInput[], events: Choices): Exploration {
  return explore(comparing(sessionMachine), {
    inputs,
    events,
    key: keyOf,
    limit: 100_000,
    ...sessionRules,
  });
}

const searches: Searches = {
  'a session that starts': () =>
    search([smallSession({ policy: quiet }), smallSession({ transport: 'http' })], starts),
  "an open session's lists": () => search([smallSession({ policy: quiet })], listing),
  'health, floods and updates': () =>
    search([smallSession({ policy: quiet }), smallSession({ policy: pinged })], health),
};
const names = Object.keys(searches);
const found = runOnce(searches);

// The first test waits for all searches: seconds, and with coverage on a busy machine ten times that.
describe('the session chart', { timeout: 120_000 }, () => {
  it.each(names)('keeps its invariants in every state: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition', () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
  });

  it('is searched completely', async () => {
    await expect(reportOf(searches, found)).toMatchFileSnapshot('../explored/session.txt');
  });
});

const refreshes: Searches = {
  'a list refresh': () =>
    explore(comparing(refreshMachine), {
      inputs: lists.map((list) => smallRefresh({ list })),
      events: {
        'policy.updated': [{ type: 'policy.updated', listTimeoutMs: smallRefresh().listTimeoutMs }],
        'xstate.done.actor.listItems': [listed(), unlisted()].map((outcome) =>
          done('listItems', outcome),
        ),
      },
      ...refreshRules,
    }),
};
const foundRefresh = runOnce(refreshes);

describe('the refresh chart', () => {
  it('keeps its invariants in every state', () => {
    const exploration = foundRefresh('a list refresh');
    expect(problemsOf(exploration)).toBe('');
    expect([...exploration.uncovered, ...exploration.unvisited]).toEqual([]);
  });

  it('is searched completely', async () => {
    await expect(reportOf(refreshes, foundRefresh)).toMatchFileSnapshot('../explored/refresh.txt');
  });
});
