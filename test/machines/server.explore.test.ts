/**
 * Searches the server chart through, in slices: the whole product of regions,
 * budgets and wishes is a few hundred thousand states, and its slices find the
 * same. Each is small enough for every run.
 */

import { describe, expect, it } from 'vitest';
import type { ServerEvent, ServerInput } from '../../machines/server.ts';
import { blockedReasons, type Verdict } from '../../src/domain/server-state.ts';
import { inAll, problemsOf, reportOf, runOnce, type Searches } from './exploration-report.ts';
import { reachableAlone, reachableByAll, serverRules } from './server-invariants.ts';
import { leftAlone, searchServer, withCalls, withoutCalls } from './server-search.ts';
import { smallPolicy, smallServer } from './small-server.ts';

const local = smallServer();
const remote = smallServer({ transport: 'http', startup: 'lazy', hasStoredCatalog: true });
const byRestartRule: readonly ServerInput[] = [
  smallServer({ policy: { restart: 'never' } }),
  smallServer({ policy: { restart: 'failure' } }),
  smallServer({ policy: { restart: 'always' } }),
  smallServer({ policy: { restart: 'never' }, transport: 'http' }),
  smallServer({ policy: { restart: 'failure' }, transport: 'http' }),
];

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
  'the other rules of restarting, left alone': () =>
    searchServer(byRestartRule, leftAlone(withoutCalls), alone),
  'every verdict at birth': () => searchServer(births, admissionAndEdits, serverRules),
};
const names = Object.keys(searches);
const found = runOnce(searches);

// A search takes a second or two; on a busy machine and with coverage ten times that.
describe('server chart', { timeout: 120_000 }, () => {
  it.each(names)('keeps its rules everywhere: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('takes every transition', () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
  });

  it('is searched through', async () => {
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/server.txt');
  });
});
