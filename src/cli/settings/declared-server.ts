/** Finds the file that declares a server. */

import { readSettings } from '../../../actors/settings/last-good-settings.ts';
import { quotedWord } from '../../domain/data/printable.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { unknownServer } from '../../runtime/errors/refused.ts';
import { settingsPortsOf } from '../../runtime/options/settings-ports.ts';
import { readingWritten, type WrittenText } from '../../runtime/previews/approve-written.ts';
import { memberOf } from '../../settings/settings-tree.ts';
import { unreadSettings } from '../control/settled-servers.ts';
import { type Launch, troupeOptionsOf } from '../launch.ts';
import { withEditedTroupe } from './running-edit.ts';
import { type OpenSettings, openSettings } from './settings-file.ts';

/** All settings of a launch, with replacement content for one file if one is given. Starts nothing. */
export async function settingsOf(launch: Launch, written?: WrittenText): Promise<Settings> {
  const ports = settingsPortsOf(troupeOptionsOf(launch));
  const readFile = written === undefined ? {} : { readFile: readingWritten(written) };
  return (await readSettings({ ...ports, ...readFile })).settings;
}

/** How the settings in use declare a server: the running troupe's, unless the launch names its own. */
export function declarationInUse(launch: Launch, name: string): Promise<DesiredServer | undefined> {
  return withEditedTroupe(launch, async (seen) =>
    (await settingsOf(seen)).servers.find((server) => server.name === name),
  );
}

export interface DeclaredServer {
  readonly desired: DesiredServer;
  readonly settings: Settings;
  readonly open: OpenSettings;
}

/**
 * Finds a server's entry, for an edit.
 * @throws TroupeError `SERVER_UNKNOWN`; `INVALID_CONFIG` when its file cannot be edited
 */
export async function declaredServer(launch: Launch, name: string): Promise<DeclaredServer> {
  const settings = await settingsOf(launch);
  const desired = settings.servers.find((server) => server.name === name);
  if (desired === undefined) {
    const { servers, problems } = settings;
    const isMeant = closestName(
      name,
      servers.map((server) => server.name),
    );
    const unread = isMeant === undefined ? unreadSettings(servers, problems) : undefined;
    throw unread ?? unknownServer(name, servers, [], problems, 'troupe plan');
  }
  const { file, key, scope } = desired.source;
  const place = `${file ?? scope}${desired.source.line === undefined ? '' : `:${desired.source.line}`}`;
  if (file === undefined || scope === 'managed')
    throw new TroupeError(
      'NOT_ALLOWED',
      `${quotedWord(name)} is declared in managed settings (${place}), which only an administrator may change`,
      { server: name },
    );
  const open = await openSettings(launch, file);
  const servers = memberOf(open.root, 'mcpServers')?.node;
  if (servers === undefined || memberOf(servers, name) === undefined)
    throw settingsError(
      `${quotedWord(name)} is declared by ${key} in ${place}; edit it there`,
      name,
    );
  return { desired, settings, open };
}
