import { join, relative, resolve } from 'node:path';
import { homeFolder, realFolder } from '../../../actors/files/file-system.ts';
import { isWithin } from '../../../actors/files/path-within.ts';
import type { DockerGatewayPorts } from '../../../actors/settings/docker-gateway.ts';
import type {
  BroughtByPlugins,
  SettingsFileRef,
  SettingsReaderPorts,
} from '../../../actors/settings/last-good-settings.ts';
import {
  createValueSource,
  type ValuePorts,
  type ValueSource,
} from '../../../actors/values/source.ts';
import { defined } from '../../domain/data/defined.ts';
import type { PluginSource } from '../../domain/host/event.ts';
import type { PolicyChoice } from '../../domain/policy.ts';
import type { Scope } from '../../domain/scope.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { parsePolicyChoice } from '../../settings/policy-choice.ts';
import type { TroupeParts } from '../root-actor.ts';
import type { TroupeOptions } from '../troupe.ts';
import { withEmbedded } from './embedded-servers.ts';

/** Returns the absolute path of the project: the real one, so that approvals apply however it is spelled. */
export function projectRootOf({ projectRoot }: Pick<TroupeOptions, 'projectRoot'>): string {
  return realFolder(resolve(projectRoot ?? process.cwd()));
}

/** Returns the settings that a troupe reads, with absolute paths. */
export function settingsPortsOf(
  options: TroupeOptions,
  parts: Pick<TroupeParts, 'settings' | 'watchDocker'> = {},
  processes: DockerGatewayPorts['processes'] = () => undefined,
): SettingsReaderPorts {
  const projectRoot = projectRootOf(options);
  const { files, plugins } = foundBy(options, projectRoot);
  const { readFile, checkFolder } = parts.settings ?? {};
  const docker = parts.watchDocker?.({ projectRoot, processes });
  const { settings, servers } = options;
  const overlay = servers === undefined ? settings : withEmbedded(settings, servers);
  return {
    files,
    projectRoot,
    plugins,
    ...defined({
      home: homeFolder(options.env ?? process.env),
      overlay,
      rules: options.rules,
      docker,
      readFile,
      checkFolder,
    }),
  };
}

/** Resolves references in server settings with the host's inputs and environment. */
export function valueSourceOf(
  options: TroupeOptions,
  { clock, env }: Pick<TroupeParts, 'clock' | 'env'>,
  ports: Pick<ValuePorts, 'processes' | 'inputEvents'> & {
    /** The scope that declared a server. */
    readonly scopeOf: (server: string) => Scope;
  },
): ValueSource {
  const { inputs, headers } = options;
  const { scopeOf, ...others } = ports;
  const hostHeaders: ValuePorts['hostHeaders'] =
    headers &&
    (({ server, url, reason }) => headers({ name: server, url, scope: scopeOf(server) }, reason));
  const projectRoot = projectRootOf(options);
  return createValueSource({ clock, env, projectRoot, ask: inputs, hostHeaders, ...others });
}

/** Returns the files and plugins that are read in addition to the host's own settings. */
function foundBy(
  options: TroupeOptions,
  projectRoot: string,
): Required<Pick<SettingsReaderPorts, 'files' | 'plugins'>> {
  const isBare = options.bare === true;
  const named = (options.sources ?? []).map((source): SettingsFileRef => {
    const { file, scope = 'config' } = typeof source === 'string' ? { file: source } : source;
    // Only a file with the scope `config` must exist.
    return { file: fileIn(file, options, projectRoot), scope, optional: scope !== 'config' };
  });
  const { files, plugins } = broughtBy(options.plugins ?? [], options, projectRoot);
  const own = named.filter(({ scope }) => !isBare || scope === 'managed' || scope === 'config');
  return { files: [...own, ...files], plugins };
}

/** Returns what these plugins bring; nothing to a bare troupe. */
export function broughtBy(
  plugins: readonly PluginSource[],
  { bare }: Pick<TroupeOptions, 'bare'>,
  projectRoot: string,
): BroughtByPlugins {
  const present = bare === true ? [] : plugins;
  return {
    files: present.flatMap((it): readonly SettingsFileRef[] => {
      if (it.file === undefined) return [];
      return [{ file: resolve(projectRoot, it.file), scope: 'plugin', plugin: it.plugin }];
    }),
    plugins: present.flatMap(({ plugin, settings: brought }) =>
      brought === undefined ? [] : [{ plugin, settings: brought }],
    ),
  };
}

/**
 * Resolves a file's path; a path below the project folder gets that folder's real path, however it
 * is spelled.
 */
function fileIn(
  file: string,
  { projectRoot: written }: TroupeOptions,
  projectRoot: string,
): string {
  const place = resolve(projectRoot, file);
  const root = resolve(written ?? process.cwd());
  return isWithin(place, root) ? join(projectRoot, relative(root, place)) : place;
}

/**
 * Reads the host's `policy` option by the same rules as the settings.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the key.
 */
export function hostPolicy(policy: unknown): PolicyChoice {
  const parsed = parsePolicyChoice(policy ?? 'default', 'troupe');
  if ('choice' in parsed) return parsed.choice;
  const { path, message } = parsed.fault;
  const key = ['policy', ...path].join('.');
  throw argumentsError(`The option "${key}" of createTroupe is wrong: ${message}.`);
}
