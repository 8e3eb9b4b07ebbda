/** Creates the root actor: the charts, with the I/O of the given parts. */

import { type ActorOptions, type AnyActorLogic, type AnyStateMachine, createActor } from 'xstate';
import type { KeeperPorts, ProcessKeeper } from '../../actors/processes/started-processes.ts';
import type { SessionActors } from '../../actors/session/leaf-actors.ts';
import type { SessionPorts } from '../../actors/session/ports.ts';
import type { DockerGateway, DockerGatewayPorts } from '../../actors/settings/docker-gateway.ts';
import type { SettingsReaderPorts } from '../../actors/settings/last-good-settings.ts';
import {
  createSettingsSource,
  type SettingsPorts,
} from '../../actors/settings/settings-changes.ts';
import type { CredentialStore } from '../../actors/stores/credentials.ts';
import type { LoginDemandStore } from '../../actors/stores/login-demands.ts';
import type { ImageShrinker } from '../../actors/stores/result-images.ts';
import type { ResultFiles } from '../../actors/stores/results.ts';
import type { FolderLookup } from '../../actors/values/folder-files.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { childrenOf } from '../../machines/troupe/context.ts';
import { isHandover } from '../../machines/troupe/handover.ts';
import {
  type RootRef,
  type RootSnapshot,
  type TroupeInput,
  troupeMachine,
} from '../../machines/troupe/troupe.ts';
import { indexTimers, observeSystem, type UnrootedEvent } from '../../machines/xstate/internals.ts';
import { withActors } from '../../machines/xstate/with-actors.ts';
import type { Clock } from '../domain/clock.ts';
import type { MemoryUse, TroupeState } from '../domain/host/status.ts';
import type { Problem } from '../domain/settings.ts';
import type { ClientParts } from './clients/pool.ts';
import type { ReplaceableParts } from './replaceable-parts.ts';
import type { ReadEnvFileNames } from './settings-lookups.ts';
import type { TroupeOptions } from './troupe.ts';

/** What a troupe needs besides the host's options. */
export interface TroupeParts extends ReplaceableParts {
  readonly clock: Clock;
  readonly seed: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Creates the keeper of the processes that sessions start. Default: none. */
  readonly keepProcesses?: (onProblems: KeeperPorts['onProblems']) => ProcessKeeper | undefined;
  /** Reads the memory of processes and of everything they started. Default: it is unknown. */
  readonly readMemory?: (pids: readonly number[]) => Promise<ReadonlyMap<number, MemoryUse>>;
  readonly createSession: (ports: SessionPorts) => SessionActors;
  /** Number of processor cores on this machine. */
  readonly coreCount: number;
  /**
   * Calls back whenever the machine wakes; returns a function that ends the watch. Default: only
   * the host reports it.
   */
  readonly watchSleep?: (onWoke: () => void) => () => void;
  /** Stores logins. Default: none can be made. */
  readonly keepCredentials?: (
    onProblems: (problems: readonly Problem[]) => void,
  ) => CredentialStore;
  /** Stores which servers demanded a login, for later runs. Default: none are stored. */
  readonly keepLoginDemands?: () => LoginDemandStore;
  /**
   * Loads the installation's key, with which displayed generations are keyed. Default: they are not
   * keyed.
   */
  readonly generationKey?: () => Promise<Buffer>;
  /** Reads the variable names in gated servers' files. Default: they are not read, and no approval binds to them. */
  readonly readEnvFileNames?: ReadEnvFileNames;
  /** Looks up files that decide what package runners run. Default: they are not looked up, and no approval binds to them. */
  readonly folderLookup?: FolderLookup;
  /** Stores the omitted parts of results. Default: they are not stored. */
  readonly resultFiles?: ResultFiles;
  /** Shrinks images in results. Default: they stay unchanged. */
  readonly images?: ImageShrinker;
  /** Reads settings files. Default: from the disk. */
  readonly settings?: Pick<SettingsReaderPorts, 'readFile' | 'checkFolder'> &
    Pick<SettingsPorts, 'watch' | 'yieldToServers'>;
  /** Creates the check for Docker's gateway. Default: the gateway counts as available. */
  readonly watchDocker?: (
    ports: Required<Pick<DockerGatewayPorts, 'projectRoot' | 'processes'>>,
  ) => DockerGateway;
  /** Creates the parts of a further client. Default: these. */
  readonly forClient?: (options: TroupeOptions) => TroupeParts;
  /** What this troupe has from the one that it is a client of. Default: it is none. */
  readonly client?: ClientParts;
  /** Reports listeners that threw and actors that broke. */
  readonly report: (message: string, error: unknown) => void;
}

export interface RootPorts {
  readonly parts: TroupeParts;
  readonly input: TroupeInput;
  readonly settings: Pick<SettingsPorts, 'projectRoot' | 'reader' | 'docker'>;
  readonly book: SettingsPorts['book'];
  readonly session: Omit<SessionPorts, 'clock' | 'env'>;
  /** Called with every inspection event after the root's own start. */
  readonly observe: (event: UnrootedEvent) => void;
}

/** Creates the root without starting it. */
export function createRoot(ports: RootPorts): RootRef {
  const { parts, input, settings, book } = ports;
  const { clock, env } = parts;
  const { projectRoot } = settings;
  const actors = parts.createSession({ clock, env, projectRoot, ...ports.session });
  const settingsSource = createSettingsSource({ ...settings, ...parts.settings, clock, book });
  const { listItems } = actors;
  // Do not share the functions that copy contexts: one for all charts becomes megamorphic.
  const refresh = stoppingChildren(
    withActors(refreshMachine, { listItems }, (context, changed) => ({ ...context, ...changed })),
  );
  const session = stoppingChildren(
    withActors(sessionMachine, { ...actors, refresh }, (context, changed) => ({
      ...context,
      ...changed,
    })),
  );
  const server = stoppingChildren(
    withActors(serverMachine, { session }, (context, changed) => ({ ...context, ...changed })),
  );
  const slots = stoppingChildren(
    withActors(slotsMachine, {}, (context, changed) => ({ ...context, ...changed })),
  );
  const troupe = stoppingChildren(
    withActors(troupeMachine, { server, slots, settingsSource }, (context, changed) => ({
      ...context,
      ...changed,
    })),
  );
  const root = createActor(troupe, {
    // XState does not use the handles, so they may have any type.
    clock: clock as NonNullable<ActorOptions<AnyActorLogic>['clock']>,
    ...(parts.inspect === undefined ? {} : { inspect: parts.inspect }),
    input,
  });
  indexTimers(root, clock);
  observeSystem(root, ports.observe);
  return root;
}

/** Describes an actor that broke, and what happens next. */
export function brokenActor(actorId: string): string {
  if (actorId === 'settingsSource')
    return `Actor ${actorId} broke; settings are no longer read until the host restarts.`;
  const whatNow = isHandover(actorId) ? 'the successor takes over' : 'it is being replaced';
  return `Actor ${actorId} broke; ${whatNow}.`;
}

/** Returns the root's state as hosts see it. */
export function troupeStateOf({ value }: RootSnapshot): TroupeState {
  if (typeof value === 'string') return value;
  return value.serving === 'running' ? 'running' : 'starting';
}

/**
 * Makes a chart stop its children when it throws.
 *
 * XState leaves such a chart's children running and unreachable. Stopping a child ends everything
 * below it, so no process or socket outlives the chart above it. Only an inline function among an
 * initial state's actions could escape; our charts have none.
 */
export function stoppingChildren<Machine extends AnyStateMachine>(machine: Machine): Machine {
  const transition: AnyStateMachine['transition'] = (snapshot, event, scope) => {
    try {
      return machine.transition(snapshot, event, scope);
    } catch (error) {
      // Children that the failed step would have started are not running yet.
      for (const child of childrenOf(snapshot)) scope.stopChild(child);
      throw error;
    }
  };
  // Keeps the class and the other methods; `Object.create` is untyped.
  return Object.create(machine, { transition: { value: transition } }) as Machine;
}
