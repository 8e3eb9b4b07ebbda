/** Where an entry's relative paths begin, where its process starts, and whether that folder must exist. */

import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import type { Problem, Scope } from '../../domain/settings.ts';
import type { ServerEntry } from './schema.ts';

/** The origin of a document. */
export interface DocumentOrigin {
  /** Shown in problems: a path, or "host settings". */
  readonly file: string;
  readonly scope: Scope;
  /** Absolute path of the project. */
  readonly projectRoot: string;
  /** Absolute path of the user's home. Default: the folder of the file. */
  readonly home?: string;
  /** Where entries start and relative paths begin, to compare entries of several files. Default: by scope. */
  readonly folder?: string;
  /** Whether it is an object, which has no lines; `api` always is. */
  readonly isObject?: true;
}

export interface Places {
  /** Where a local server starts unless its entry says so. */
  readonly start: string;
  /** Where relative paths begin. */
  readonly folder: string;
}

/**
 * The user's own files apply in every project, so nothing in them means a file of whichever project is
 * open unless they say so: the project may be a folder that was just cloned.
 */
export function placesOf(origin: DocumentOrigin): Places {
  const { file, scope, projectRoot, home, folder: given } = origin;
  const isOwn = scope === 'user' || scope === 'managed';
  // A file of the project that the user names, such as `.vscode/mcp.json`, is about the project.
  const isElsewhere = scope === 'config' && !isBelow(file, projectRoot);
  // A plugin brings programs beside its file. Without a file, it has no folder of its own.
  const isOfPlugin = scope === 'plugin' && path.isAbsolute(file);
  const isBeside = isOwn || isElsewhere || isOfPlugin;
  const folder = given ?? (isBeside ? path.dirname(file) : projectRoot);
  if (isOfPlugin) return { start: projectRoot, folder };
  return { start: isOwn ? (given ?? home ?? folder) : folder, folder };
}

function isBelow(file: string, folder: string): boolean {
  const way = path.relative(folder, file);
  return way.split(path.sep)[0] !== '..' && !path.isAbsolute(way);
}

/** Stands for the path of the project folder. */
export const projectWord = '${workspaceFolder}';

/** How to write a path that begins in the project folder. */
export function projectPath(way: string): string {
  return `${projectWord}/${way}`.replace(/\/(?:\.\/?)?$|\/\.(?=\/)/u, '');
}

/** Replaces the word for the project folder in what describes a process; in commands that give values, see `entryValuesOf`. */
export function withProject(entry: ServerEntry, projectRoot: string): ServerEntry {
  const { command, args = [], cwd, envFile, env = {} } = entry;
  const texts = [command, ...args, cwd, envFile, ...Object.values(env)];
  const isNamed = texts.some((text) => typeof text === 'string' && text.includes(projectWord));
  if (!isNamed || entry.values === 'literal') return entry;
  // A folder's name is text, whatever it looks like.
  const project = projectRoot.replaceAll('${', '${DOLLAR:-$}{');
  const placed = (text: string): string => text.replaceAll(projectWord, () => project);
  const placedEnv = Object.entries(env).map(([name, value]) => [
    name,
    typeof value === 'string' && !value.startsWith('!') ? placed(value) : value,
  ]);
  return {
    ...entry,
    ...defined({
      command: command && placed(command),
      args: entry.args && args.map(placed),
      cwd: cwd && placed(cwd),
      envFile: envFile && placed(envFile),
      env: entry.env && Object.fromEntries(placedEnv),
    }),
  };
}

/** A folder that begins with a reference is resolved when the reference is. */
export function fromFolder(folder: string, written: string, values: ServerEntry['values']): string {
  return isFixed(written, values) ? written : path.resolve(folder, written);
}

/** Whether a path is the same wherever the entry stands. */
export function isFixed(written: string, values: ServerEntry['values']): boolean {
  return path.isAbsolute(written) || (written.startsWith('${') && values !== 'literal');
}

/** The folder that an entry names and that must exist. */
export interface NamedFolder {
  readonly path: string;
  readonly problemOf: (fault: FolderFault) => Problem;
}

/** @param problemHere - a problem at the entry's `cwd`, without a message */
export function namedFolderOf(
  { cwd, values, isBesideFile }: ServerEntry & { readonly isBesideFile: boolean },
  spec: ServerSpec,
  problemHere: () => Problem,
): NamedFolder | undefined {
  if (cwd === undefined || spec.type !== 'stdio') return undefined;
  if (cwd.includes('${') && values !== 'literal') return undefined;
  const shown = printableLine(spec.cwd, maxShownLength);
  const hint =
    isBesideFile && values !== 'literal'
      ? `; for the project, write "${printableLine(projectPath(cwd), maxShownLength)}"`
      : '';
  // Not its node, which would stay in memory.
  const problem = problemHere();
  return {
    path: spec.cwd,
    problemOf: (fault) => ({ ...problem, message: `${folderMessages[fault](shown)}${hint}` }),
  };
}

const maxShownLength = 200;

/** Why a folder is unusable. */
export type FolderFault = 'missing' | 'notFolder' | 'unreachable';

const folderMessages: Readonly<Record<FolderFault, (folder: string) => string>> = {
  missing: (folder) => `folder ${folder} does not exist; create it or change "cwd"`,
  notFolder: (folder) => `${folder} is not a folder; set "cwd" to the path of a folder`,
  unreachable: (folder) => `cannot read folder ${folder}; grant access or change "cwd"`,
};
