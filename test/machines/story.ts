/**
 * A real root with real server charts, told as a story: settings come from the
 * test, sessions do what the test says, and time moves only on request.
 */

import { NEVER } from 'rxjs';
import {
  type AnyActorRef,
  type AnyEventObject,
  createActor,
  fromEventObservable,
  type InspectionEvent,
} from 'xstate';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { childrenOf } from '../../machines/troupe/context.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { type TroupeEvent, troupeMachine } from '../../machines/troupe/troupe.ts';
import { withActors } from '../../machines/xstate/with-actors.ts';
import type { Failure, FailureKind } from '../../src/domain/failure.ts';
import type { PolicyOverrides } from '../../src/domain/policy.ts';
import type { DesiredServer, Settings } from '../../src/domain/settings.ts';
import type { SettingsFact, SettingsInput } from '../../src/domain/settings-facts.ts';
import { overridePolicy } from '../../src/policies/presets/override-policy.ts';
import { stoppingChildren } from '../../src/runtime/root-actor.ts';
import {
  createScriptedSessions,
  type ScriptedSessionSource,
} from '../../src/testing/scripted-session.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { type ServerSnapshot, smallPolicy } from './server/small-server.ts';

export type SmallEntry = Partial<Omit<DesiredServer, 'policy'>> & {
  readonly policy?: PolicyOverrides;
};

/** One server of the user's own settings with small numbers, but for what is given. */
export function entry(name: string, { policy, ...given }: SmallEntry = {}): DesiredServer {
  return {
    name,
    generation: `${name}-1`,
    transport: 'stdio',
    enabled: true,
    startup: 'eager',
    trust: false,
    tools: { include: ['*'], exclude: [] },
    source: { key: name, scope: 'user' },
    gated: false,
    ...given,
    policy: overridePolicy(smallPolicy, policy ?? {}),
  };
}

export function settingsOf(
  servers: readonly DesiredServer[],
  given: Partial<Settings> = {},
): Settings {
  return {
    servers,
    excluded: [],
    slots: { local: 3, remote: 20 },
    startupGateMs: 250,
    problems: [],
    ...given,
  };
}

export function failure(kind: FailureKind, more: Partial<Failure> = {}): Failure {
  return { kind, message: `It is ${kind}.`, ...more };
}

export interface Story {
  readonly clock: VirtualClock;
  readonly sessions: ScriptedSessionSource;
  /** Writes a heading into the story. */
  chapter(text: string): void;
  load(settings: Settings): void;
  send(event: TroupeEvent): void;
  /** Sends to one server actor, as the call path does. */
  tell(actorId: string, event: AnyEventObject): void;
  /** From now on every session obeys at once. */
  oblige(): void;
  /** Brings a server that has its permit to ready. */
  serve(server: string): void;
  /** Drops everything recorded so far: the story begins here. */
  beginHere(): void;
  /** Moves time, timer by timer, until a new session begins. */
  untilNextSession(): void;
  readonly isRunning: boolean;
  /** What one server actor is like at the moment. */
  snapshotOf(actorId: string): ServerSnapshot;
  toString(): string;
}

type Root = ReturnType<typeof createRootActor>;

export interface StoryOptions {
  readonly server?: typeof serverMachine;
  readonly session?: typeof sessionMachine;
  readonly slots?: typeof slotsMachine;
  readonly handover?: typeof handoverMachine;
  readonly launchBound?: readonly string[];
  readonly coreCount?: number;
  /** Sees every event of the charts. */
  readonly inspect?: (event: InspectionEvent) => void;
}

/** Starts a root whose settings have not been read yet. */
export function startStory(options: StoryOptions = {}): Story {
  const clock = new VirtualClock();
  const sessions = createScriptedSessions();
  const trace = recordTrace({ clock, describe, describeContext, isQuiet });
  const root = createRootActor(options, sessions, clock, (event) => {
    trace.inspect(event);
    options.inspect?.(event);
  });
  root.subscribe({ error: (error) => trace.note(`# THE ROOT FAILED: ${String(error)}`) });
  root.start();
  return {
    clock,
    sessions,
    chapter: (text) => trace.note(`# ${text}`),
    load: (settings) => root.send({ type: 'settings.loaded', settings, at: clock.now() }),
    send: (event) => root.send(event),
    tell: (actorId, event) => childOf(root, actorId).send(event),
    oblige: () => {
      sessions.onCommand = (script, { type }) => {
        if (type === 'session.open') script.open();
        if (type === 'session.list') script.list([]);
        if (type === 'session.close' && script.state === 'closing') script.closed();
      };
    },
    serve: (name) => {
      sessions.of(name).open({ pid: 7 });
      sessions.of(name).list([]);
    },
    beginHere: () => trace.clear(),
    untilNextSession: () => {
      const { length } = sessions.scripts;
      while (sessions.scripts.length === length) {
        if (!clock.runNext()) throw new Error('No timer is set that could begin a session.');
      }
    },
    get isRunning() {
      return root.getSnapshot().status === 'active';
    },
    snapshotOf: (actorId) => childOf(root, actorId).getSnapshot() as ServerSnapshot,
    toString: () => trace.toString(),
  };
}

function createRootActor(
  {
    server = serverMachine,
    session = sessionMachine,
    slots = slotsMachine,
    handover = handoverMachine,
    launchBound,
    coreCount = 1,
  }: StoryOptions,
  sessions: ScriptedSessionSource,
  clock: VirtualClock,
  inspect: ReturnType<typeof recordTrace>['inspect'],
) {
  const ports = {
    clock,
    registry: { opened: () => {}, closed: () => {} },
    catalogs: { put: () => {}, putSide: () => {} },
    watched: { of: () => [], changed: () => {} },
  };
  const actors = sessions.createActors(ports);
  const { listItems } = actors;
  const refresh = withActors(refreshMachine, { listItems });
  const sessionActor = stoppingChildren(withActors(session, { ...actors, refresh }));
  const machine = withActors(troupeMachine, {
    slots: stoppingChildren(withActors(slots)),
    server: stoppingChildren(withActors(server, { session: sessionActor })),
    handover,
    settingsSource: fromEventObservable<SettingsFact, SettingsInput>(() => NEVER),
  });
  const input = {
    seed: 1,
    startedAt: 0,
    trusted: true,
    launchBound: launchBound ?? null,
    slots: { local: 3, remote: 20 },
    coreCount,
    startupGateMs: 250,
  };
  return createActor(machine, { input, clock, inspect });
}

function childOf(root: Root, actorId: string): AnyActorRef {
  const child = childrenOf(root.getSnapshot()).find(({ id }) => id === actorId);
  if (child === undefined) throw new Error(`There is no actor "${actorId}".`);
  return child;
}

/** The parts of a connection: the states of its session say what they are asked. */
function isQuiet(actor: string): boolean {
  return /\/session\/(wire|resolveTarget|connectClient|closeConnection|firstList|\w+\/listItems)$/u.test(
    actor,
  );
}

/** The few words of a payload that the story turns on. */
function describe(event: AnyEventObject): string {
  const {
    failure: lost,
    reason,
    verdict,
    counts,
    demanded,
    server,
    failedChecks,
    list,
    outcome,
    why,
    requests = [],
    actorIds = [],
  } = event as {
    failure?: Failure;
    reason?: string;
    verdict?: string;
    counts?: { local: number; remote: number };
    demanded?: boolean;
    server?: string;
    why?: string;
    failedChecks?: number;
    list?: string;
    outcome?: { type: string };
    requests?: readonly { actorId: string; demanded: boolean }[];
    actorIds?: readonly string[];
  };
  const words = [
    ...requests.map((each) => (each.demanded ? `${each.actorId} demanded` : each.actorId)),
    ...actorIds,
    list,
    outcome?.type,
    reason,
    lost?.kind,
    verdict,
    why,
    server,
    counts && `${counts.local} local, ${counts.remote} remote`,
    failedChecks && `${failedChecks} in a row`,
    demanded === true && 'demanded',
  ].filter((word) => word !== undefined && word !== false);
  return words.length === 0 ? '' : `(${words.join(', ')})`;
}

/** What a server's next decision depends on. */
function describeContext({
  tries,
  loss,
  demanded,
  delayMs,
  peer,
}: Partial<ServerSnapshot['context']>): Readonly<Record<string, unknown>> {
  if (tries === undefined) return {};
  const { attempt } = tries;
  const impaired = (peer?.impairments ?? []).map(({ reason }) => reason).join(' + ') || 'none';
  return { attempt, loss: loss?.kind ?? 'none', demanded, delayMs, impairments: impaired };
}
