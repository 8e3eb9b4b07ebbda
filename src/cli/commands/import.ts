import { type CommandDefinition, flag } from '../command.ts';
import { parseText } from '../flag-values.ts';
import { programNames } from '../import/program-places.ts';

interface ImportFlags {
  readonly from: string;
  readonly to?: string;
  readonly dryRun?: true;
}

/** `import`: copies servers from the settings of another program. */
export const importCommand: CommandDefinition<ImportFlags> = {
  usage: 'import',
  summary: 'copy servers from the settings of another program',
  details: [
    `A program is one of ${programNames.join(', ')}; its user and project files are searched. A file may have any of their formats, which is recognized by its content.`,
    'Servers from the project folder go into its .mcp.json, where they need approval; all others go into your own settings. --to names one file for everything. An existing server is never overwritten; exit code 2 means that a server was skipped.',
  ].join('\n\n'),
  example: 'troupe import --from cursor --dry-run',
  options: [
    flag('--from <file|program>', 'what to read', parseText).makeOptionMandatory(),
    flag('--to <file>', 'where to write', parseText),
    flag('--dry-run', 'show what would be written without writing it'),
  ],
  async run(session, _args, flags) {
    // Loaded late: no other command needs the parsers of all formats.
    const { importServers } = await import('../import/import-servers.ts');
    return importServers(session, flags);
  },
};
