import { createHmac, randomBytes } from 'node:crypto';
import { withinTime } from '../../actors/host/time-limit.ts';
import type { SettingsReader } from '../../actors/settings/last-good-settings.ts';
import type { FolderLookup, FolderScope, SeenFiles } from '../../actors/values/folder-files.ts';
import type { Clock } from '../domain/clock.ts';
import { defined } from '../domain/data/defined.ts';
import type { StdioSpec } from '../domain/server-spec.ts';
import { type DesiredServer, isFolderScope } from '../domain/settings.ts';
import type { MergedSettings, Specs } from '../settings/merge-settings.ts';
import type { FindExecutable } from './replaceable-parts.ts';

/**
 * Returns the project folder for a server that it declares; the server's paths outside it are not
 * looked up.
 */
export function confinesOf({ source }: DesiredServer, projectRoot: string): string | undefined {
  return isFolderScope(source.scope) ? projectRoot : undefined;
}

/** Reads the names that an entry's `envFile` currently sets; undefined if it cannot be used. */
export type ReadEnvFileNames = (spec: StdioSpec) => Promise<readonly string[] | undefined>;

/** Adds to each gated server the names that its `envFile` sets. */
export async function withEnvFileNames<Reading extends MergedSettings>(
  reading: Reading,
  namesOf: ReadEnvFileNames | undefined,
): Promise<Reading> {
  if (namesOf === undefined) return reading;
  return withGated(reading, async (desired, spec) => {
    if (spec.values?.envFile === undefined) return desired;
    return { ...desired, ...defined({ envFileNames: await namesOf(spec) }) };
  });
}

/** Adds to each gated server the program that its command resolves to. */
export async function withExecutables<Reading extends MergedSettings>(
  reading: Reading,
  find: FindExecutable | undefined,
  projectRoot: string,
): Promise<Reading> {
  if (find === undefined) return reading;
  return withGated(reading, async (desired, spec) => {
    const executable = await find(spec, confinesOf(desired, projectRoot));
    return { ...desired, ...defined({ executable }) };
  });
}

/** Returns which folders a server's package runner is looked up in. */
export function folderScopeOf(desired: DesiredServer, projectRoot: string): FolderScope {
  return { projectRoot, isConfined: isFolderScope(desired.source.scope) };
}

/**
 * Returns whether the files of a server's folder need the user's approval: those of a gated server, and
 * of any other unless its policy allows them.
 */
export function isFolderApproved({ gated, policy }: DesiredServer): boolean {
  return gated || policy.approval.folderFiles === 'ask';
}

/** Adds to each server for which a package runner starts in the project the files that decide what it runs. */
export async function withFolderFiles<Reading extends MergedSettings>(
  reading: Reading,
  lookup: FolderLookup | undefined,
  projectRoot: string,
): Promise<Reading> {
  if (lookup === undefined) return reading;
  const { settings, specs } = reading;
  const seen: SeenFiles = new Map();
  const found = new Map<DesiredServer, DesiredServer>();
  const lookUp = async (desired: DesiredServer): Promise<void> => {
    const spec = specs.get(desired.generation);
    if (spec === undefined || !lookup.concerns(spec)) return;
    const files = await lookup.read(spec, folderScopeOf(desired, projectRoot), seen);
    if (files.length === 0) return;
    found.set(desired, { ...desired, folderFiles: files });
  };
  await Promise.all(settings.servers.filter(isFolderApproved).map(lookUp));
  if (found.size === 0) return reading;
  const servers = settings.servers.map((desired) => found.get(desired) ?? desired);
  return { ...reading, settings: { ...settings, servers } };
}

/** Replaces each gated server that runs a program. */
async function withGated<Reading extends MergedSettings>(
  reading: Reading,
  lookUp: (desired: DesiredServer, spec: StdioSpec) => Promise<DesiredServer>,
): Promise<Reading> {
  const { settings, specs } = reading;
  // Nearly always none or few of many.
  if (!settings.servers.some(({ gated }) => gated)) return reading;
  const servers = settings.servers.map(async (desired) => {
    const spec = desired.gated ? specs.get(desired.generation) : undefined;
    return spec?.type === 'stdio' ? lookUp(desired, spec) : desired;
  });
  return { ...reading, settings: { ...settings, servers: await Promise.all(servers) } };
}

// One second: an unreachable network folder must not delay the settings any longer.
const loadMs = 1_000;

/**
 * Wraps a reader so that generations reveal nothing to anyone without the key.
 *
 * A generation is shown in every status and record. Without a key, it is the hash of a spec
 * including its literal secrets, which is equal on every machine for equal secrets and lets anyone
 * test a guess. Approvals still bind to the plain hash, which is not shown.
 *
 * @param load - loads the key; if it takes too long, a random key is used for the whole run
 */
export function keyedReader(
  reader: SettingsReader,
  load: (() => Promise<Buffer>) | undefined,
  clock: Clock,
): SettingsReader {
  if (load === undefined) return reader;
  let key: Promise<Buffer> | undefined;
  // Unchanged settings keep their identity, by which passes compare.
  const keyed = new WeakMap<DesiredServer, DesiredServer>();
  return {
    ...reader,
    async read(now, scope) {
      const reading = await reader.read(now, scope);
      key ??= withinTime(clock, loadMs, load()).then((known) => known ?? randomBytes(32));
      const present = await key;
      const servers = reading.settings.servers.map((desired) => {
        const known = keyed.get(desired);
        if (known !== undefined) return known;
        const made = keyedWith(present, desired);
        keyed.set(desired, made);
        return made;
      });
      const specs = keyedSpecs(servers, reading.specs);
      return { ...reading, settings: { ...reading.settings, servers }, specs };
    },
  };
}

function keyedWith(key: Buffer, desired: DesiredServer): DesiredServer {
  const { name, generation: specDigest, ...rest } = desired;
  const generation = createHmac('sha256', key).update(specDigest).digest('hex');
  // The name comes first, as in `withPolicy`.
  return { name, generation, specDigest, ...rest };
}

/** Finds specs by keyed generations. The map is built on demand: most edits start no server. */
function keyedSpecs(servers: readonly DesiredServer[], plain: Specs): Specs {
  let digests: ReadonlyMap<string, string> | undefined;
  return {
    get: (generation) => {
      digests ??= new Map(servers.map((it) => [it.generation, it.specDigest ?? it.generation]));
      const digest = digests.get(generation);
      return digest === undefined ? undefined : plain.get(digest);
    },
    size: plain.size,
    values: () => plain.values(),
  };
}
