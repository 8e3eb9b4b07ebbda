/**
 * The processes that one run of a troupe started, on disk, for the next run to read if this one
 * dies together with its guardian. It holds numbers, start times and servers' names, but no command
 * lines and no environment.
 *
 * A file is replaced atomically. A file that is incomplete or invalid never ends a process.
 */

import {
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Problem } from '../../src/domain/settings.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import { makeFolders } from '../files/file-system.ts';
import { cgroupNameOf } from './cgroups.ts';
import { endLeftovers } from './guardian.ts';
import {
  isAlive,
  type ProcessIdentity,
  type ProcessPlace,
  placeOfThisProcess,
} from './process-table.ts';

const prefix = 'processes-';
const suffix = '.json';
// Far above what names and numbers of 10,000 servers take.
const maxBytes = 4 * 1024 * 1024;

// Number 1 is never a server, and as a group it would mean every process.
const pid = z.int().min(2);
const start = z.string().regex(/^[\w:+.-]{1,64}$/u);
const runId = z.uuid();
const text = z.string().max(256);

const registrySchema = z.strictObject({
  version: z.literal(1),
  run: runId,
  place: z.strictObject({ host: text, boot: text, namespace: text }),
  // A host may well be number 1, in a container.
  owner: z.strictObject({ pid: z.int().min(1), start }),
  // Must be named after this run, because the group's members are ended.
  cgroup: z.string().max(4_096).startsWith('/').optional(),
  servers: z.array(z.strictObject({ pid, start, server: z.string() })),
});

export interface RegisteredServer extends ProcessIdentity {
  readonly server: string;
}

export interface ProcessRegistry {
  readonly version: 1;
  /** The beginning of its processes' marks. */
  readonly run: string;
  readonly place: ProcessPlace;
  readonly owner: ProcessIdentity;
  /** The run's control group, above the servers' groups; absent = there was none. */
  readonly cgroup?: string | undefined;
  readonly servers: readonly RegisteredServer[];
}

/** Where runs of a state folder are registered. */
function registryFolder(stateDir: string): string {
  return path.join(stateDir, 'run');
}

export function registryFile(stateDir: string, run: string): string {
  return path.join(registryFolder(stateDir), `${prefix}${run}${suffix}`);
}

function isRegistryFile(name: string): boolean {
  return name.startsWith(prefix) && name.endsWith(suffix);
}

/** Throws what the file system throws. */
export function writeRegistry(file: string, registry: ProcessRegistry): void {
  const folder = path.dirname(file);
  makeFolders(folder);
  const draft = `${file}.${process.pid}.tmp`;
  writeFileSync(draft, `${JSON.stringify(registry)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

export function removeRegistry(file: string): void {
  rmSync(file, { force: true });
}

/** Undefined when the file is not exactly what we write. Throws when it cannot be read. */
function readRegistry(file: string): ProcessRegistry | undefined {
  const content = readFileSync(file, 'utf8');
  if (content.length > maxBytes) return undefined;
  const { success, data } = registrySchema.safeParse(parse(content));
  if (!success || path.basename(file) !== `${prefix}${data.run}${suffix}`) return undefined;
  const { cgroup } = data;
  return cgroup === undefined || path.basename(cgroup) === cgroupNameOf(data.run)
    ? data
    : undefined;
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

// One file is left for each run that was killed together with its guardian.
const maxFiles = 256;
// A container or machine that shares the folder and has not come back in this time will not.
const foreignKeptMs = 30 * 24 * 3_600_000;

/**
 * Reads every registered run of a state folder and ends the servers of each run whose process is
 * dead. Ignores runs that are alive or belong to another machine or container. Sets damaged files
 * aside. Resolves with the problems it met. Never rejects.
 */
export async function reapEarlierRuns(
  stateDir: string,
  wallNow: () => number,
): Promise<readonly Problem[]> {
  const folder = registryFolder(stateDir);
  const here = placeOfThisProcess();
  const found = await Promise.all(
    namesIn(folder)
      .slice(0, maxFiles)
      .map((name) => reap(path.join(folder, name), here, wallNow)),
  );
  return found.flat();
}

async function reap(
  file: string,
  here: ProcessPlace,
  wallNow: () => number,
): Promise<readonly Problem[]> {
  try {
    const registry = readRegistry(file);
    if (registry === undefined) return [setAside(file)];
    switch (stateOf(registry, here)) {
      case 'alive':
        return [];
      case 'foreign':
        if (wallNow() - statSync(file).mtimeMs > foreignKeptMs) removeRegistry(file);
        return [];
      case 'earlierBoot':
        removeRegistry(file);
        return [];
      case 'dead':
        return await endServersOf(registry, file);
    }
  } catch (error) {
    // Another run was faster.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    return [
      problemOf(
        file,
        `cannot read what an earlier run left behind (${why}); let this user read it`,
      ),
    ];
  }
}

async function endServersOf(registry: ProcessRegistry, file: string): Promise<readonly Problem[]> {
  const { run, cgroup, servers } = registry;
  const orders = { mark: run, file, ...(cgroup === undefined ? {} : { cgroup }) };
  const isClean = await endLeftovers(orders, servers);
  if (isClean) return [];
  const names = registry.servers.map(({ server }) => printableLine(server, 100)).join(', ');
  return [
    problemOf(file, `processes of an earlier run could not all be ended (${names}); end them`),
  ];
}

function stateOf(
  { place, owner }: ProcessRegistry,
  here: ProcessPlace,
): 'alive' | 'dead' | 'foreign' | 'earlierBoot' {
  if (place.host !== here.host) return 'foreign';
  if (place.boot !== here.boot) return 'earlierBoot';
  if (place.namespace !== here.namespace) return 'foreign';
  return isAlive(owner) ? 'alive' : 'dead';
}

/** The damaged file is kept, so that its cause can be found. */
function setAside(file: string): Problem {
  const aside = `${file}.damaged`;
  renameSync(file, aside);
  return problemOf(
    aside,
    'the list of processes of an earlier run is damaged and was set aside; if that run left servers behind, end them, then delete this file',
  );
}

function problemOf(file: string, message: string): Problem {
  return { file, message };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter(isRegistryFile);
  } catch {
    // Nothing was ever registered.
    return [];
  }
}
