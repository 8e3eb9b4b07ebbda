import type { MergedSettings } from '../config/merge-settings.ts';
import type { StdioSpec } from '../domain/server-spec.ts';
import { type DesiredServer, isFolderScope } from '../domain/settings.ts';

/**
 * Resolves a command at present; undefined when it leads nowhere or cannot be resolved.
 *
 * @param within - real path of the only folder that may be touched; absent = no limit
 */
export type FindExecutable = (spec: StdioSpec, within?: string) => Promise<string | undefined>;

/** Returns the project folder for a server that it brings; its paths outside are not looked up. */
export function confinesOf({ source }: DesiredServer, projectRoot: string): string | undefined {
  return isFolderScope(source.scope) ? projectRoot : undefined;
}

/** Reads the names that an entry's `envFile` sets at present; undefined when it cannot be used. */
export type ReadEnvFileNames = (spec: StdioSpec) => Promise<readonly string[] | undefined>;

/** Adds to each gated server the names that its `envFile` sets. */
export async function withEnvFileNames<Reading extends MergedSettings>(
  reading: Reading,
  namesOf: ReadEnvFileNames | undefined,
): Promise<Reading> {
  if (namesOf === undefined) return reading;
  const { settings, specs } = reading;
  const lookUp = async (desired: DesiredServer): Promise<DesiredServer> => {
    const spec = desired.gated ? specs.get(desired.generation) : undefined;
    if (spec?.type !== 'stdio' || spec.values?.envFile === undefined) return desired;
    const envFileNames = await namesOf(spec);
    return envFileNames === undefined ? desired : { ...desired, envFileNames };
  };
  const servers = await Promise.all(settings.servers.map(lookUp));
  return { ...reading, settings: { ...settings, servers } };
}

/** The same settings; gated servers name the program that their command leads to. */
export async function withExecutables<Reading extends MergedSettings>(
  reading: Reading,
  find: FindExecutable | undefined,
  projectRoot: string,
): Promise<Reading> {
  if (find === undefined) return reading;
  const { settings, specs } = reading;
  const lookUp = async (desired: DesiredServer): Promise<DesiredServer> => {
    const spec = desired.gated ? specs.get(desired.generation) : undefined;
    if (spec?.type !== 'stdio') return desired;
    const executable = await find(spec, confinesOf(desired, projectRoot));
    return executable === undefined ? desired : { ...desired, executable };
  };
  const servers = await Promise.all(settings.servers.map(lookUp));
  return { ...reading, settings: { ...settings, servers } };
}
