/**
 * Looks up the files of a folder that decide what a package runner runs there: one that starts a server,
 * or one whose output is a value.
 */

import { createHash } from 'node:crypto';
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { ServerSpec, StdioSpec } from '../../src/domain/server-spec.ts';
import type { FolderFile } from '../../src/domain/settings.ts';
import {
  decidingPart,
  type FolderReads,
  folderReadsOf,
} from '../../src/policies/approvals/folder-code.ts';
import { expandVariables, type Variables } from '../../src/policies/expand-variables.ts';
import { codeOf, homeFolder, readPlain, realFolder } from '../files/file-system.ts';
import { isWithin, pathWithin, type ResolvedPath } from '../files/path-within.ts';
import { SettingError } from './setting-error.ts';

/** Looks up files with the variables of one troupe. */
export interface FolderLookup {
  /** Returns whether a package runner starts a server or gives it a value. */
  concerns(spec: ServerSpec): boolean;
  read(spec: ServerSpec, scope: FolderScope, seen?: SeenFiles): ReturnType<typeof folderFilesOf>;
  /** Lists the paths at which such files may appear. */
  places(spec: ServerSpec, scope: FolderScope): readonly string[];
}

export function createFolderLookup(variables: Variables): FolderLookup {
  // Every reading asks about every server, and nearly all specs are those of the last.
  const known = new WeakMap<ServerSpec, boolean>();
  return {
    concerns(spec) {
      const hasRunner = known.get(spec) ?? runsOf(spec, variables, '').length > 0;
      known.set(spec, hasRunner);
      return hasRunner;
    },
    read: (spec, scope, seen) => folderFilesOf(spec, variables, scope, seen),
    places: (spec, scope) => folderPlacesOf(spec, variables, scope),
  };
}

/** Which folders count. */
export interface FolderScope {
  /** Real path of the project. */
  readonly projectRoot: string;
  /** Whether the project brings the entry: nothing outside the project is then looked at. */
  readonly isConfined: boolean;
}

/** Digests that several servers of one reading share, by path. */
export type SeenFiles = Map<string, Promise<string | undefined>>;

// A lock file of a large project has about two megabytes.
const maxBytes = 4 * 1024 * 1024;
// More than the programs and the modules of a large project.
const maxNames = 2_000;
const maxModules = 500;

/**
 * Digests every such file that exists, sorted by path; none if no command is a package runner, or none
 * starts in the project. Never rejects.
 */
async function folderFilesOf(
  spec: ServerSpec,
  variables: Variables,
  scope: FolderScope,
  seen: SeenFiles = new Map(),
): Promise<readonly FolderFile[]> {
  const found = new Map<string, string>();
  let base: string | undefined;
  for (const { reads, starts } of runsOf(spec, variables, scope.projectRoot)) {
    const places = await Promise.all(starts.map((start) => placeOf(start, scope)));
    const from = places[0] ?? starts[0];
    base ??= from;
    for (const folder of places) {
      if (folder === undefined) continue;
      for (const [file, digest] of await digestsIn(folder, { reads, scope, variables, seen })) {
        const shown = path.relative(base, file).replaceAll(path.sep, '/');
        const known = found.get(shown);
        // Two runners may read different parts of one file.
        found.set(shown, known === undefined || known === digest ? digest : hashOf(known, digest));
      }
    }
  }
  return [...found]
    .map(([place, digest]) => ({ path: place, digest }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Digests what a runner reads of one folder and of those above it, by absolute path. */
async function digestsIn(
  folder: string,
  {
    reads,
    scope,
    variables,
    seen,
  }: {
    readonly reads: FolderReads;
    readonly scope: FolderScope;
    readonly variables: Variables;
    readonly seen: SeenFiles;
  },
): Promise<ReadonlyMap<string, string>> {
  // A link in the project is never followed out of it, also for the user's own servers.
  const confinesOf = (place: string): string | undefined =>
    scope.isConfined || isWithin(place, scope.projectRoot) ? scope.projectRoot : undefined;
  const modules = reads.hasModules ? await modulesIn(folder, confinesOf(folder)) : [];
  const found = new Map(modules.map((file) => [file, 'module']));
  for (const place of filesOf(folder, reads, scope, variables)) {
    const { file, name } = place;
    const within = confinesOf(file);
    const key = JSON.stringify([within, file, name === manifest ? reads.manifestKeys : name]);
    const reading = seen.get(key) ?? digestAt(place, reads, within);
    seen.set(key, reading);
    const digest = await reading;
    if (digest !== undefined) found.set(file, digest);
  }
  return found;
}

const manifest = 'package.json';

function folderPlacesOf(
  spec: ServerSpec,
  variables: Variables,
  scope: FolderScope,
): readonly string[] {
  return runsOf(spec, variables, scope.projectRoot).flatMap(({ reads, starts }) =>
    starts
      .filter((start) => isWithin(start, scope.projectRoot))
      .flatMap((start) => filesOf(start, reads, scope, variables).map(({ file }) => file)),
  );
}

/** @throws SettingError if what decides in the folder is not what was approved */
export async function assertFolderFiles(
  spec: ServerSpec,
  variables: Variables,
  { approved, ...scope }: FolderScope & { readonly approved: readonly FolderFile[] },
): Promise<void> {
  const found = await folderFilesOf(spec, variables, scope);
  const difference = differenceOf(found, approved);
  if (difference === undefined) return;
  const runners = runsOf(spec, variables, scope.projectRoot).map(({ runner }) => runner);
  const shown = [...new Set(runners)].map((runner) => `"${printableLine(runner, 200)}"`);
  throw new SettingError(
    `The folder of ${shown.join(' and ')} ${difference}; nothing was started there.`,
  );
}

/** Describes how files differ from the approved ones, as the end of a sentence about their folder. */
function differenceOf(
  found: readonly FolderFile[],
  approved: readonly FolderFile[],
): string | undefined {
  const left = new Map(approved.map(({ path: place, digest }) => [place, digest]));
  for (const { path: place, digest } of found) {
    const known = left.get(place);
    left.delete(place);
    const shown = printableLine(place, 200);
    if (known === undefined) return `has ${shown}, which was not approved`;
    if (known !== digest) return `has ${shown}, which changed since it was approved`;
  }
  const [gone] = left.keys();
  if (gone === undefined) return undefined;
  return `no longer has ${printableLine(gone, 200)}, as it was approved`;
}

/** A package runner, and the folders in which it may look. */
interface Run {
  readonly runner: string;
  readonly reads: FolderReads;
  readonly starts: readonly [string, ...string[]];
}

function runsOf(spec: ServerSpec, variables: Variables, projectRoot: string): readonly Run[] {
  if (spec.type === 'memory') return [];
  const { commands = [], commandFolder = projectRoot } = spec.values ?? {};
  return [
    ...(spec.type === 'stdio' ? runOf(lineOf(spec, variables)) : []),
    ...commands.flatMap(({ words }) => runOf({ words, folder: commandFolder })),
  ];
}

interface Line {
  readonly words: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly folder: string;
}

function lineOf({ command, args, cwd, env, values }: StdioSpec, variables: Variables): Line {
  const expanded = (text: string): string => {
    const expansion = expandVariables(text, variables, { literal: values?.literal });
    return 'value' in expansion ? expansion.value : text;
  };
  const own = Object.entries(env).map(([name, text]) => [name, expanded(text)] as const);
  return {
    words: [command, ...args].map(expanded),
    env: Object.fromEntries(own),
    folder: expanded(cwd),
  };
}

function runOf({ words: [runner = '', ...args], env, folder }: Line): readonly Run[] {
  const reads = folderReadsOf(runner, args, env);
  if (reads === undefined) return [];
  const start = path.resolve(folder);
  const others = reads.folders.map((other) => path.resolve(start, other));
  return [{ runner, reads, starts: [start, ...others] }];
}

/** Returns a start folder without links; undefined if it is not in the project. */
async function placeOf(
  start: string,
  { projectRoot, isConfined }: FolderScope,
): Promise<string | undefined> {
  if (isConfined) {
    const { place, isInside } = await pathWithin(start, projectRoot);
    return isInside ? place : undefined;
  }
  const place = await realpath(start).catch(() => start);
  return isWithin(place, projectRoot) ? place : undefined;
}

/** A file, and its path as a runner knows it, from one of the folders that it searches. */
interface Place {
  readonly file: string;
  readonly name: string;
}

function filesOf(
  start: string,
  { upward, here }: FolderReads,
  scope: FolderScope,
  variables: Variables,
): readonly Place[] {
  const below = (folder: string) => (name: string) => ({ file: path.join(folder, name), name });
  const folders = foldersAbove(start, scope, variables);
  return [...here.map(below(start)), ...folders.flatMap((folder) => upward.map(below(folder)))];
}

/** Lists a folder and those above it, as runners search them. What is in the home folder is the user's own. */
function foldersAbove(
  start: string,
  { projectRoot, isConfined }: FolderScope,
  variables: Variables,
): readonly string[] {
  const named = homeFolder(variables);
  const home = named === undefined ? undefined : realFolder(named);
  const isHomeTheirs = home !== undefined && isWithin(home, projectRoot) && home !== projectRoot;
  const folders: string[] = [];
  for (let folder = start; folder !== home || isHomeTheirs; folder = path.dirname(folder)) {
    folders.push(folder);
    if (folder === path.dirname(folder) || (isConfined && folder === projectRoot)) break;
  }
  return folders;
}

/** Lists the modules that Python would find in a folder before all others. */
async function modulesIn(folder: string, within: string | undefined): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = entries.map(async (entry): Promise<readonly string[]> => {
    const file = path.join(folder, entry.name);
    if (moduleFile.test(entry.name)) return [file];
    const mayBePackage = entry.isDirectory() || entry.isSymbolicLink();
    if (!mayBePackage || !moduleFolder.test(entry.name)) return [];
    if (within !== undefined && !(await pathWithin(file, within)).isInside) return [file];
    const marks = ['__init__.py', '__init__.pyc'].map((name) =>
      digestAt({ file: path.join(file, name), name }, {}, within),
    );
    const isPackage = (await Promise.all(marks)).some((mark) => mark !== undefined);
    return isPackage ? [file] : [];
  });
  return (await Promise.all(found)).flat().sort().slice(0, maxModules);
}

// `python -m` takes names with a hyphen, which `import` does not.
const moduleFolder = /^[\p{L}_][\p{L}\p{N}_-]*$/u;
// An extension names its platform before its ending.
const moduleFile = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\w-]+)?\.(?:py[cdw]?|so)$/u;

/**
 * Digests what decides in a file; undefined if it is missing or nothing in it does.
 *
 * @param within - outside this folder nothing is read, and a link counts by where it leads
 */
async function digestAt(
  { file, name }: Place,
  { manifestKeys }: Pick<FolderReads, 'manifestKeys'>,
  within: string | undefined,
): Promise<string | undefined> {
  try {
    const { place, isInside } = await placeWithin(file, within);
    if (!isInside) {
      const above = await placeWithin(path.dirname(file), within);
      return above.isInside ? hashOf(`link ${place}`) : undefined;
    }
    const found = await (within === undefined ? stat(place) : lstat(place));
    if (found.isDirectory()) return name.endsWith('/') ? await programsDigest(place) : 'folder';
    const read = await readPlain(place, maxBytes, { followsLink: within === undefined });
    if (read === undefined) return 'special';
    const { bytes } = read;
    if (bytes.length > maxBytes) return hashOf(bytes, `${found.size}`);
    if (manifestKeys === undefined || name !== manifest) return hashOf(bytes);
    const part = decidingPart(bytes.toString('utf8'), manifestKeys);
    return part === undefined ? undefined : hashOf(part);
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : `unreadable ${code}`;
  }
}

async function placeWithin(file: string, within: string | undefined): Promise<ResolvedPath> {
  return within === undefined ? { place: file, isInside: true } : pathWithin(file, within);
}

/** Digests the names in a folder, where its links lead, and its files; undefined if it is empty. */
async function programsDigest(folder: string): Promise<string | undefined> {
  const names = (await readdir(folder)).sort();
  const entries: string[] = [`${names.length}`];
  for (const name of names.slice(0, maxNames)) {
    const file = path.join(folder, name);
    const found = await lstat(file);
    const isLink = found.isSymbolicLink();
    const read = found.isFile()
      ? await readPlain(file, maxProgram, { followsLink: false })
      : undefined;
    entries.push(name, isLink ? await readlink(file) : hashOf(read?.bytes ?? '', `${found.size}`));
  }
  return names.length === 0 ? undefined : hashOf(JSON.stringify(entries));
}

// Scripts that start a package have about a kilobyte. More is only compared by size.
const maxProgram = 64 * 1024;

function hashOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}
