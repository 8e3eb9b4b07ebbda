import { describe, expect, it } from 'vitest';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import type { Explanation, Mover } from '../../../src/domain/host/explanation.ts';
import { reasonsOf, serverStates } from '../../../src/domain/server-state.ts';
import { bringUp, failure, nextAttempt, remote, type Stage, servers, stageOf } from '../stage.ts';

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
  const stage = await stageOf({ settings: one(entry) });
  stage.sessions.of('db').fail(failure(kind));
  await stage.settle();
  return stage;
}

async function refused(kind: 'authRequired' | 'capabilityMissing' | 'versionUnsupported') {
  const stage = await stageOf({ settings: one(), obedient: [] });
  stage.sessions.of('db').fail(failure(kind));
  await stage.settle();
  return stage;
}

/** Fails its starts until it gives up. */
async function givenUp(settings: Readonly<Record<string, unknown>>): Promise<Stage> {
  const stage = await stageOf({ settings, obedient: [] });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    stage.sessions.of('db').fail(failure('unavailable'));
    await stage.settle();
    if (attempt < 5) await nextAttempt(stage, 'db');
  }
  return stage;
}

/** Loses ready sessions until it is suspended. */
async function flapped(
  kind: 'crashed' | 'transport',
  action: 'suspend' | 'fail' = 'suspend',
): Promise<Stage> {
  const target = kind === 'transport' ? remote : { command: 'db' };
  const limit = { limit: 5, windowMs: 60_000, action };
  const policy = { storm: { crashLoop: limit, reconnectStorm: limit } };
  const stage = await stageOf({ settings: servers({ db: { ...target, policy } }) });
  for (let loss = 1; loss <= 5; loss += 1) {
    stage.sessions.of('db').fail(failure(kind));
    await stage.settle();
    if (loss < 5) {
      await nextAttempt(stage, 'db');
      // Else the tries of the outage run out first.
      stage.troupe.send({ type: 'server.reconnect', server: 'db' });
      await stage.settle();
    }
  }
  return stage;
}

async function impaired(reason: 'healthCheck' | 'flooding' | 'partialCatalog'): Promise<Stage> {
  const stage = await stageOf({ settings: one() });
  stage.sessions.of('db').impair(reason);
  return stage;
}

async function verdict(reason: 'overBudget'): Promise<Stage> {
  const stage = await stageOf({ settings: one() });
  // No budget exists yet, but the chart knows the reason.
  stage.actorOf('db').send({ type: 'admission.withdrawn', verdict: reason });
  await stage.settle();
  return stage;
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
    reach: () => stageOf({ settings: one({ enabled: false }) }),
    guard: 'isDisabled',
    events: { 'settings.changed': 'queued' },
  },
  {
    state: 'blocked.untrusted',
    reach: () => stageOf({ ...gated, trusted: false }),
    guard: 'isBlockedBy(untrusted)',
    events: { 'trust.changed': 'blocked.pendingApproval' },
  },
  {
    state: 'blocked.excluded',
    reach: () => stageOf({ settings: one({}, { excluded: ['db'] }) }),
    guard: 'isBlockedBy(excluded)',
    events: { 'settings.changed': 'queued' },
  },
  {
    state: 'blocked.notAllowed',
    reach: async () => {
      const stage = await stageOf({ settings: one() });
      stage.troupe.send({ type: 'allow.changed', allowed: [] });
      await stage.settle();
      return stage;
    },
    guard: 'isBlockedBy(notAllowed)',
    events: { 'allow.changed': 'queued' },
  },
  {
    state: 'blocked.pendingApproval',
    reach: () => stageOf(gated),
    guard: 'isBlockedBy(pendingApproval)',
    events: { 'approval.grant': 'queued', 'approval.reject': 'blocked.rejected' },
  },
  {
    state: 'blocked.rejected',
    reach: async () => {
      const stage = await stageOf(gated);
      stage.troupe.send({ type: 'approval.reject', server: 'db' });
      await stage.settle();
      return stage;
    },
    guard: 'isBlockedBy(rejected)',
    events: { 'approval.grant': 'queued', 'approval.revoke': 'blocked.pendingApproval' },
  },
  {
    state: 'blocked.invalidConfig',
    reach: () => stageOf({ settings: servers({ db: { command: 7 } }) }),
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
    reach: () => stageOf({ settings: one({ startup: 'lazy' }) }),
    guard: 'isUndemanded',
    events: { ...revivals, 'server.reconnect': 'queued', 'server.demanded': 'queued' },
  },
  {
    state: 'queued',
    reach: () =>
      stageOf({
        settings: servers({ one: 'one', db: 'db' }, { slots: { local: 1 } }),
        obedient: [],
      }),
    guard: 'otherwise',
    // There is no session yet: a stop is at rest at once, and a restart waits on.
    events: { 'server.stop': 'stopped', 'slot.granted': 'connecting' },
    timers: ['queueDeadline'],
  },
  {
    state: 'connecting',
    reach: () => stageOf({ settings: one(), obedient: [] }),
    guard: 'otherwise',
    events: { ...starting, 'session.opened': 'loadingTools' },
    timers: ['connectDeadline'],
  },
  {
    state: 'loadingTools',
    reach: async () => {
      const stage = await stageOf({ settings: one(), obedient: [] });
      stage.sessions.of('db').open();
      await stage.settle();
      return stage;
    },
    guard: 'otherwise',
    events: { ...starting, 'session.listed': 'ready', 'session.listFailed': 'stopping' },
    timers: ['listDeadline'],
  },
  {
    state: 'ready',
    reach: () => stageOf({ settings: one({ idleStopMs: 300_000 }) }),
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
      const stage = await stageOf({ settings: one(), obedient: [] });
      bringUp(stage.sessions.of('db'));
      stage.sessions.of('db').failList(failure('protocol'));
      await stage.settle();
      return stage;
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
      const stage = await stageOf({ settings, obedient: [] });
      stage.sessions.of('db').fail(failure('unavailable'));
      await stage.settle();
      return stage;
    },
    guard: 'hasFailedAlike',
    events: { ...revivals, 'server.reconnect': 'queued' },
  },
  {
    state: 'failed.notStartable',
    reach: async () => {
      const stage = await stageOf({ settings: one(), obedient: [] });
      const missing = { what: 'variable', name: 'TOKEN' } as const;
      stage.sessions.of('db').fail(failure('unavailable', { missing }));
      await stage.settle();
      return stage;
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
      const stage = await stageOf({ settings: one(), obedient: [] });
      bringUp(stage.sessions.of('db'));
      stage.troupe.send({ type: 'server.stop', server: 'db' });
      await stage.settle();
      return stage;
    },
    guard: 'isStopWanted',
    events: { 'session.closed': 'stopped' },
    timers: ['closeDeadline', 'killDeadline'],
  },
  {
    state: 'stopped',
    reach: async () => {
      const stage = await stageOf({ settings: one() });
      stage.troupe.send({ type: 'server.stop', server: 'db' });
      await stage.settle();
      return stage;
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
    const stage = await row.reach();
    expect(stage.stateOf('db')).toBe(row.state);
    const explanation = explained(stage);
    expect(guardText(explanation)).toBe(row.guard);
    const movers = explanation.movedBy.map(({ event, to }) => [event, nameOf(to)]);
    expect(Object.fromEntries(movers)).toEqual(row.events);
    const { wallNow } = stage.clock;
    expect(explanation.timers.map(({ name }) => name).toSorted()).toEqual(
      (row.timers ?? []).toSorted(),
    );
    for (const timer of explanation.timers) {
      const { enteredAt, dueAt, totalMs } = timer;
      expect(Date.parse(dueAt) - Date.parse(enteredAt)).toBe(totalMs);
      expect(Date.parse(dueAt)).toBeGreaterThan(wallNow.call(stage.clock));
    }
    expect(JSON.parse(JSON.stringify(explanation))).toEqual(explanation);
  });

  it.each(
    rows.filter(({ events }) => Object.keys(events).some((type) => type.startsWith('server.'))),
  )("predicts each command's target in $state", async (row) => {
    const orders = ['server.start', 'server.stop', 'server.restart', 'server.reconnect'] as const;
    for (const type of orders) {
      const stage = await row.reach();
      const expected = row.events[type] ?? row.state;
      // Without anybody who answers, the server stays where the order led.
      stage.obedient = new Set();
      const first = stage.story.length;
      stage.troupe.send({ type, server: 'db' } satisfies HostEvent);
      const [next = `db ${row.state}`] = stage.story.slice(first);
      expect(`${type}: ${next}`).toBe(`${type}: db ${expected}`);
    }
  });

  it.each(rows.filter(({ timers, state }) => timers !== undefined && state !== 'queued'))(
    'predicts when each timer fires and its target in $state',
    async (row) => {
      const stage = await row.reach();
      stage.obedient = new Set();
      const timer = explained(stage).timers.find(({ to }) => to !== undefined);
      if (timer?.to === undefined) return;
      const left = Date.parse(timer.dueAt) - stage.clock.wallNow();
      await stage.advance(left - 1);
      expect(stage.stateOf('db')).toBe(row.state);
      const first = stage.story.length;
      await stage.advance(1);
      expect(stage.story[first]).toBe(`db ${nameOf(timer.to)}`);
    },
  );
});
