import { resolve } from 'node:path';
import type { DockerGatewayPorts } from '../../actors/docker-gateway.ts';
import { realFolder } from '../../actors/real-folder.ts';
import type { SettingsFileRef, SettingsReaderPorts } from '../../actors/settings-reader.ts';
import { createValueSource, type ValuePorts, type ValueSource } from '../../actors/value-source.ts';
import { withEmbedded } from './embedded-servers.ts';
import type { TroupeParts } from './root-actor.ts';
import type { TroupeOptions } from './troupe.ts';

/** Which settings a troupe reads, with every path made absolute. */
export function settingsPortsOf(
  options: TroupeOptions,
  parts: Pick<TroupeParts, 'settings' | 'watchDocker'> = {},
  processes: DockerGatewayPorts['processes'] = () => undefined,
): SettingsReaderPorts {
  // However it is spelled: what was approved in a folder is approved in this one.
  const projectRoot = realFolder(resolve(options.projectRoot ?? process.cwd()));
  const files = (options.sources ?? []).map((source): SettingsFileRef => {
    const { file, scope = 'config' } = typeof source === 'string' ? { file: source } : source;
    // A folder need not bring settings; a file that was named must be there.
    return { file: resolve(projectRoot, file), scope, optional: scope === 'project' };
  });
  const { readFile, lookAtFolder } = parts.settings ?? {};
  const docker = parts.watchDocker?.({ projectRoot, processes });
  const { settings, servers } = options;
  const overlay = servers === undefined ? settings : withEmbedded(settings, servers);
  return {
    files,
    projectRoot,
    ...(overlay === undefined ? {} : { overlay }),
    ...(docker === undefined ? {} : { docker }),
    ...(readFile === undefined ? {} : { readFile }),
    ...(lookAtFolder === undefined ? {} : { lookAtFolder }),
  };
}

/** Finds what the values of servers refer to, with the means of this host. */
export function valueSourceOf(
  { inputs, projectRoot }: TroupeOptions,
  { clock, env }: Pick<TroupeParts, 'clock' | 'env'>,
  processes: ValuePorts['processes'],
): ValueSource {
  const root = resolve(projectRoot ?? process.cwd());
  return createValueSource({ clock, env, projectRoot: root, ask: inputs, processes });
}
