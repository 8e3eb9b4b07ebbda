import { describe, expect, it } from 'vitest';
import { createActor } from 'xstate';
import { type ServerContext, serverMachine } from '../../../machines/server/server.ts';
import { freshTries, noPeer } from '../../../machines/server/server-setup.ts';
import type { CliHost } from '../../../src/cli/cli-host.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { failureKinds } from '../../../src/domain/failure.ts';
import {
  blockedReasons,
  degradedReasons,
  reasonsOf,
  type ServerState,
  type StateReason,
  serverStates,
} from '../../../src/domain/server-state.ts';
import type { DesiredServer } from '../../../src/domain/settings.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { nextStepFor, type RefusingLists } from '../../../src/runtime/status/next-step.ts';

import { type ServerSnapshot, statusOf } from '../../../src/runtime/status/status-of.ts';

const desired: DesiredServer = {
  name: 'db',
  generation: 'g1',
  transport: 'stdio',
  enabled: true,
  startup: 'eager',
  trust: false,
  tools: { include: ['*'], exclude: [] },
  policy: defaultPolicy,
  source: { file: '/project/troupe.json', key: 'mcpServers.db', line: 7, scope: 'config' },
  gated: false,
};

const stamps = { sinceMs: Date.UTC(2026, 0, 1), waitingSinceMs: Date.UTC(2026, 0, 1, 0, 0, 5) };

type ConnectionValue = ServerSnapshot['value']['connection'];

function snapshotIn(connection: unknown, more: Partial<ServerContext> = {}): ServerSnapshot {
  const input = {
    actorId: 'db.0',
    name: 'db',
    generation: 'g1',
    transport: 'stdio',
    startup: 'eager',
    policy: defaultPolicy,
    verdict: 'disabled',
    stopWanted: false,
    startWanted: false,
    succeeds: false,
    hasStoredCatalog: false,
    mayDownload: false,
    seed: 1,
  } as const;
  const { context: first } = createActor(serverMachine, { input }).getSnapshot();
  const tries = { ...first.tries, attempt: 2 };
  const context: ServerContext = { ...first, session: 3, tries, delayMs: 1_500, ...more };
  return serverMachine.resolveState({
    value: {
      connection: connection as ConnectionValue,
      catalog: 'none',
      circuit: 'closed',
      activity: 'unready',
    },
    context,
  });
}

const ready = { engaged: { live: 'ready' } };

/** Where the chart is for each public state and reason; a new one does not compile without a row. */
const places: Record<ServerState, unknown> = {
  disabled: { parked: 'disabled' },
  blocked: (reason: string) => ({ parked: { blocked: reason } }),
  dormant: { parked: 'dormant' },
  queued: { engaged: 'queued' },
  connecting: { engaged: { live: 'connecting' } },
  loadingTools: { engaged: { live: 'loadingTools' } },
  ready,
  degraded: () => ready,
  backingOff: (reason: string) => ({ parked: { backingOff: reason } }),
  authRequired: { parked: 'authRequired' },
  suspended: (reason: string) => ({ parked: { suspended: reason } }),
  failed: (reason: string) => ({ parked: { failed: reason } }),
  stopping: { engaged: { live: 'closing' } },
  stopped: { parked: 'stopped' },
};

interface Case {
  readonly state: ServerState;
  readonly reason: StateReason | undefined;
  readonly snapshot: ServerSnapshot;
}

const cases = serverStates.flatMap((state): readonly Case[] => {
  const place = places[state];
  if (typeof place !== 'function')
    return [{ state, reason: undefined, snapshot: snapshotIn(place) }];
  return reasonsOf[state].map((reason) => {
    const impairments = degradedReasons
      .filter((candidate) => candidate === reason)
      .map((candidate) => ({ reason: candidate, failure: null }));
    return {
      state,
      reason,
      snapshot: snapshotIn(place(reason), { peer: { ...noPeer, impairments } }),
    };
  });
});

const host = {
  version: '0',
  stdout: { write: () => true },
  stderr: { write: () => true },
  env: {},
};
const typed = createProgram(host as unknown as CliHost, () => {}).commands.map((c) => c.name());
/** What a person can type; an action that names a command must name one of these. */
const actionCommands = new RegExp(`^troupe (${typed.join('|')}) db$`);
const listed = { file: '/project/troupe.json', key: 'mcp', line: 9, scope: 'user' } as const;
const lists: RefusingLists = {
  hostAllowed: null,
  limits: [
    { list: 'excluded', names: ['db'], source: listed },
    { list: 'allowed', names: [], source: listed },
  ],
  budget: { max: 1, mode: 'enforce', source: listed },
};
const actionSentences = [
  /^start with --trust to trust the folder of \/project\/troupe\.json:7$/,
  /^remove db from mcp\.excluded in \/project\/troupe\.json:9$/,
  /^add db to mcp\.allowed in \/project\/troupe\.json:9$/,
  /^stop or disable another server, or raise admission\.maxServers in mcp\.policy of \/project\/troupe\.json$/,
  /^fix \/project\/troupe\.json:7$/,
  /^log in to db, then troupe restart db$/,
];

describe("a server's status", () => {
  it.each(cases)('is $state $reason in that chart state', ({ state, reason, snapshot }) => {
    const status = statusOf(snapshot, desired, stamps, 4);
    expect(status.state).toBe(state);
    expect(status.reason).toBe(reason);
    expect(status).toMatchObject({ name: 'db', tools: 4, restarts: 2, generation: 'g1' });
  });

  it.each(cases)(
    'suggests a step only where one is needed: $state $reason',
    ({ state, reason }) => {
      const condition = reason === undefined ? { state } : { state, reason };
      const action = nextStepFor(desired, condition, lists);
      const needsNone: ServerState[] = [
        'dormant',
        'queued',
        'connecting',
        'loadingTools',
        'ready',
        'degraded',
        'backingOff',
        'stopping',
      ];
      expect(action === undefined).toBe(needsNone.includes(state));
      if (action === undefined) return;
      const isKnown = [actionCommands, ...actionSentences].some((form) => form.test(action));
      expect(isKnown, action).toBe(true);
    },
  );

  it('reports the first of several impairments in their fixed order', () => {
    const impairments = degradedReasons
      .toReversed()
      .map((reason) => ({ reason, failure: { kind: 'protocol', message: reason } as const }));
    // The newest failure belongs to another impairment.
    const lastError = { kind: 'protocol', message: 'newest' } as const;
    const snapshot = snapshotIn(ready, { peer: { ...noPeer, impairments }, lastError });
    expect(statusOf(snapshot, desired, stamps, 0)).toMatchObject({
      reason: degradedReasons[0],
      lastError: { message: degradedReasons[0] },
    });
  });

  it('names a login only where the settings leave one', () => {
    const stepFor = (noLogin?: DesiredServer['noLogin']) =>
      nextStepFor({ ...desired, ...(noLogin && { noLogin }) }, { state: 'authRequired' });
    const place = '/project/troupe.json:7';
    expect([stepFor(), stepFor('off'), stepFor('headers')]).toEqual([
      'troupe login db',
      `remove "oauth": false in ${place}, then troupe login db`,
      `renew the token in its headers (${place}), then troupe restart db`,
    ]);
  });

  it('names the older era as the key of an entry that can have it', () => {
    const lastError = { kind: 'protocol', message: 'no era', suspect: 'era' } as const;
    const tried = { lastError, hasServed: false, tries: { sameExits: 0 } };
    const stepFor = (key: string) =>
      nextStepFor(
        { ...desired, source: { ...desired.source, key } },
        { state: 'failed' },
        undefined,
        tried,
      );
    expect(stepFor('mcpServers.db')).toBe('set "era": "legacy" in /project/troupe.json:7');
    expect(stepFor('mcp_servers.db')).toBe(
      'troupe import --from /project/troupe.json, then set "era": "legacy" for db in the new entry',
    );
  });

  it('names the command that enables a server, or the edit where it cannot', () => {
    const source = desired.source;
    const stepFor = (more: Partial<DesiredServer>) =>
      nextStepFor({ ...desired, ...more }, { state: 'disabled' });
    expect(stepFor({})).toBe('troupe enable db');
    expect(stepFor({ disabledBy: { ...source, key: 'mcp.disabledServers' } })).toBe(
      'troupe enable db',
    );
    expect(
      stepFor({ disabledBy: { file: '/user.json', line: 9, key: 'mcp', scope: 'user' } }),
    ).toBe('remove db from mcp.disabledServers in /user.json:9');
    expect(stepFor({ source: { ...source, key: 'servers.db' } })).toBe(
      'set "enabled": true or "disabled": false for db in /project/troupe.json:7',
    );
    // A command cannot find an entry whose name was changed.
    expect(stepFor({ source: { ...source, key: 'mcpServers.d b' } })).toContain('set "enabled"');
    expect(stepFor({ source: { ...source, scope: 'managed' } })).toContain('set "enabled"');
    expect(stepFor({ source: { key: 'db', scope: 'config' } })).toBe(
      'set "enabled": true for db in the host\'s settings',
    );
  });

  it('has its since time and next attempt in ISO 8601', () => {
    const waiting = snapshotIn({ parked: { backingOff: 'retrying' } });
    expect(statusOf(waiting, desired, stamps, 0)).toMatchObject({
      since: '2026-01-01T00:00:00.000Z',
      nextAttemptAt: '2026-01-01T00:00:06.500Z',
      attempt: 2,
    });
    expect(statusOf(snapshotIn(ready), desired, stamps, 0)).not.toHaveProperty('nextAttemptAt');
    expect(statusOf(snapshotIn(ready), desired, stamps, 0)).not.toHaveProperty('attempt');
  });

  it('reports attempt 1 before the first attempt starts', () => {
    const queued = snapshotIn({ engaged: 'queued' }, { tries: freshTries, session: 0 });
    expect(statusOf(queued, desired, stamps, 0)).toMatchObject({ attempt: 1, restarts: 0 });
  });

  it.each(failureKinds)('maps the last failure to a public code: %s', (kind) => {
    const lastError = { kind, message: 'Oh.', exitCode: 3, signal: 'SIGKILL', stderrTail: ['a'] };
    const status = statusOf(snapshotIn(ready, { lastError }), desired, stamps, 0);
    expect(status.lastError).toMatchObject(lastError);
    expect(status.lastError?.code).toMatch(/^[A-Z_]+$/);
  });

  it("reports an invalid entry's error with its location", () => {
    const invalid = { file: '/project/troupe.json', line: 9, key: 'mcpServers.db', message: 'bad' };
    const blocked = snapshotIn({ parked: { blocked: 'invalidConfig' } });
    expect(statusOf(blocked, { ...desired, invalid }, stamps, 0)).toMatchObject({
      lastError: { code: 'INVALID_CONFIG', message: '/project/troupe.json:9 mcpServers.db: bad' },
      action: 'fix /project/troupe.json:9',
    });
    const placeless = { file: 'host settings', message: 'bad' };
    expect(
      statusOf(blocked, { ...desired, invalid: placeless }, stamps, 0).lastError?.message,
    ).toBe('host settings: bad');
  });

  it('is stopping while an actor ends', () => {
    expect(statusOf(snapshotIn('retired'), desired, stamps, 0).state).toBe('stopping');
  });

  it('covers every reason', () => {
    const told = new Set(cases.map(({ reason }) => reason));
    const all: readonly StateReason[] = Object.values(reasonsOf).flat();
    for (const reason of [...all, ...blockedReasons]) expect(told).toContain(reason);
  });
});
