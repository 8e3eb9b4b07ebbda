import { type CommandDefinition, flag } from '../command.ts';
import { parseText } from '../flag-values.ts';
import type { ImportFlags } from '../import/import-servers.ts';
import type { InitFlags } from '../import/init.ts';
import { programNames } from '../import/program-places.ts';

/** `init`: writes the first settings file. */
export const initCommand: CommandDefinition<InitFlags> = {
  usage: 'init',
  summary: 'find the servers of your editors and write them to one troupe.json',
  details: [
    "Looks for the settings files of other programs, shows which servers each has, and after a yes writes them to the project folder's troupe.json. Secrets are copied but never shown.",
    'Your yes approves the servers of your own programs. Those that the project folder brings, such as its .cursor/mcp.json, still need troupe approve.',
  ].join('\n\n'),
  example: 'troupe init --yes',
  options: [
    {
      ...flag(
        '--scope <scope>',
        "which file: the project's troupe.json, or your own (default: project)",
      ),
      choices: ['user', 'project'],
    },
    flag('--yes', 'write without asking'),
  ],
  async run(session, _args, flags) {
    const { initSettings } = await import('../import/init.ts');
    return initSettings(session, flags);
  },
};

/** `import`: copies servers from the settings of another program. */
export const importCommand: CommandDefinition<ImportFlags> = {
  usage: 'import',
  summary: 'copy servers from the settings of another program',
  details: [
    `Without --from, it shows what the files of all programs have, and asks before it writes. A program is one of ${programNames.join(', ')}; its user and project files are searched. A file may have any of their formats, which is recognized by its content.`,
    'Servers from the project folder go into its .mcp.json, where they need approval; all others go into your own settings. --to names one file for everything. An existing server is never overwritten; exit code 2 means that a server was skipped.',
  ].join('\n\n'),
  example: 'troupe import\n  troupe import --from cursor --dry-run',
  options: [
    flag('--from <file|program>', 'what to read', parseText),
    flag('--to <file>', 'where to write', parseText),
    flag('--dry-run', 'show what would be written without writing it'),
    flag('--yes', 'without --from: write without asking'),
  ],
  async run(session, _args, flags) {
    // Loaded late: no other command needs the parsers of all formats.
    const { importServers } = await import('../import/import-servers.ts');
    return importServers(session, flags);
  },
};
