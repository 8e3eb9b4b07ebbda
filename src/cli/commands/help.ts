import type { Command } from 'commander';
import type { CommandDefinition } from '../command-definition.ts';
import { unknownCommand } from '../unknown-command.ts';

/** `help`. Commander's own treats a mistyped command as none. */
export const helpCommand = (program: Command): CommandDefinition => ({
  usage: 'help [command]',
  summary: 'show the help of a command, with an example',
  example: 'troupe help call',
  async run(_session, [name]) {
    const { commands } = program;
    const meant = name === undefined ? program : commands.find((each) => each.name() === name);
    if (meant === undefined) {
      throw unknownCommand(
        name ?? '',
        commands.map((each) => each.name()),
      );
    }
    meant.outputHelp();
    return 0;
  },
});
