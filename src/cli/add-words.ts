/** Reads `troupe add NAME COMMAND -y …` without the `--` that should stand before the command. */

import { usageError } from '../domain/user-errors.ts';
import { type CommandDefinition, nameOf } from './command.ts';
import { commonFlags } from './common-flags.ts';

/**
 * Inserts the missing `--` before the command, if a word that begins with `-` follows it. Other lines are
 * returned unchanged.
 * @throws TroupeError `USAGE` if a flag behind the command could be ours or the command's
 */
export function withDashes(
  argv: readonly string[],
  commands: readonly CommandDefinition[],
): readonly string[] {
  const add = commands.find((each) => nameOf(each) === 'add');
  if (add === undefined || argv[0] !== 'add' || argv.includes('--')) return argv;
  const takesValue = new Map(
    [...commonFlags, ...(add.options ?? [])].map(({ flags }) => [
      flags.split(' ', 1)[0] ?? '',
      flags.includes('<'),
    ]),
  );
  let operands = 0;
  for (let at = 1; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word.startsWith('-')) at += takesValue.get(word) === true ? 1 : 0;
    else operands += 1;
    if (operands < 2) continue;
    const own = argv.slice(at);
    const isOurs = (each: string): boolean => takesValue.has(each.split('=', 1)[0] ?? '');
    // Flags of ours alone may follow, as they always could.
    if (!own.some((each) => each.startsWith('-') && !isOurs(each) && !/^-h$|^--help$/u.test(each)))
      return argv;
    const both = own.find(isOurs);
    if (both === undefined) return [...argv.slice(0, at), '--', ...own];
    throw usageError(
      `${both} may be meant for troupe or for the command; write troupe's flags, then --, then the command`,
    );
  }
  return argv;
}
