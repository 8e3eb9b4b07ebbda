import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import type { Explanation, Mover } from '../../../src/domain/host/explanation.ts';
import { reasonsOf, serverStates } from '../../../src/domain/server-state.ts';
import { bringUp, failure, nextAttempt, remote, type Stage, servers, stage } from '../stage.ts';

function explained({ troupe }: Stage, server = 'db'): Explanation {
  const explanation = troupe.explain(server);
  if (explanation === undefined) throw new Error(`${server} has no explanation.`);
  return explanation;
}

/** A way into one state, and what its explanation has to name there. */
interface Row {
  readonly state: string;
  readonly reach: () => Promise<Stage>;
  readonly guard: string;
  /** Events that would move it, each with where it leads. */
  readonly events: Readonly<Record<string, string>>;
  readonly timers?: readonly string[];
}

const one = (entry: Readonly<Record<string, unknown>> = {}, mcp?: Record<string, unknown>) =>
  servers({ db: { command: 'db', ...entry } }, mcp);

const gated = { projectSettings: one() };

async function lost(
  entry: Readonly<Record<string, unknown>>,
  kind: 'crashed' | 'cleanExit',
): Promise<Stage> {
  const there = await stage({ settings: one(entry) });
  there.sessions.of('db').fail(failure(kind));
  await there.settle();
  return there;
}

async function refused(kind: 'authRequired' | 'capabilityMissing' | 'versionUnsupported') {
  const there = await stage({ settings: one(), obedient: [] });
  there.sessions.of('db').fail(failure(kind));
  await there.settle();
  return there;
}

/** Fails its starts until it gives up. */
async function givenUp(settings: Readonly<Record<string, unknown>>): Promise<Stage> {
  const there = await stage({ settings, obedient: [] });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    there.sessions.of('db').fail(failure('unavailable'));
    await there.settle();
    if (attempt < 5) await nextAttempt(there, 'db');
  }
  return there;
}

/** Loses ready sessions until it is suspended. */
async function flapped(
  kind: 'crashed' | 'transport',
  action: 'suspend' | 'fail' = 'suspend',
): Promise<Stage> {
  const target = kind === 'transport' ? remote : { command: 'db' };
  const limit = { limit: 5, windowMs: 60_000, action };
  const policy = { storm: { crashLoop: limit, reconnectStorm: limit } };
  const there = await stage({ settings: servers({ db: { ...target, policy } }) });
  for (let loss = 1; loss <= 5; loss += 1) {
    there.sessions.of('db').fail(failure(kind));
    await there.settle();
    if (loss < 5) {
      await nextAttempt(there, 'db');
      // Else the tries of the outage run out first.
      there.troupe.send({ type: 'server.reconnect', server: 'db' });
      await there.settle();
    }
  }
  return there;
}

async function impaired(reason: 'healthCheck' | 'flooding' | 'partialCatalog'): Promise<Stage> {
  const there = await stage({ settings: one() });
  there.sessions.of('db').impair(reason);
  return there;
}

async function verdict(reason: 'overBudget'): Promise<Stage> {
  const there = await stage({ settings: one() });
  // No budget exists yet, but the chart knows the reason.
  there.actorOf('db').send({ type: 'admission.withdrawn', verdict: reason });
  await there.settle();
  return there;
}

const wishes = {
  'server.stop': 'stopping',
  'server.restart': 'stopping',
  'server.reconnect': 'stopping',
};
const starting = { ...wishes, 'session.closed': 'backingOff.retrying' };
const serving = { ...starting, 'session.lost': 'stopping' };
const revivals = { 'server.stop': 'stopped', 'server.start': 'queued', 'server.restart': 'queued' };

const rows: readonly Row[] = [
  {
    state: 'disabled',
    reach: () => stage({ settings: one({ enabled: false }) }),
    guard: 'isDisabled',
    events: { 'settings.changed': 'queued' },
  },
  {
    state: 'blocked.untrusted',
    reach: () => stage({ ...gated, trusted: false }),
    guard: 'isBlockedBy(untrusted)',
    events: { 'trust.changed': 'blocked.pendingApproval' },
  },
  {
    state: 'blocked.excluded',
    reach: () => stage({ settings: one({}, { excluded: ['db'] }) }),
    guard: 'isBlockedBy(excluded)',
    events: { 'settings.changed': 'queued' },
  },
  {
    state: 'blocked.notAllowed',
    reach: async () => {
      const there = await stage({ settings: one() });
      there.troupe.send({ type: 'allow.changed', allowed: [] });
      await there.settle();
      return there;
    },
    guard: 'isBlockedBy(notAllowed)',
    events: { 'allow.changed': 'queued' },
  },
  {
    state: 'blocked.pendingApproval',
    reach: () => stage(gated),
    guard: 'isBlockedBy(pendingApproval)',
    events: { 'approval.grant': 'queued', 'approval.reject': 'blocked.rejected' },
  },
  {
    state: 'blocked.rejected',
    reach: async () => {
      const there = await stage(gated);
      there.troupe.send({ type: 'approval.reject', server: 'db' });
      await there.settle();
      return there;
    },
    guard: 'isBlockedBy(rejected)',
    events: { 'approval.grant': 'queued', 'approval.revoke': 'blocked.pendingApproval' },
  },
  {
    state: 'blocked.invalidConfig',
    reach: () => stage({ settings: servers({ db: { command: 7 } }) }),
    guard: 'isBlockedBy(invalidConfig)',
    events: { 'settings.changed': 'queued' },
  },
  {
    state: 'blocked.overBudget',
    reach: () => verdict('overBudget'),
    guard: 'isBlockedBy(overBudget)',
    events: {},
  },
  {
    state: 'dormant',
    reach: () => stage({ settings: one({ startup: 'lazy' }) }),
    guard: 'isUndemanded',
    events: { ...revivals, 'server.reconnect': 'queued', 'server.demanded': 'queued' },
  },
  {
    state: 'queued',
    reach: () =>
      stage({ settings: servers({ one: 'one', db: 'db' }, { slots: { local: 1 } }), obedient: [] }),
    guard: 'otherwise',
    // There is no session yet: a stop is at rest at once, and a restart waits on.
    events: { 'server.stop': 'stopped', 'slot.granted': 'connecting' },
    timers: ['queueDeadline'],
  },
  {
    state: 'connecting',
    reach: () => stage({ settings: one(), obedient: [] }),
    guard: 'otherwise',
    events: { ...starting, 'session.opened': 'loadingTools' },
    timers: ['connectDeadline'],
  },
  {
    state: 'loadingTools',
    reach: async () => {
      const there = await stage({ settings: one(), obedient: [] });
      there.sessions.of('db').open();
      await there.settle();
      return there;
    },
    guard: 'otherwise',
    events: { ...starting, 'session.listed': 'ready', 'session.listFailed': 'stopping' },
    timers: ['listDeadline'],
  },
  {
    state: 'ready',
    reach: () => stage({ settings: one({ idleStopMs: 300_000 }) }),
    guard: 'otherwise',
    events: {
      ...serving,
      'session.impaired': 'degraded.flooding',
      'session.listFailed': 'degraded.partialCatalog',
    },
    timers: ['sustainedReady', 'idleDeadline'],
  },
  {
    state: 'degraded.healthCheck',
    reach: () => impaired('healthCheck'),
    guard: 'otherwise',
    events: { ...serving, 'session.recovered': 'ready' },
    timers: ['sustainedReady'],
  },
  {
    state: 'degraded.flooding',
    reach: () => impaired('flooding'),
    guard: 'otherwise',
    events: { ...serving, 'session.recovered': 'ready' },
    timers: ['sustainedReady'],
  },
  {
    state: 'degraded.partialCatalog',
    reach: async () => {
      const there = await stage({ settings: one(), obedient: [] });
      bringUp(there.sessions.of('db'));
      there.sessions.of('db').failList(failure('protocol'));
      await there.settle();
      return there;
    },
    guard: 'otherwise',
    events: { ...serving, 'session.recovered': 'ready', 'session.impaired': 'degraded.flooding' },
    timers: ['relistPause', 'sustainedReady'],
  },
  {
    state: 'backingOff.retrying',
    reach: () => lost({}, 'crashed'),
    guard: 'hasAttemptsLeft',
    events: { ...revivals, 'server.reconnect': 'queued', 'server.demanded': 'queued' },
    timers: ['reconnectBackoff'],
  },
  {
    state: 'backingOff.lost',
    reach: () => givenUp(servers({ db: remote })),
    guard: 'isLostRemote',
    events: { ...revivals, 'server.reconnect': 'queued' },
    timers: ['reconnectBackoff'],
  },
  {
    state: 'authRequired',
    reach: () => refused('authRequired'),
    guard: 'hasLost(authRequired)',
    events: { ...revivals, 'server.reconnect': 'queued', 'auth.completed': 'queued' },
  },
  {
    state: 'suspended.crashLoop',
    reach: () => flapped('crashed'),
    guard: 'isCrashLooping(suspend)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'suspended.reconnectStorm',
    reach: () => flapped('transport'),
    guard: 'isReconnectStorm(suspend)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.attemptsExhausted',
    reach: () => givenUp(one()),
    guard: 'isLost',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.sameFailure',
    reach: async () => {
      const settings = one({ policy: { startup: { sameExits: 1 } } });
      const there = await stage({ settings, obedient: [] });
      there.sessions.of('db').fail(failure('unavailable'));
      await there.settle();
      return there;
    },
    guard: 'hasFailedAlike',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.notStartable',
    reach: async () => {
      const there = await stage({ settings: one(), obedient: [] });
      const missing = { what: 'variable', name: 'TOKEN' } as const;
      there.sessions.of('db').fail(failure('unavailable', { missing }));
      await there.settle();
      return there;
    },
    guard: 'isNotStartable',
    events: { ...revivals, 'server.reconnect': 'queued', 'server.demanded': 'queued' },
  },
  {
    state: 'failed.crashLoop',
    reach: () => flapped('crashed', 'fail'),
    guard: 'isCrashLooping(fail)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.reconnectStorm',
    reach: () => flapped('transport', 'fail'),
    guard: 'isReconnectStorm(fail)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.capabilityMissing',
    reach: () => refused('capabilityMissing'),
    guard: 'hasLost(capabilityMissing)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.versionUnsupported',
    reach: () => refused('versionUnsupported'),
    guard: 'hasLost(versionUnsupported)',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.restartNever',
    reach: () => lost({}, 'cleanExit'),
    guard: 'isRestartForbidden',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'stopping',
    reach: async () => {
      const there = await stage({ settings: one(), obedient: [] });
      bringUp(there.sessions.of('db'));
      there.troupe.send({ type: 'server.stop', server: 'db' });
      await there.settle();
      return there;
    },
    guard: 'isStopWanted',
    events: { 'session.closed': 'stopped' },
    timers: ['closeDeadline', 'killDeadline'],
  },
  {
    state: 'stopped',
    reach: async () => {
      const there = await stage({ settings: one() });
      there.troupe.send({ type: 'server.stop', server: 'db' });
      await there.settle();
      return there;
    },
    guard: 'isStopWanted',
    events: { 'server.start': 'queued', 'server.restart': 'queued' },
  },
];

const nameOf = ({ state, reason }: Mover['to']): string =>
  reason === undefined ? state : `${state}.${reason}`;

function guardText({ decision }: Explanation): string {
  const params = Object.values(decision?.params ?? {});
  return `${decision?.guard}${params.length === 0 ? '' : `(${params.join()})`}`;
}

describe('an explanation', () => {
  it('is tested for every state and reason', () => {
    const all = serverStates.flatMap((state) =>
      reasonsOf[state].length === 0
        ? [state]
        : reasonsOf[state].map((reason) => `${state}.${reason}`),
    );
    expect(rows.map(({ state }) => state).toSorted()).toEqual(all.toSorted());
  });

  it.each(rows)('lists the guard, events and timers in $state', async (row) => {
    const there = await row.reach();
    expect(there.stateOf('db')).toBe(row.state);
    const explanation = explained(there);
    expect(guardText(explanation)).toBe(row.guard);
    const movers = explanation.movedBy.map(({ event, to }) => [event, nameOf(to)]);
    expect(Object.fromEntries(movers)).toEqual(row.events);
    const { wallNow } = there.clock;
    expect(explanation.timers.map(({ name }) => name).toSorted()).toEqual(
      (row.timers ?? []).toSorted(),
    );
    for (const timer of explanation.timers) {
      const { enteredAt, dueAt, totalMs } = timer;
      expect(Date.parse(dueAt) - Date.parse(enteredAt)).toBe(totalMs);
      expect(Date.parse(dueAt)).toBeGreaterThan(wallNow.call(there.clock));
    }
    expect(JSON.parse(JSON.stringify(explanation))).toEqual(explanation);
  });

  it.each(
    rows.filter(({ events }) => Object.keys(events).some((type) => type.startsWith('server.'))),
  )("predicts each command's target in $state", async (row) => {
    const orders = ['server.start', 'server.stop', 'server.restart', 'server.reconnect'] as const;
    for (const type of orders) {
      const there = await row.reach();
      const expected = row.events[type] ?? row.state;
      // Without anybody who answers, the server stays where the order led.
      there.obedient = new Set();
      const first = there.story.length;
      there.troupe.send({ type, server: 'db' } satisfies HostEvent);
      const [next = `db ${row.state}`] = there.story.slice(first);
      expect(`${type}: ${next}`).toBe(`${type}: db ${expected}`);
    }
  });

  it.each(rows.filter(({ timers, state }) => timers !== undefined && state !== 'queued'))(
    'predicts when each timer fires and its target in $state',
    async (row) => {
      const there = await row.reach();
      there.obedient = new Set();
      const timer = explained(there).timers.find(({ to }) => to !== undefined);
      if (timer?.to === undefined) return;
      const left = Date.parse(timer.dueAt) - there.clock.wallNow();
      await there.advance(left - 1);
      expect(there.stateOf('db')).toBe(row.state);
      const first = there.story.length;
      await there.advance(1);
      expect(there.story[first]).toBe(`db ${nameOf(timer.to)}`);
    },
  );
});
