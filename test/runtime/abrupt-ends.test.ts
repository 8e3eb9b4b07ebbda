/**
 * Sessions whose charts throw, or that are stopped, in each of their states: no process and no socket is
 * left, the start permit comes back, and every call settles.
 *
 * Everything is real but time, which stands still, so that a state lasts until the test ends it.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AnyActorRef, AnyEventObject } from 'xstate';
import { createProcessKeeper } from '../../actors/processes/started-processes.ts';
import { createSessionIo } from '../../actors/session/io.ts';
import {
  type CreateSessionIo,
  createSessionActors,
  type SessionIo,
} from '../../actors/session/leaf-actors.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { createPermissionStore } from '../../actors/stores/permissions.ts';
import type * as serverChart from '../../machines/server/server.ts';
import type * as sessionChart from '../../machines/session/session.ts';
import type * as troupeChart from '../../machines/troupe/troupe.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { assembleTroupe } from '../../src/runtime/assembly/assemble-troupe.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { startHttpFixture } from '../fixtures/remote/http-server.ts';
import { startScriptedHttp } from '../fixtures/remote/scripted-http.ts';
import { startSseFixture } from '../fixtures/remote/sse-server.ts';

const fault = vi.hoisted(() => () => {
  throw new Error('a fault');
});
// Every edit of the policy, and of the trust in the folder, is a fault now.
vi.mock('../../machines/session/session.ts', async (original) => {
  const chart = await original<typeof sessionChart>();
  const actions = { applyPolicy: fault };
  return { ...chart, sessionMachine: chart.sessionMachine.provide({ actions }) };
});
vi.mock('../../machines/server/server.ts', async (original) => {
  const chart = await original<typeof serverChart>();
  const actions = { applySpec: fault };
  return { ...chart, serverMachine: chart.serverMachine.provide({ actions }) };
});

vi.mock('../../machines/troupe/troupe.ts', async (original) => {
  const chart = await original<typeof troupeChart>();
  const actions = { noteTrust: fault };
  return { ...chart, troupeMachine: chart.troupeMachine.provide({ actions }) };
});

// Real processes on a loaded machine; every wait is for an event.
const fixture = new URL('../fixtures/stdio-server.mjs', import.meta.url).pathname;

/** A step of the session's I/O that is held before it begins or after it is done. */
interface Gate {
  readonly step: 'resolve' | 'launch' | 'connect' | 'close';
  readonly when: 'before' | 'after';
  /** Which run of the step is held; default 1. */
  readonly turn?: number;
}

interface Stage {
  readonly troupe: Troupe;
  readonly clock: VirtualClock;
  /** Settles when the session, or the server, is in the state. */
  readonly reached: (state: string, actorId?: 'db.0' | 'session') => Promise<void>;
  readonly send: (actorId: 'db.0' | 'session', event: AnyEventObject) => void;
  /** Lets the held step continue, and settles when it is over. */
  release(): Promise<void>;
  /** Which servers have a start permit or wait for one; none once the troupe is over. */
  permits(): readonly unknown[];
}

/** Puts the gate before or after a step of each session. */
function gated(createIo: CreateSessionIo, gate: Gate | undefined, open: Promise<void>) {
  const over: Promise<unknown>[] = [];
  const createGatedIo: CreateSessionIo = (id, report) => {
    const io = createIo(id, report);
    if (gate === undefined) return io;
    let turns = 0;
    const step = io[gate.step].bind(io) as (...args: readonly unknown[]) => Promise<unknown>;
    const held = async (...args: readonly unknown[]): Promise<unknown> => {
      if (gate.when === 'before') await open;
      const outcome = await step(...args);
      await open;
      return outcome;
    };
    const taken = (...args: readonly unknown[]): Promise<unknown> => {
      turns += 1;
      if (turns !== (gate.turn ?? 1)) return step(...args);
      const outcome = held(...args);
      over.push(outcome.catch(() => {}));
      return outcome;
    };
    const bound: SessionIo = {
      resolve: (signal) => io.resolve(signal),
      launch: (isSecond, signal) => io.launch(isSecond, signal),
      connect: (handshake, signal) => io.connect(handshake, signal),
      list: (list, signal) => io.list(list, signal),
      close: (how) => io.close(how),
      probe: () => io.probe(),
      abandon: () => io.abandon(),
      publish: () => io.publish(),
      kill: () => io.kill(),
      dispose: () => io.dispose(),
    };
    return { ...bound, [gate.step]: taken };
  };
  return { createIo: createGatedIo, over };
}

function startTroupe(entry: Readonly<Record<string, unknown>>, gate?: Gate): Stage {
  const clock = new VirtualClock();
  const actors = new Map<string, AnyActorRef>();
  let root: AnyActorRef | undefined;
  let openGate = (): void => {};
  const opened = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  const waiting = new Set<() => void>();
  const over: Promise<unknown>[][] = [];
  const troupe = assembleTroupe(
    { settings: { mcpServers: { db: entry } }, sources: [] },
    {
      clock,
      seed: 1,
      coreCount: 1,
      env: process.env,
      createSession: (ports) => {
        const io = gated(createSessionIo(ports), gate, opened);
        over.push(io.over);
        return createSessionActors(io.createIo);
      },
      keepApprovals: (ports) => createApprovalStore({ ...ports, clock }),
      keepPermissions: (ports) => createPermissionStore({ ...ports, clock }),
      keepProcesses: (onProblems) =>
        createProcessKeeper({ stateDir: undefined, clock, wallNow: Date.now, onProblems }),
      report: () => {},
      inspect: ({ actorRef }) => {
        root ??= actorRef as AnyActorRef;
        actors.set((actorRef as AnyActorRef).id, actorRef as AnyActorRef);
        for (const look of waiting) queueMicrotask(look);
      },
    },
  );
  const actor = (id: string): AnyActorRef => {
    const found = actors.get(id);
    if (found === undefined) throw new Error(`There is no actor "${id}".`);
    return found;
  };
  onTestFinished(() => {
    if (root?.getSnapshot().status === 'active') root.send({ type: 'troupe.kill' });
  });
  return {
    troupe,
    clock,
    reached: (state, actorId = 'session') =>
      new Promise((resolve) => {
        const look = (): void => {
          const value: unknown = actors.get(actorId)?.getSnapshot().value;
          if (!pathsOf(value).some((path) => path === state || path.startsWith(`${state}.`)))
            return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    send: (id, event) => actor(id).send(event),
    async release() {
      openGate();
      await Promise.all(over.flat());
    },
    permits() {
      const { context } = actor('slots').getSnapshot() as {
        readonly context: Readonly<Record<'permits' | 'waiting', readonly unknown[]>>;
      };
      const isOver = root?.getSnapshot().status !== 'active';
      return isOver ? [] : [...context.permits, ...context.waiting];
    },
  };
}

function pathsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) =>
    pathsOf(below).map((path) => `${name}.${path}`),
  );
}

/** Processes that carry a mark in their environment. */
class Processes {
  readonly mark = `MARK_${randomUUID().replaceAll('-', '_')}`;

  /** Settles when none is left; the system sends no event, so a shell polls. */
  async gone(): Promise<void> {
    const script = `while grep -qsaz '^${this.mark}=' /proc/[0-9]*/environ; do sleep 0.02; done`;
    await promisify(execFile)('sh', ['-c', script]);
  }

  entry(mode: string, more: Readonly<Record<string, unknown>> = {}) {
    return {
      command: process.execPath,
      args: [fixture, mode],
      env: { [this.mark]: '1' },
      era: 'legacy',
      ...more,
    };
  }
}

/** A relay in front of a remote server, which sees each of our sockets open and close. */
async function startRelay(url: string) {
  const sockets = new Set<Socket>();
  const empty = new Set<() => void>();
  const relay = createServer((socket) => {
    sockets.add(socket);
    const onward = connect(Number(new URL(url).port), '127.0.0.1');
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward);
    onward.pipe(socket);
    onward.once('close', () => socket.destroy());
    socket.once('close', () => {
      onward.destroy();
      sockets.delete(socket);
      if (sockets.size === 0) for (const wake of empty) wake();
    });
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  onTestFinished(() => void relay.close());
  const here = new URL(url);
  here.port = String((relay.address() as AddressInfo).port);
  return {
    url: here.href,
    gone: (): Promise<void> =>
      sockets.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => {
            empty.add(resolve);
          }),
  };
}

/** What a server must not leave behind. */
interface Peer {
  readonly entry: Readonly<Record<string, unknown>>;
  /** A tool that is never answered. */
  readonly tool: string;
  gone(): Promise<void>;
  /** Brings a session that is open, or about to be, to the row's state. */
  drive?(stage: Stage): Promise<void>;
}

interface Row {
  readonly state: string;
  readonly about?: string;
  readonly gate?: Gate;
  readonly start: () => Promise<Peer> | Peer;
}

const local =
  (mode: string, more: Readonly<Record<string, unknown>> = {}, drive?: Peer['drive']) =>
  (): Peer => {
    const processes = new Processes();
    return {
      entry: processes.entry(mode, more),
      tool: 'slow',
      gone: () => processes.gone(),
      ...(drive !== undefined && { drive }),
    };
  };
const remote =
  <Server extends { readonly url: string; close(): Promise<void> }>(
    start: () => Promise<Server>,
    drive?: (stage: Stage, server: Server) => Promise<void>,
  ) =>
  async (): Promise<Peer> => {
    const server = await start();
    onTestFinished(() => server.close());
    const relay = await startRelay(server.url);
    return {
      entry: { url: relay.url },
      tool: 'echo',
      gone: relay.gone,
      ...(drive !== undefined && { drive: (stage: Stage) => drive(stage, server) }),
    };
  };
const hangingAt = (hung: string) =>
  startScriptedHttp.bind(undefined, ({ method }) => (method === hung ? 'hang' : undefined));

const isAsked = { era: 'auto' } as const;
const before = (step: Gate['step'], turn = 1): Gate => ({ step, when: 'before', turn });
const after = (step: Gate['step'], turn = 1): Gate => ({ step, when: 'after', turn });

/** Waits until the call is in flight. */
const call = ({ reached }: Stage): Promise<void> => reached('activity.busy', 'db.0');

/** Has the open session closed. */
async function stop({ troupe, reached }: Stage): Promise<void> {
  await reached('open');
  troupe.send({ type: 'server.stop', server: 'db' });
}

/** Has a server forget an open session, in which one call waits for its answer. */
async function forget(
  { troupe, reached }: Stage,
  server: Awaited<ReturnType<typeof startHttpFixture>>,
): Promise<void> {
  await reached('open');
  await server.arrived('POST tools/call');
  server.forgetSession();
  const withdrawn = new AbortController();
  void troupe.callServerTool('db', 'echo', {}, { signal: withdrawn.signal }).catch(() => {});
  await reached('draining');
  // While it waits for another session, it would start one without a delay.
  withdrawn.abort();
}

const rows: readonly Row[] = [
  { state: 'opening.resolving', gate: before('resolve'), start: local('ok') },
  { state: 'opening.launching', about: 'not begun', gate: before('launch'), start: local('ok') },
  { state: 'opening.launching', about: 'done', gate: after('launch'), start: local('ok') },
  { state: 'opening.connecting.asking', about: 'stdio', start: local('hang-discover', isAsked) },
  {
    state: 'opening.connecting.asking',
    about: 'http',
    start: remote(hangingAt('server/discover')),
  },
  { state: 'opening.connecting.greeting', about: 'stdio', start: local('hang-init') },
  { state: 'opening.connecting.greeting', about: 'http', start: remote(hangingAt('initialize')) },
  {
    state: 'opening.connecting.greeting',
    about: 'not begun',
    gate: before('connect'),
    start: local('ok'),
  },
  {
    state: 'opening.connecting.greeting',
    about: 'done',
    gate: after('connect'),
    start: local('ok'),
  },
  {
    state: 'opening.leaving',
    gate: before('close'),
    start: local('exit-on-discover', isAsked),
  },
  {
    state: 'opening.relaunching',
    gate: after('launch', 2),
    start: local('exit-on-discover', isAsked),
  },
  {
    state: 'opening.greetingOld',
    gate: after('connect', 2),
    start: local('exit-on-discover', isAsked),
  },
  { state: 'opening.fallingBack', gate: before('close'), start: remote(startSseFixture) },
  {
    state: 'opening.greetingOverSse',
    start: remote(() => startSseFixture('no-endpoint')),
  },
  { state: 'loadingTools', about: 'stdio', start: local('hang-tools') },
  { state: 'loadingTools', about: 'http', start: remote(hangingAt('tools/list')) },
  { state: 'open', about: 'stdio', start: local('ok', {}, call) },
  { state: 'open', about: 'http', start: remote(() => startHttpFixture('slow-call'), call) },
  { state: 'broken', start: local('mute-on-call') },
  { state: 'closing', about: 'stdio', start: local('ignore-term', {}, stop) },
  { state: 'closing', about: 'http', start: remote(() => startHttpFixture('silent-delete'), stop) },
  {
    state: 'releasing',
    start: local('mute-on-call', {}, async ({ clock, reached }) => {
      await reached('broken');
      // As long as the wait for an exit that explains the end.
      clock.advanceBy(250);
    }),
  },
  {
    state: 'draining',
    gate: before('close'),
    start: remote(() => startHttpFixture('slow-call'), forget),
  },
];

const ends: Readonly<Record<string, (stage: Stage) => void>> = {
  'when the session chart throws': ({ send }) =>
    send('session', { type: 'policy.updated', policy: defaultPolicy }),
  'when the server chart throws': ({ send }) =>
    send('db.0', { type: 'spec.updated', startup: 'eager', policy: defaultPolicy }),
  'when the root throws': ({ troupe }) => troupe.send({ type: 'trust.changed', trusted: false }),
  'when it is stopped': ({ troupe }) => troupe.send({ type: 'troupe.kill' }),
};

/** The call waits for the session; afterwards it is in flight. */
const isStarting = (state: string): boolean => /^(opening|loadingTools)/.test(state);

beforeEach(() => {
  // XState's development build warns about events sent to a chart that threw.
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(Object.entries(ends))("a session's abrupt end %s", (_, end) => {
  it.each(rows.map((row) => ({ name: [row.state, row.about ?? ''].join(' ').trim(), row })))(
    'leaves nothing behind in $name',
    async ({ row }) => {
      const peer = await row.start();
      const stage = startTroupe(peer.entry, row.gate);
      // Waits for the start, or is never answered.
      const answer = stage.troupe.callServerTool('db', peer.tool).catch((error: unknown) => error);
      await peer.drive?.(stage);
      await stage.reached(row.state);
      end(stage);
      await peer.gone();
      await stage.release();
      await peer.gone();
      if (!isStarting(row.state)) expect(await answer).toMatchObject({ name: 'TroupeError' });
      expect(stage.permits()).toEqual([]);
      stage.troupe.send({ type: 'troupe.kill' });
      expect(await answer).toMatchObject({ name: 'TroupeError' });
      await peer.gone();
    },
  );
});
