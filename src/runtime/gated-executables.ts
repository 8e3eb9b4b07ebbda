import type { MergedSettings } from '../config/merge-settings.ts';
import type { StdioSpec } from '../domain/server-spec.ts';
import { type DesiredServer, isFolderScope } from '../domain/settings.ts';

/**
 * Says what a command leads to at present; undefined when that is nothing, or cannot be known.
 *
 * @param within - real path of the folder beside which nothing may be touched; absent = anything may be
 */
export type FindExecutable = (spec: StdioSpec, within?: string) => Promise<string | undefined>;

/** The project folder, for a server that it brings: what that names elsewhere is not looked up. */
export function confinesOf({ source }: DesiredServer, projectRoot: string): string | undefined {
  return isFolderScope(source.scope) ? projectRoot : undefined;
}

/** Reads the names that the `envFile` of an entry sets at present; undefined when it cannot be used. */
export type ReadEnvFileNames = (spec: StdioSpec) => Promise<readonly string[] | undefined>;

/** The same settings; gated servers name the variables that their `envFile` sets. */
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
