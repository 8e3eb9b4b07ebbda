/**
 * Ends what earlier runs left behind: reads every registered run of a state folder and ends the
 * servers of those whose process is dead. A run that is alive, or that belongs to another machine
 * or container, is not touched. An unreadable file is set aside and reported.
 */

import { readdirSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';

import type { Problem } from '../../src/domain/settings.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import { endLeftovers } from './guardian.ts';
import { isAlive, type ProcessPlace, placeOfThisProcess } from './identity.ts';
import {
  isRegistryFile,
  type ProcessRegistry,
  readRegistry,
  registryFolder,
  removeRegistry,
} from './registry.ts';

// One file is left for each run that was killed together with its guardian.
const maxFiles = 256;
// A container or machine that shares the folder and has not come back in this time will not.
const foreignKeptMs = 30 * 24 * 3_600_000;

/** Resolves with what went wrong once all are done. Never rejects. */
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
