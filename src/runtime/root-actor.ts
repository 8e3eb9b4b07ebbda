/** Makes the root actor: real charts, with the I/O of this assembly provided to them. */

import { type ActorOptions, type AnyActorLogic, createActor, type InspectionEvent } from 'xstate';
import type { OpenTelemetry } from '../../actors/host/open-telemetry.ts';
import type { KeeperPorts, ProcessKeeper } from '../../actors/processes/keeper.ts';
import type { SessionActors } from '../../actors/session/actors.ts';
import type { SessionPorts } from '../../actors/session/ports.ts';
import type { DockerGateway, DockerGatewayPorts } from '../../actors/settings/docker-gateway.ts';
import type { SettingsReaderPorts } from '../../actors/settings/reader.ts';
import { createSettingsSource, type SettingsPorts } from '../../actors/settings/source.ts';
import type { ApprovalStore, ApprovalStorePorts } from '../../actors/stores/approvals.ts';
import type { CatalogFiles, CatalogFilesPorts } from '../../actors/stores/catalogs.ts';
import type { PermissionStore, PermissionStorePorts } from '../../actors/stores/permissions.ts';
import type { ImageShrinker } from '../../actors/stores/result-images.ts';
import type { ResultFiles } from '../../actors/stores/results.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { isHandover } from '../../machines/troupe/handover.ts';
import { type TroupeInput, troupeMachine } from '../../machines/troupe/troupe.ts';
import type { Clock } from '../domain/clock.ts';
import type { TroupeState } from '../domain/host/status.ts';
import type { FindExecutable, ReadEnvFileNames } from './gated-executables.ts';
import type { RootRef, RootSnapshot } from './status/board.ts';
import { stoppingChildren } from './stopping-children.ts';

/** What an assembly needs besides the options of a host. */
export interface TroupeParts {
  readonly clock: Clock;
  readonly seed: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Makes who keeps account of the processes that sessions start. Default: nobody does. */
  readonly keepProcesses?: (onProblems: KeeperPorts['onProblems']) => ProcessKeeper | undefined;
  readonly createSession: (ports: SessionPorts) => SessionActors;
  /** Processor cores of this machine. */
  readonly coreCount: number;
  /** Calls back whenever the machine woke; returns what ends the watch. Default: only the host tells. */
  readonly watchSleep?: (onWoke: () => void) => () => void;
  /** Keeps what persons decide. */
  readonly keepApprovals: (
    ports: Pick<ApprovalStorePorts, 'projectRoot' | 'onProblems'>,
  ) => ApprovalStore;
  /** Keeps what persons allow for more than one call. */
  readonly keepPermissions: (
    ports: Pick<PermissionStorePorts, 'projectRoot' | 'onProblems'>,
  ) => PermissionStore;
  /** Looks for what the commands of gated servers lead to. Default: nobody does, and commands are started as written. */
  readonly findExecutable?: FindExecutable;
  /** Loads the installation's key, with which shown generations are keyed. Default: they are not keyed. */
  readonly generationKey?: () => Promise<Buffer>;
  /** Reads the variable names in gated servers' files. Default: they are not read, and no approval binds to them. */
  readonly readEnvFileNames?: ReadEnvFileNames;
  /** Where catalogs outlive the run. Default: nowhere. */
  readonly keepCatalogs?: (onProblems: CatalogFilesPorts['onProblems']) => CatalogFiles;
  /** Where what of an answer is not shown is kept. Default: nowhere. */
  readonly resultFiles?: ResultFiles;
  /** Where spans and metrics go. Default: there are none. */
  readonly telemetry?: OpenTelemetry | undefined;
  /** Makes images of answers smaller. Default: they stay as they are. */
  readonly images?: ImageShrinker;
  /** Default: the disk. */
  readonly settings?: Pick<SettingsReaderPorts, 'readFile' | 'lookAtFolder'> &
    Pick<SettingsPorts, 'watch' | 'stream'>;
  /** Makes who asks Docker for its gateway. Default: nobody asks, and who wants it has it. */
  readonly watchDocker?: (
    ports: Required<Pick<DockerGatewayPorts, 'projectRoot' | 'processes'>>,
  ) => DockerGateway;
  /** Where a throwing listener and a broken actor are reported. */
  readonly report: (message: string, error: unknown) => void;
  /** Sees every event of the charts. It must not throw and must not act. */
  readonly inspect?: (event: InspectionEvent) => void;
}

export interface RootPorts {
  readonly parts: TroupeParts;
  readonly input: TroupeInput;
  readonly settings: Pick<SettingsPorts, 'files' | 'projectRoot' | 'reader' | 'docker'>;
  readonly specs: SettingsPorts['specs'];
  readonly session: Omit<SessionPorts, 'clock' | 'env'>;
}

/** The root is made, not started. */
export function createRoot({ parts, input, settings, specs, session }: RootPorts): RootRef {
  const { clock, env } = parts;
  const actors = parts.createSession({ clock, env, ...session });
  const settingsSource = createSettingsSource({ ...settings, ...parts.settings, clock, specs });
  const { listItems } = actors;
  const refresh = stoppingChildren(refreshMachine.provide({ actors: { listItems } }));
  const sessionLogic = stoppingChildren(sessionMachine.provide({ actors: { ...actors, refresh } }));
  const server = stoppingChildren(serverMachine.provide({ actors: { session: sessionLogic } }));
  const slots = stoppingChildren(slotsMachine);
  const troupe = troupeMachine.provide({ actors: { server, slots, settingsSource } });
  return createActor(stoppingChildren(troupe), {
    // XState keeps its handles to itself; ours may be of any kind.
    clock: clock as NonNullable<ActorOptions<AnyActorLogic>['clock']>,
    ...(parts.inspect === undefined ? {} : { inspect: parts.inspect }),
    input,
  });
}

/** Says what became of an actor that broke, and what now. */
export function brokenActor(actorId: string): string {
  if (actorId === 'settingsSource')
    return `Actor ${actorId} broke; settings are not read any more until the host starts again.`;
  const whatNow = isHandover(actorId) ? 'the successor takes over' : 'it is being replaced';
  return `Actor ${actorId} broke; ${whatNow}.`;
}

/** The state of the root in the public words. */
export function troupeStateOf({ value }: RootSnapshot): TroupeState {
  if (typeof value === 'string') return value;
  return value.serving === 'running' ? 'running' : 'starting';
}
