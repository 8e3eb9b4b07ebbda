/**
 * A whole troupe in one thread and without real time: the real root, real server
 * charts, real settings reader and call path, with scripted sessions, files in
 * memory and a clock that moves when it is told to.
 */

import type { InspectionEvent } from 'xstate';
import { settingsStream } from '../../actors/settings/stream.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { createPermissionStore } from '../../actors/stores/permissions.ts';
import { assembleTroupe, type TroupeParts } from '../runtime/assemble-troupe.ts';
import type { Troupe, TroupeOptions } from '../runtime/troupe.ts';
import { createMemoryFiles, type MemoryFiles } from './memory-files.ts';
import { createScriptedSessions, type ScriptedSessions } from './scripted-session.ts';
import { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';

/** Content of a settings file: its text, or an object to be written as JSON. */
export type SettingsContent = string | Readonly<Record<string, unknown>>;

export interface ScriptedTroupeOptions {
  /** What the user's own file holds, {@link settingsFile}. Default: no servers. */
  readonly settings?: SettingsContent;
  /** What the folder brings, {@link projectFile}; its servers need approval. Default: no file. */
  readonly projectSettings?: SettingsContent;
  /** Settings of the host itself; highest precedence. */
  readonly hostSettings?: Readonly<Record<string, unknown>>;
  /** What plugins of the host bring. Default: none. */
  readonly plugins?: TroupeOptions['plugins'];
  /** Rules of the host about servers. Default: none. */
  readonly rules?: TroupeOptions['rules'];
  /** What whoever manages the machine allows, {@link managedFile}. Default: no file. */
  readonly managedSettings?: SettingsContent;
  /** Whether nothing of the user, the folder and plugins counts. Default: false. */
  readonly bare?: boolean;
  /** Where the policies of settings start. Default: the preset `default`. */
  readonly policy?: TroupeOptions['policy'];
  /** Default: 1. Equal seeds and scripts give equal stories. */
  readonly seed?: number;
  /** Default: true. */
  readonly trusted?: boolean;
  /** Who answers what servers ask, which kinds they are told of, and the folders they are told of. */
  readonly onQuestion?: TroupeOptions['onQuestion'];
  readonly questions?: TroupeOptions['questions'];
  readonly roots?: TroupeOptions['roots'];
  /** Upper bound on the servers that may ever connect. Default: none. */
  readonly allow?: readonly string[];
  readonly clock?: VirtualClockOptions;
  /** Where decisions about servers outlive the run. Default: nowhere. */
  readonly keepApprovals?: TroupeParts['keepApprovals'];
  /** Where what persons allowed outlives the run. Default: nowhere. */
  readonly keepPermissions?: TroupeParts['keepPermissions'];
  /** Decides about each call. Default: nobody does. */
  readonly permission?: TroupeOptions['permission'];
  /** Asks a person about a call. Default: nobody can be asked. */
  readonly askPermission?: TroupeOptions['askPermission'];
  /** What the command of a gated server leads to. Default: nobody looks. */
  readonly findExecutable?: NonNullable<TroupeParts['findExecutable']>;
  /** Where catalogs outlive the run. Default: nowhere. */
  readonly keepCatalogs?: TroupeParts['keepCatalogs'];
  /** Whether what the charts do is recorded from the beginning. Default: false. */
  readonly record?: TroupeOptions['inspect'];
  /** Where spans and metrics go. Default: there are none. */
  readonly telemetry?: TroupeParts['telemetry'];
  /** Sees every event of the charts, for example `recordTrace().inspect`. */
  readonly inspect?: (event: InspectionEvent) => void;
}

/** What was reported as a fault of a listener or a chart. */
export interface ReportedFault {
  readonly message: string;
  readonly error: unknown;
}

export interface ScriptedTroupe {
  readonly troupe: Troupe;
  readonly clock: VirtualClock;
  readonly sessions: ScriptedSessions;
  readonly files: MemoryFiles;
  /** Faults that were reported, oldest first. A healthy story has none. */
  readonly errors: readonly ReportedFault[];
  /** Lets everything happen that can happen now: settles promises and fires timers that are due. */
  settle(): Promise<void>;
  /** Moves time forward, and lets promises settle after every timer. */
  advance(ms: number): Promise<void>;
  /** Writes the user's own settings and waits until they are applied. */
  apply(settings: SettingsContent): Promise<void>;
}

/** Where the user's own settings are. */
export const settingsFile = '/project/troupe.json';
/** Where the folder's settings are. */
export const projectFile = '/project/.mcp.json';
/** Where the settings of whoever manages the machine are. */
export const managedFile = '/managed/managed.json';

// The settings source waits this long for an editor to finish.
const debounceMs = 300;

/**
 * Starts a troupe whose sessions do what the test says. Nothing has been read
 * yet when it returns: `await scripted.settle()` lets the first pass happen.
 */
export function createScriptedTroupe(options: ScriptedTroupeOptions = {}): ScriptedTroupe {
  const clock = new VirtualClock(options.clock);
  const sessions = createScriptedSessions();
  const { files, ports } = createMemoryFiles();
  const errors: ReportedFault[] = [];
  files.write(settingsFile, options.settings ?? { mcpServers: {} });
  if (options.projectSettings !== undefined) files.write(projectFile, options.projectSettings);
  if (options.managedSettings !== undefined) files.write(managedFile, options.managedSettings);
  const troupe = assembleTroupe(
    {
      projectRoot: '/project',
      sources: [
        settingsFile,
        { file: projectFile, scope: 'project' },
        ...(options.managedSettings === undefined
          ? []
          : [{ file: managedFile, scope: 'managed' } as const]),
      ],
      trusted: options.trusted ?? true,
      ...hostOptions(options),
    },
    {
      clock,
      seed: options.seed ?? 1,
      coreCount: 1,
      env: {},
      keepApprovals:
        options.keepApprovals ??
        ((approvalPorts) => createApprovalStore({ ...approvalPorts, clock })),
      keepPermissions:
        options.keepPermissions ??
        ((permissionPorts) => createPermissionStore({ ...permissionPorts, clock })),
      ...(options.findExecutable === undefined ? {} : { findExecutable: options.findExecutable }),
      createSession: (sessionPorts) => sessions.createActors(sessionPorts),
      // Loaded already, so that what happens next depends on the clock alone.
      settings: { ...ports, stream: settingsStream },
      report: (message, error) => {
        errors.push({ message, error });
      },
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
      ...(options.telemetry === undefined ? {} : { telemetry: options.telemetry }),
      ...(options.keepCatalogs === undefined ? {} : { keepCatalogs: options.keepCatalogs }),
    },
  );
  return {
    troupe,
    clock,
    sessions,
    files,
    errors,
    settle: () => clock.advanceAndSettle(0),
    advance: (ms) => clock.advanceAndSettle(ms),
    async apply(settings) {
      files.write(settingsFile, settings);
      await clock.advanceAndSettle(debounceMs);
    },
  };
}

/** What of the options a host would say as well. */
function hostOptions({
  plugins,
  rules,
  bare,
  policy,
  allow,
  permission,
  askPermission,
  hostSettings: settings,
  record: inspect,
  onQuestion,
  questions,
  roots,
}: ScriptedTroupeOptions): TroupeOptions {
  const host = { plugins, rules, bare, policy, allow, settings, inspect };
  const people = { permission, askPermission, onQuestion, questions, roots };
  const all = { ...host, ...people };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as TroupeOptions;
}
