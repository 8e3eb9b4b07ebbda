import type { Command } from 'commander';
import { printableLine } from '../../domain/data/printable.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import type { CommandDefinition } from '../command.ts';

/** `help`. Commander's own treats a mistyped command as none. */
export const helpCommand = (program: Command): CommandDefinition => ({
  usage: 'help [command]',
  summary: 'show the help of a command, with an example',
  example: 'troupe help call',
  async run(_session, [name]) {
    const shown =
      name === undefined
        ? program
        : program.commands.find((each) => each.name() === name || each.aliases().includes(name));
    if (shown === undefined) throw unknownCommand(name ?? '', program);
    shown.outputHelp();
  },
});

const shownLength = 100;

/** What users of other programs type, where the spelling alone would lead elsewhere. */
const meant: Readonly<Record<string, string>> = {
  authenticate: 'login',
  config: 'check',
  dashboard: 'inspect',
  delete: 'remove',
  exec: 'call',
  install: 'add',
  invoke: 'call',
  rm: 'remove',
  search: 'tools --search WORDS',
  servers: 'status',
  ui: 'inspect',
  uninstall: 'remove',
  validate: 'check',
  watch: 'status --watch',
  why: 'explain',
};

/**
 * Suggests the command that was probably meant.
 *
 * @param others - what else may stand in its place
 */
export function unknownCommand(
  name: string,
  { commands }: Command,
  others: readonly string[] = [],
): TroupeError {
  const names = [...commands.map((each) => each.name()), ...others];
  // A word that was cut off is likelier than a letter that was left out.
  const [longer, ...rivals] = names.filter((each) => each.startsWith(name));
  const isCut = name.length > 1 && rivals.length === 0;
  const word = Object.hasOwn(meant, name) ? meant[name] : undefined;
  const closest = word ?? (isCut ? longer : undefined) ?? closestName(name, names);
  const next = closest === undefined ? 'see troupe --help' : `did you mean ${closest}?`;
  return usageError(`unknown command '${printableLine(name, shownLength)}'; ${next}`);
}
