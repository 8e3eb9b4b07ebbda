/**
 * A whole troupe in one thread and without real time: the real root, server charts, settings reader
 * and call path, with scripted sessions, in-memory files and a virtual clock.
 */

import type { InspectionEvent } from 'xstate';
import type { WatchListener } from '../../actors/files/watcher.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { createPermissionStore } from '../../actors/stores/permissions.ts';
import { assembleTroupe, type TroupeParts } from '../runtime/assembly/assemble-troupe.ts';
import type { FindExecutable, ReplaceableParts } from '../runtime/replaceable-parts.ts';
import type { Troupe, TroupeOptions } from '../runtime/troupe.ts';
import { createScriptedSessions } from './scripted-session.ts';
import type { ScriptedSessions } from './session-script.ts';
import { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';

/** Content of a settings file: its text, or an object to be written as JSON. */
export type SettingsContent = string | Readonly<Record<string, unknown>>;

/**
 * The troupe's settings and environment. Options of a real troupe have the same meaning here. By
 * default, no host, plugin or user answers, and nothing outlives the run.
 */
export interface ScriptedTroupeOptions
  extends Pick<
    TroupeOptions,
    | 'allow'
    | 'askPermission'
    | 'bare'
    | 'hooks'
    | 'onQuestion'
    | 'permission'
    | 'plugins'
    | 'policy'
    | 'questions'
    | 'roots'
    | 'rules'
    | 'seed'
    | 'trusted'
  > {
  /** The content of the user's own file, {@link settingsFile}. Default: no servers. */
  readonly settings?: SettingsContent;
  /** The content of the folder's file, {@link projectFile}; its servers need approval. Default: no file. */
  readonly projectSettings?: SettingsContent;
  /** The content of the administrator's file, {@link managedFile}. Default: no file. */
  readonly managedSettings?: SettingsContent;
  /** Settings of the host itself; highest precedence. */
  readonly hostSettings?: Readonly<Record<string, unknown>>;
  /** Where the clock starts. Default: at 0, on 2026-01-01. */
  readonly clock?: VirtualClockOptions;
  /** Whether to record the charts from the beginning. Default: false. */
  readonly record?: NonNullable<TroupeOptions['inspect']>;
  /** Resolves the commands of gated servers. Default: commands are started as written. */
  readonly findExecutable?: FindExecutable;
  /** Sees every event of the charts. It must not throw or have side effects. Default: none. */
  readonly inspect?: (event: InspectionEvent) => void;
}

/** Also replaces stores and telemetry, whose types are not published. */
export type ScriptedTroupeParts = ScriptedTroupeOptions & Partial<ReplaceableParts>;

/** Settings files in memory, with a watcher that sees every edit. */
export interface MemoryFiles {
  /** Writes a file, an object as JSON. The watcher fires at once. */
  write(file: string, content: string | Readonly<Record<string, unknown>>): void;
  /** Deletes a file. The watcher fires at once. */
  remove(file: string): void;
  /** Returns a file's content; undefined when it does not exist. */
  text(file: string): string | undefined;
  /** Fires the watcher although nothing changed, as editors and backups do. */
  touch(): void;
  /** While false, the watcher misses edits. Default: true. */
  isWatched: boolean;
  /** Called when a file is read, with its content. */
  onRead: ((file: string, text: string | undefined) => void) | undefined;
}

/** A reported fault of a listener or a chart. */
export interface ReportedFault {
  /** What failed. */
  readonly message: string;
  /** What was thrown. */
  readonly error: unknown;
}

/** A whole troupe without processes or network, on a virtual clock. */
export interface ScriptedTroupe {
  /** The troupe, as a host has it. */
  readonly troupe: Troupe;
  /** Its clock, which only the test moves. */
  readonly clock: VirtualClock;
  /** The sessions of its servers. */
  readonly sessions: ScriptedSessions;
  /** Its settings files. */
  readonly files: MemoryFiles;
  /** Reported faults, oldest first. A healthy run has none. */
  readonly errors: readonly ReportedFault[];
  /** Settles promises and fires timers that are due. */
  settle(): Promise<void>;
  /** Moves time forward, and lets promises settle after every timer. */
  advance(ms: number): Promise<void>;
  /** Writes the user's own settings and waits until they are applied. */
  apply(settings: SettingsContent): Promise<void>;
}

/** Path of the user's own settings. */
export const settingsFile = '/project/troupe.json';
/** Path of the folder's settings. */
export const projectFile = '/project/.mcp.json';
/** Path of the administrator's settings. */
export const managedFile = '/managed/managed.json';

// The settings source waits this long for an editor to finish.
const debounceMs = 300;

/**
 * Starts a troupe whose sessions the test drives. It has not read any settings when this function
 * returns: `await scripted.settle()` runs the first pass.
 */
export function createScriptedTroupe(options: ScriptedTroupeOptions = {}): ScriptedTroupe {
  return scriptedTroupeOf(options);
}

export function scriptedTroupeOf(options: ScriptedTroupeParts): ScriptedTroupe {
  const {
    settings = { mcpServers: {} },
    projectSettings,
    managedSettings,
    hostSettings,
    clock: clockOptions,
    record,
    seed = 1,
    findExecutable,
    inspect,
    keepApprovals,
    keepCatalogs,
    keepLedger,
    keepPermissions,
    telemetry,
    ...host
  } = options;
  const clock = new VirtualClock(clockOptions);
  const sessions = createScriptedSessions();
  const { files, ports } = createMemoryFiles();
  const errors: ReportedFault[] = [];
  files.write(settingsFile, settings);
  if (projectSettings !== undefined) files.write(projectFile, projectSettings);
  if (managedSettings !== undefined) files.write(managedFile, managedSettings);
  const managed = { file: managedFile, scope: 'managed' } as const;
  const troupe = assembleTroupe(
    {
      trusted: true,
      ...host,
      projectRoot: '/project',
      sources: [
        settingsFile,
        { file: projectFile, scope: 'project' },
        ...(managedSettings === undefined ? [] : [managed]),
      ],
      ...(hostSettings !== undefined && { settings: hostSettings }),
      ...(record !== undefined && { inspect: record }),
    },
    {
      clock,
      seed,
      coreCount: 1,
      env: {},
      keepApprovals: keepApprovals ?? ((its) => createApprovalStore({ ...its, clock })),
      keepPermissions: keepPermissions ?? ((its) => createPermissionStore({ ...its, clock })),
      createSession: (sessionPorts) => sessions.createActors(sessionPorts),
      settings: ports,
      report: (message, error) => {
        errors.push({ message, error });
      },
      ...(findExecutable !== undefined && { findExecutable }),
      ...(inspect !== undefined && { inspect }),
      ...(telemetry !== undefined && { telemetry }),
      ...(keepCatalogs !== undefined && { keepCatalogs }),
      ...(keepLedger !== undefined && { keepLedger }),
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
    async apply(content) {
      files.write(settingsFile, content);
      await clock.advanceAndSettle(debounceMs);
    },
  };
}

/** Creates the files, and the ports through which a troupe reads them. */
function createMemoryFiles() {
  const texts = new Map<string, string>();
  const watches = new Set<{
    readonly files: readonly string[];
    readonly listener: WatchListener;
  }>();
  const changed = (file?: string): void => {
    if (!files.isWatched) return;
    for (const { files: watched, listener } of watches)
      if (file === undefined || watched.includes(file)) listener.changed();
  };
  const files: MemoryFiles = {
    isWatched: true,
    onRead: undefined,
    write(file, content) {
      texts.set(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2));
      changed(file);
    },
    remove(file) {
      texts.delete(file);
      changed(file);
    },
    text: (file) => texts.get(file),
    touch: () => changed(),
  };
  const ports: TroupeParts['settings'] = {
    readFile: async (file) => {
      const text = texts.get(file);
      files.onRead?.(file, text);
      return text === undefined ? { missing: true } : { text };
    },
    checkFolder: async () => undefined,
    watch: (watched, listener) => {
      const watch = { files: watched, listener };
      watches.add(watch);
      return () => void watches.delete(watch);
    },
  };
  return { files, ports };
}
