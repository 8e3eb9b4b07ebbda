/**
 * Registers each run's processes on disk, so that the next run can end them if this one dies
 * together with its guardian. A registry contains process ids, start times and server names, but no
 * command lines and no environment.
 *
 * A registry is replaced atomically. An incomplete or invalid one never ends a process.
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
import { parsedJson } from '../../src/domain/data/parsed-json.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Problem } from '../../src/domain/settings.ts';
import { codeOf, makeFolders } from '../files/file-system.ts';
import { cgroupNameOf } from './cgroups.ts';
import { endLeftovers } from './guardian.ts';
import { isAlive, type ProcessPlace, placeOfThisProcess } from './process-table.ts';

const prefix = 'processes-';
const suffix = '.json';
// Far more than the names and numbers of 10,000 servers need.
const maxBytes = 4 * 1024 * 1024;

// Process 1 is never a server, and signalling group 1 would reach every process.
const pid = z.int().min(2);
const start = z.string().regex(/^[\w:+.-]{1,64}$/u);
const text = z.string().max(256);

const registrySchema = z.strictObject({
  version: z.literal(1),
  /** Prefix of the process marks. */
  run: z.uuid(),
  place: z.strictObject({ host: text, boot: text, namespace: text }),
  // In a container, process 1 may be the host.
  owner: z.strictObject({ pid: z.int().min(1), start }),
  // The run's control group, which contains those of its servers. Must be named after this run,
  // because its members are ended.
  cgroup: z.string().max(4_096).startsWith('/').optional(),
  servers: z.array(z.strictObject({ pid, start, server: z.string() })),
});

export type ProcessRegistry = z.infer<typeof registrySchema>;

/** Returns the folder in which a state folder's runs are registered. */
function registryFolder(stateDir: string): string {
  return path.join(stateDir, 'run');
}

export function registryFile(stateDir: string, run: string): string {
  return path.join(registryFolder(stateDir), `${prefix}${run}${suffix}`);
}

/** Throws file-system errors. */
export function writeRegistry(file: string, registry: ProcessRegistry): void {
  makeFolders(path.dirname(file));
  const draft = `${file}.${process.pid}.tmp`;
  writeFileSync(draft, `${JSON.stringify(registry)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, file);
}

export function removeRegistry(file: string): void {
  rmSync(file, { force: true });
}

/**
 * Reads a registry; returns undefined unless the file is exactly what we write. Throws if it cannot
 * be read.
 */
function readRegistry(file: string): ProcessRegistry | undefined {
  const content = readFileSync(file, 'utf8');
  if (content.length > maxBytes) return undefined;
  const { success, data } = registrySchema.safeParse(parsedJson(content));
  if (!success || path.basename(file) !== `${prefix}${data.run}${suffix}`) return undefined;
  const { cgroup } = data;
  return cgroup === undefined || path.basename(cgroup) === cgroupNameOf(data.run)
    ? data
    : undefined;
}

// Each run that is killed together with its guardian leaves one file.
const maxFiles = 256;
// A container or machine that shares the folder and has been away this long will not return.
const foreignKeptMs = 30 * 24 * 3_600_000;

/**
 * Reads every run registered in a state folder and ends the servers of each run whose process is
 * dead. Ignores runs that are alive or belong to another machine or container. Sets damaged files
 * aside. Resolves with the problems it encountered. Never rejects.
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
    const { place, owner } = registry;
    const isEarlierBoot = place.host === here.host && place.boot !== here.boot;
    const isHere = place.host === here.host && place.namespace === here.namespace;
    const isExpired = wallNow() - statSync(file).mtimeMs > foreignKeptMs;
    if (isEarlierBoot || (!isHere && isExpired)) removeRegistry(file);
    if (isEarlierBoot || !isHere || isAlive(owner)) return [];
    return await endServersOf(registry, file);
  } catch (error) {
    const code = codeOf(error);
    // Another run removed it first.
    if (code === 'ENOENT') return [];
    const message = `cannot read what an earlier run left behind (${code}); let this user read it`;
    return [{ file, message }];
  }
}

async function endServersOf(
  { run, cgroup, servers }: ProcessRegistry,
  file: string,
): Promise<readonly Problem[]> {
  if (await endLeftovers({ mark: run, file, cgroup }, servers)) return [];
  const names = servers.map(({ server }) => printableLine(server, 100)).join(', ');
  const message = `processes of an earlier run could not all be ended (${names}); end them`;
  return [{ file, message }];
}

/** Keeps the damaged file, so that the cause can be found. */
function setAside(file: string): Problem {
  const aside = `${file}.damaged`;
  renameSync(file, aside);
  const message =
    'the list of processes of an earlier run is damaged and was set aside; if that run left servers behind, end them, then delete this file';
  return { file: aside, message };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.startsWith(prefix) && name.endsWith(suffix));
  } catch {
    // No run has ever been registered.
    return [];
  }
}
