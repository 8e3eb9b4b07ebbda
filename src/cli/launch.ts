/** Resolves the common flags: settings files, project, state folder, and which servers may connect. */

import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import envPaths from 'env-paths';
import { defined } from '../domain/data/defined.ts';
import { settingsError, usageError } from '../domain/user-errors.ts';
import { closestName } from '../policies/text/closest-name.ts';
import type { SettingsFile, TroupeOptions } from '../runtime/troupe.ts';

/** The common flags as parsed; absent = not given. */
export interface CommonFlags {
  readonly config?: readonly string[];
  readonly project?: string;
  readonly stateDir?: string;
  readonly allow?: readonly string[];
  readonly trust?: true;
  readonly bare?: boolean;
  readonly alone?: true;
  readonly json?: boolean;
  readonly timeout?: number;
}

/** The common flags, resolved against one working directory and environment. */
export interface Launch {
  /** Files named by `--config`: absolute, in the given order, links not followed; empty = none. */
  readonly configFiles: readonly string[];
  /** Real path of the project folder. */
  readonly projectRoot: string;
  /** Absolute path of the folder with the socket and everything that is stored. */
  readonly stateFolder: string;
  /** Whether `--state-dir` named that folder. */
  readonly stateFolderGiven: boolean;
  /** The user's settings; read only without `--config`. */
  readonly userSettings: string;
  /** The administrator's settings. */
  readonly managedSettings: string;
  /** Whether only `--config` and managed settings are read. */
  readonly bare: boolean;
  /** Whether no other troupe is used, nor one in the background started. */
  readonly alone: boolean;
  /** Absent = no bound; empty = nothing may connect. */
  readonly allow?: readonly string[];
  readonly trusted?: true;
  readonly json: boolean;
  readonly timeoutMs?: number;
}

/**
 * Resolves the common flags.
 * @throws TroupeError `USAGE` for a project folder that is not a folder, for `--config -`, and for a
 * variable that names a user folder by a relative path.
 */
export function launchOf(
  flags: CommonFlags,
  workingFolder: string,
  env: Readonly<Record<string, string | undefined>>,
  managedSettings = managedSettingsFile(process.platform),
): Launch {
  const { cwd, project } = startOf(workingFolder, flags);
  const projectRoot = realFolder(
    project,
    flags.project ?? project,
    "--project to your project's folder",
  );
  const home = env['MCP_TROUPE_HOME'] ?? '';
  const chosen =
    flags.stateDir ?? (home === '' ? undefined : fixedFolder(expandHome(home), 'MCP_TROUPE_HOME'));
  const { config, data } =
    chosen === undefined ? foldersOfSystem() : { config: chosen, data: chosen };
  const stateFolder = realOrPlanned(path.resolve(cwd, expandHome(data)));
  const settingsFolder = chosen === undefined ? config : stateFolder;
  return {
    configFiles: (flags.config ?? []).map((file) => configFile(file, cwd)),
    projectRoot,
    stateFolder,
    stateFolderGiven: flags.stateDir !== undefined,
    userSettings: path.join(settingsFolder, 'troupe.json'),
    managedSettings,
    bare: flags.bare ?? false,
    alone: flags.alone === true,
    json: flags.json ?? false,
    ...defined({ allow: flags.allow, trusted: flags.trust, timeoutMs: flags.timeout }),
  };
}

/** Where relative paths start, and the project folder. Without a working folder, paths start at the project. */
function startOf(
  workingFolder: string,
  { project = '.' }: CommonFlags,
): { readonly cwd: string; readonly project: string } {
  if (workingFolder === '' && !path.isAbsolute(project))
    throw usageError(
      'the working folder was deleted; change to another folder, or set --project to an absolute path',
    );
  const folder = path.resolve(workingFolder, project);
  return { cwd: workingFolder === '' ? folder : workingFolder, project: folder };
}

/** Lists the settings files of a launch, each with its layer; all but those of `--config` may be missing. */
export function sourcesOf(launch: Launch): readonly SettingsFile[] {
  const { bare, configFiles, projectRoot } = launch;
  const managed: SettingsFile = { file: launch.managedSettings, scope: 'managed' };
  const named = configFiles.map((file): SettingsFile => ({ file, scope: 'config' }));
  if (bare) return [managed, ...named];
  const user: SettingsFile = { file: launch.userSettings, scope: 'user' };
  const own = named.length === 0 ? [user] : named;
  // A file that the user names counts as the user's, even if the project has it as well.
  const isOwn = new Set(own.map(({ file }) => realOrPlanned(file)));
  const ofProject: readonly SettingsFile[] = [
    { file: path.join(projectRoot, '.mcp.json'), scope: 'project' },
    { file: projectSettings(launch), scope: 'project' },
    { file: path.join(projectRoot, '.troupe', 'settings.json'), scope: 'workspace' },
    { file: path.join(projectRoot, '.troupe', 'settings.local.json'), scope: 'local' },
  ];
  return [
    managed,
    ...(named.length === 0 ? [user] : []),
    ...ofProject.filter(({ file }) => !isOwn.has(realOrPlanned(file))),
    ...named,
  ];
}

/** The project's settings file, which `troupe add` creates. */
export function projectSettings({ projectRoot }: Pick<Launch, 'projectRoot'>): string {
  return path.join(projectRoot, 'troupe.json');
}

/** Lists the settings files that exist, for the user. */
export function settingsInUse(launch: Launch): string {
  const present = sourcesOf(launch).filter(({ file }) => existsSync(file));
  return present.length === 0
    ? 'no settings, because there are none'
    : present.map(({ file }) => file).join(', ');
}

/** Whether any settings file exists. */
export function hasSettings(launch: Launch): boolean {
  return launch.bare || sourcesOf(launch).some(({ file }) => existsSync(file));
}

/** What to do about settings without a server. */
export function noServers(launch: Launch): string {
  const { bare, configFiles } = launch;
  const named = configFiles.at(-1);
  if (named === undefined && bare) return 'no servers yet: pass your settings to --config';
  if (named !== undefined)
    return `no servers yet: add one to ${named}, or pass your settings to --config`;
  return `no servers yet: run troupe init to use those of your editors, or add one to ${projectSettings(launch)}`;
}

/**
 * Refuses a missing file of `--config`: a troupe that runs without its servers would hide the mistake.
 * @throws TroupeError `INVALID_CONFIG`
 */
function requireConfigFiles({ configFiles }: Pick<Launch, 'configFiles'>): void {
  for (const file of configFiles) {
    if (existsSync(file)) continue;
    throw settingsError(
      `the file ${file} given to --config does not exist; create it, or fix the path`,
    );
  }
}

/** The flags that start another troupe of the same servers, except `--project`. */
export function flagsOf(launch: Launch): readonly string[] {
  const { allow, bare, configFiles, stateFolder, stateFolderGiven } = launch;
  return [
    ...(stateFolderGiven ? ['--state-dir', stateFolder] : []),
    ...(bare ? ['--bare'] : []),
    ...configFiles.flatMap((file) => ['--config', file]),
    // Without it, the other troupe would have more servers than this one.
    ...(allow === undefined ? [] : ['--allow', allow.join(',')]),
  ];
}

/** Which settings files a launch reads, without the bounds on its servers. */
export function settingsOptionsOf(launch: Launch): TroupeOptions {
  return {
    sources: sourcesOf(launch),
    projectRoot: launch.projectRoot,
    ...(launch.bare ? { bare: true } : {}),
  };
}

/**
 * The options of a troupe for this launch; `bound` narrows the launch bound further.
 * @throws TroupeError `INVALID_CONFIG` for a missing file of `--config`
 */
export function troupeOptionsOf(launch: Launch, bound?: readonly string[]): TroupeOptions {
  requireConfigFiles(launch);
  const allow =
    bound === undefined
      ? launch.allow
      : bound.filter((name) => launch.allow === undefined || launch.allow.includes(name));
  return {
    ...settingsOptionsOf(launch),
    stateDir: launch.stateFolder,
    ...defined({ allow, trusted: launch.trusted }),
  };
}

/**
 * The folders that servers see as roots.
 * @throws TroupeError `USAGE` for what is not a folder
 */
export function rootFolders(
  folders: readonly string[] | undefined,
  cwd: string,
): readonly string[] | undefined {
  return folders?.map((asWritten) =>
    realFolder(path.resolve(cwd, expandHome(asWritten)), asWritten, '--root to a folder'),
  );
}

/**
 * Returns a note for each unknown name in `--allow`, which would silently allow nothing. Not an error,
 * because the server may be added later.
 */
export function unknownAllowed(
  { allow = [] }: Pick<Launch, 'allow'>,
  servers: readonly { readonly name: string }[],
): readonly string[] {
  const names = servers.map((server) => server.name);
  return allow
    .filter((name) => !names.includes(name))
    .map((name) => {
      const closest = closestName(name, names);
      const next = closest === undefined ? 'see troupe plan' : `did you mean ${closest}?`;
      return `--allow names the unknown server ${name}; ${next}`;
    });
}

/** Names the pair of state folder and project that at most one troupe may serve: 8 hex digits. */
export function launchHash(launch: Pick<Launch, 'stateFolder' | 'projectRoot'>): string {
  return createHash('sha256')
    .update(`${launch.stateFolder}\0${launch.projectRoot}`)
    .digest('hex')
    .slice(0, 8);
}

function realFolder(folder: string, asWritten: string, next: string): string {
  try {
    if (statSync(folder).isDirectory()) return realpathSync(folder);
  } catch {
    // Reported below, with the same message as a path that is not a folder.
  }
  throw usageError(`${asWritten} is not a folder; set ${next}`);
}

function foldersOfSystem(): { readonly config: string; readonly data: string } {
  const { config, data } = envPaths('mcp-troupe', { suffix: '' });
  return {
    config: fixedFolder(config, 'HOME or XDG_CONFIG_HOME'),
    data: fixedFolder(data, 'HOME or XDG_DATA_HOME'),
  };
}

/**
 * Checks that a folder from a variable is absolute. A relative one would lead into the current
 * project, whose files would then count as the user's own.
 */
function fixedFolder(folder: string, variable: string): string {
  if (path.isAbsolute(folder)) return folder;
  throw usageError(
    `${variable} gives the relative path ${folder}; set an absolute path, or use --state-dir`,
  );
}

function configFile(file: string, cwd: string): string {
  if (file === '' || file === '-') {
    throw usageError(
      'settings are read only from files, because they are watched; pass a file name to --config',
    );
  }
  // Links are resolved at each reading, because they may change.
  return path.resolve(cwd, expandHome(file));
}

/** The real path; the part that does not exist yet is appended to the real path of its parent. */
export function realOrPlanned(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(realOrPlanned(parent), path.basename(file));
  }
}

/** Shells do not expand the tilde in `--flag=~/x`. */
function expandHome(file: string): string {
  return file === '~' || file.startsWith('~/') ? path.join(homedir(), file.slice(1)) : file;
}

/**
 * Where an administrator keeps settings that apply to every user of this machine. No flag or variable
 * moves it, because a user who could move it would not be bound by it.
 */
export function managedSettingsFile(platform: NodeJS.Platform): string {
  switch (platform) {
    case 'darwin':
      return '/Library/Application Support/mcp-troupe/managed.json';
    case 'win32':
      return path.win32.join('C:\\Program Files', 'mcp-troupe', 'managed.json');
    default:
      return '/etc/mcp-troupe/managed.json';
  }
}
