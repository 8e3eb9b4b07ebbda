/**
 * Searches the server chart through, in slices: the whole product of regions,
 * budgets and wishes is a few hundred thousand states, and its slices find the
 * same. Each is small enough for every run.
 */

import { describe, expect, it } from 'vitest';
import type { ServerEvent, ServerInput } from '../../../machines/server/server.ts';
import type { StormLimit } from '../../../src/domain/policy.ts';
import type { TransportKind } from '../../../src/domain/server-spec.ts';
import { blockedReasons, type Verdict } from '../../../src/domain/server-state.ts';
import { inAll, problemsOf, reportOf, runOnce, type Searches } from '../exploration-report.ts';
import { reachableAlone, reachableByAll, serverRules } from './invariants.ts';
import {
  leftAlone,
  searchServer,
  withCalls,
  withFloods,
  withHealth,
  withoutCalls,
} from './search.ts';
import { type ServerSnapshot, smallPolicy, smallServer } from './small-server.ts';

const local = smallServer();
const remote = smallServer({ transport: 'http', startup: 'lazy', hasStoredCatalog: true });
const byRestartRule: readonly ServerInput[] = [
  smallServer({ policy: { restart: { on: 'never' } } }),
  smallServer({ policy: { restart: { on: 'failure' } } }),
  smallServer({ policy: { restart: { on: 'always' } } }),
  smallServer({ policy: { restart: { on: 'never' } }, transport: 'http' }),
  smallServer({ policy: { restart: { on: 'failure' } }, transport: 'http' }),
];

const remoteOnly = (transport: TransportKind): ServerInput =>
  smallServer({ policy: { restart: { on: 'remote' } }, transport });

const fails = (limit: number): StormLimit => ({ limit, windowMs: 60_000, action: 'fail' });
const busyBackoff = { initialMs: 1_000, factor: 2, maxMs: 4_000, addedJitter: 0 };
/** What other presets do differently, each alone and with small numbers. */
const byPreset: readonly ServerInput[] = [
  smallServer({ policy: { storm: { crashLoop: null, reconnectStorm: null } } }),
  smallServer({ policy: { startup: { sameExits: 1 } } }),
  smallServer({
    startup: 'lazy',
    policy: {
      startup: { maxAttempts: 1, busyBackoff, afterGiveUp: 'untilDemanded' },
      restart: { on: 'auto', budgetReset: 'immediate', afterGiveUp: 'untilDemanded' },
    },
  }),
  smallServer({
    policy: {
      startup: { busyBackoff, afterGiveUp: 'untilDemanded' },
      restart: { on: 'never', maxAttempts: 0, afterGiveUp: 'stop' },
    },
  }),
  smallServer({
    transport: 'http',
    policy: {
      startup: { maxAttempts: 2, retryOn: ['initTimeout'], afterGiveUp: 'stop' },
      connect: { remoteTimeoutMs: null },
      restart: { first: 'immediate', delays: [500], jitter: 'none' },
    },
  }),
  smallServer({
    transport: 'http',
    policy: { startup: { maxAttempts: null }, restart: { maxAttempts: null, delays: [5_000] } },
  }),
  remoteOnly('stdio'),
  remoteOnly('http'),
];
const failing = smallServer({
  policy: { storm: { crashLoop: fails(2), reconnectStorm: fails(3) } },
});
const admittedAndEdited = {
  ...leftAlone(withoutCalls),
  'admission.granted': [{ type: 'admission.granted' as const }],
  'spec.updated': ({ context: { policy, startup } }: ServerSnapshot) => [
    { type: 'spec.updated' as const, startup, policy },
  ],
};
const exchanging = smallServer({ policy: { breaker: { action: 'reconnect' } } });
const unguarded = smallServer({ policy: { breaker: { threshold: null } } });

const checked = (failures: number): ServerInput =>
  smallServer({ transport: 'http', policy: { health: { mode: 'ping', failures } } });

/** What is shown of a lost server, and whether lists are kept. */
const byShowing: readonly ServerInput[] = (
  [
    ['hide', 'memory', 'hide'],
    ['deferred', 'memory', 'hide'],
    ['deferred', 'none', 'hide'],
    ['keepStale', 'none', 'hide'],
    ['keepStale', 'memory', 'keepStale'],
  ] as const
).map(([whileDown, cache, afterGiveUp]) =>
  smallServer({ policy: { catalog: { whileDown, cache, afterGiveUp } } }),
);

const verdicts: readonly Verdict[] = ['admitted', 'disabled', ...blockedReasons];
const births = verdicts.flatMap((verdict) =>
  [true, false].flatMap((stopWanted) =>
    [true, false].map((hasStoredCatalog) =>
      smallServer({ verdict, stopWanted, hasStoredCatalog, startup: 'lazy' }),
    ),
  ),
);
const updated = (startup: 'eager' | 'lazy'): ServerEvent => ({
  type: 'spec.updated',
  startup,
  policy: smallPolicy,
});
const admissionAndEdits = {
  ...leftAlone(withoutCalls),
  'admission.granted': [{ type: 'admission.granted' as const }],
  'spec.updated': [updated('eager'), updated('lazy')],
};

const byAll = { ...serverRules, goals: reachableByAll };
const alone = { ...serverRules, goals: reachableAlone };

const searches: Searches = {
  'a local server': () => searchServer([local], withoutCalls, byAll),
  'a remote, lazy server': () => searchServer([remote], withoutCalls, byAll),
  'a server with calls and crashes': () => searchServer([local], withCalls, byAll),
  'a local server, left alone': () => searchServer([local], leftAlone(withoutCalls), alone),
  'a remote server, left alone': () => searchServer([remote], leftAlone(withoutCalls), alone),
  'calls and crashes, left alone': () => searchServer([local], leftAlone(withCalls), alone),
  'the other restart rules, left alone': () =>
    searchServer(byRestartRule, leftAlone(withoutCalls), alone),
  'preset differences, left alone': () => searchServer(byPreset, leftAlone(withoutCalls), alone),
  'a server failed by storms, with edits': () =>
    searchServer([failing], admittedAndEdited, serverRules),
  'a breaker that replaces the session': () =>
    searchServer([exchanging], leftAlone(withCalls), alone),
  'a server without a breaker': () => searchServer([unguarded], leftAlone(withCalls), alone),
  'a server with health checks': () => searchServer([checked(2)], withHealth, serverRules),
  'health checks and wake-ups, left alone': () =>
    searchServer([checked(1), checked(2)], leftAlone(withHealth), alone),
  'a server that floods': () => searchServer([local], withFloods, serverRules),
  "a lost server's catalog": () => searchServer(byShowing, leftAlone(withoutCalls), alone),
  'every admission verdict at creation': () => searchServer(births, admissionAndEdits, serverRules),
};
const names = Object.keys(searches);
const found = runOnce(searches);

// The first test waits for all searches: half a minute, on a busy machine and with coverage ten times that.
describe('the server chart', { timeout: 600_000 }, () => {
  it.each(names)('keeps its invariants in every state: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition', () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
  });

  it('is searched completely', async () => {
    await expect(reportOf(searches, found)).toMatchFileSnapshot('../explored/server.txt');
  });
});
