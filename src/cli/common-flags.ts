/** The flags of every command. */

import { type FlagDefinition, flag, textsFlag } from './command.ts';
import { parseMilliseconds, parseNames, parseText } from './flag-values.ts';

export const commonFlags: readonly FlagDefinition[] = [
  textsFlag('--config <file>', 'settings file; may be repeated, later files win'),
  flag('--project <dir>', 'project folder (default: this folder)', parseText),
  flag(
    '--state-dir <dir>',
    'folder for the socket and stored decisions (default: $MCP_TROUPE_HOME, or the data folder of your system)',
    parseText,
  ),
  flag('--allow <names>', 'only these servers may connect; "" allows none', parseNames),
  flag('--trust', 'trust the files in the project folder; does not approve servers'),
  flag('--bare', 'read only --config and managed settings, not those of the user or the project'),
  flag(
    '--alone',
    'use only a troupe of this process: no other one, and start none in the background',
  ),
  flag('--json', 'print one JSON document, also for an error'),
  flag(
    '--timeout <ms>',
    'how long start, stop, restart, refresh and tools wait (default: 120000), or a call (default: its server setting, or 60000)',
    parseMilliseconds,
  ),
];
