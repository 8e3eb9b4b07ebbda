import { resolve } from 'node:path';
import type { SettingsFileRef, SettingsReaderPorts } from '../../actors/settings-reader.ts';
import type { SettingsPorts } from '../../actors/settings-source.ts';
import type { TroupeOptions } from './troupe.ts';

/** Which settings a troupe reads, with every path made absolute. */
export function settingsPortsOf(
  options: TroupeOptions,
  disk: Pick<SettingsPorts, 'readFile' | 'folderExists'> = {},
): SettingsReaderPorts {
  const projectRoot = resolve(options.projectRoot ?? process.cwd());
  const files = (options.sources ?? []).map((source): SettingsFileRef => {
    const { file, scope = 'config' } = typeof source === 'string' ? { file: source } : source;
    // A folder need not bring settings; a file that was named must be there.
    return { file: resolve(projectRoot, file), scope, optional: scope === 'project' };
  });
  const { readFile, folderExists } = disk;
  return {
    files,
    projectRoot,
    ...(options.settings === undefined ? {} : { overlay: options.settings }),
    ...(readFile === undefined ? {} : { readFile }),
    ...(folderExists === undefined ? {} : { folderExists }),
  };
}
