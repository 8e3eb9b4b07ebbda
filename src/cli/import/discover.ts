/** Finds the settings files of all known programs that hold MCP servers. */

import path from 'node:path';
import { homeFolder } from '../../../actors/files/file-system.ts';
import { readSettingsFile } from '../../../actors/settings/file.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { convertSettings } from '../../settings/formats/convert-settings.ts';
import { readAnyTree } from '../../settings/formats/settings-language.ts';
import { folderText, ownText } from '../../settings/text-bounds.ts';
import type { CliSession } from '../command.ts';
import { realOrPlanned, sourcesOf } from '../launch.ts';
import { isOfProject } from '../settings/target.ts';
import type { ImportSource } from './plan.ts';
import { type PlaceFacts, placesOf, programNames } from './program-places.ts';

export const nothingFound =
  'found no MCP servers in the settings of other programs; add one with: troupe add NAME -- COMMAND';

export function placeFactsOf({ launch, host }: Pick<CliSession, 'launch' | 'host'>): PlaceFacts {
  const home = homeFolder(host.env) ?? path.resolve('/');
  const { projectRoot } = launch;
  return { platform: process.platform, home, env: host.env, projectRoot };
}

export interface Discovery {
  readonly sources: readonly ImportSource[];
  /** Whether every file could be read. */
  readonly isWhole: boolean;
}

/**
 * Reads every file of a known program that has servers, except those that a troupe reads anyway. Notes those that
 * cannot be read.
 */
export async function discoverSources(session: CliSession): Promise<Discovery> {
  const facts = placeFactsOf(session);
  const { projectRoot } = facts;
  const own = new Set(sourcesOf(session.launch).map(({ file }) => realOrPlanned(file)));
  const found: ImportSource[] = [];
  let isWhole = true;
  const note = (file: string, message: string): void => {
    isWhole = false;
    session.output.note(printableLine(`skipped ${file}: ${message}`, 1_000));
  };
  for (const program of programNames) {
    for (const file of placesOf(program, facts)) {
      if (own.has(realOrPlanned(file))) continue;
      // Before approval, a project's file may cost little, and a link may not lead out of the project.
      const isTheirs = await isOfProject(file, projectRoot);
      const reading = await readSettingsFile(file, isTheirs ? projectRoot : undefined);
      if ('message' in reading) note(file, reading.message);
      if (!('text' in reading)) continue;
      const tree = await readAnyTree({
        file,
        text: reading.text,
        bounds: isTheirs ? folderText : ownText,
      });
      if ('fault' in tree) {
        note(`${file}:${tree.fault.line}`, tree.fault.message);
        continue;
      }
      const conversion = convertSettings(tree.root, { projectRoot, program, file });
      if (conversion === undefined) continue;
      if ('fault' in conversion) note(`${file}:${conversion.fault.line}`, conversion.fault.message);
      else if (conversion.servers.length > 0) found.push({ file, text: reading.text, program });
    }
  }
  return { sources: found, isWhole };
}
