/**
 * The processes that one run of a troupe started, on disk, for the next run to read if this one
 * dies together with its guardian. It holds numbers, start times and servers' names, but no command
 * lines and no environment.
 *
 * A file is replaced atomically. A file that is incomplete or invalid never ends a process.
 */

import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { z } from 'zod';
import { makeFolders } from '../files/make-folders.ts';
import { cgroupNameOf } from './cgroups.ts';
import type { ProcessIdentity, ProcessPlace } from './identity.ts';

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
export function registryFolder(stateDir: string): string {
  return path.join(stateDir, 'run');
}

export function registryFile(stateDir: string, run: string): string {
  return path.join(registryFolder(stateDir), `${prefix}${run}${suffix}`);
}

export function isRegistryFile(name: string): boolean {
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
export function readRegistry(file: string): ProcessRegistry | undefined {
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
