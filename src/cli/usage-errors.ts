/** Rewrites commander's errors in our style. */

import type { CommanderError } from 'commander';
import { printableLine } from '../domain/data/printable.ts';
import type { TroupeError } from '../domain/troupe-error.ts';
import { usageError } from '../domain/user-errors.ts';
import { namesMeant } from '../policies/text/closest-name.ts';

/** Enough for a sentence with two paths. */
const longestMessage = 1_000;

/** Commander's words for an argument that is none of its choices. */
const notAllowed =
  /^command-argument value '(.*)' is invalid for argument '(\w+)'\. Allowed choices are (.*?)\.?$/u;

/**
 * Rewrites commander's message in our style; commander writes `error: …` and its guess on a second line.
 *
 * @param help - the command that prints the help
 * @param choices - the values of the command's first argument, if it has a list of them
 */
export function usageErrorOf(
  error: CommanderError,
  help: string,
  choices?: readonly string[],
): TroupeError {
  // Thrown after printing the help, when no command was given.
  const text = error.code === 'commander.help' ? 'no command was given' : error.message;
  const [said = '', guess] = text.replace(/^error: /, '').split('\n');
  const [, value, name, list] = notAllowed.exec(said) ?? [];
  if (value !== undefined && list !== undefined) {
    const meant = namesMeant(value, list.split(', '));
    const next =
      meant.length === 0
        ? `use one of ${list}; see ${help}`
        : `did you mean ${meant.join(' or ')}?`;
    const kind = `${/^[aeiou]/u.test(name ?? '') ? 'an' : 'a'} ${name}`;
    return usageError(`${printableLine(value, 100)} is not ${kind}; ${next}`);
  }
  const [, absent] = /^missing required argument '(\w+)'/u.exec(said) ?? [];
  if (absent !== undefined && choices !== undefined)
    return usageError(`the ${absent} is missing; use one of ${choices.join(', ')}; see ${help}`);
  const meant = guess?.match(/Did you mean (.*)\?\)$/)?.[1];
  const next =
    meant === undefined ? `${asArgument(said, help)}see ${help}` : `did you mean ${meant}?`;
  return usageError(printableLine(`${said.replace(/\.$/, '')}; ${next}`, longestMessage));
}

/** Says how to write an argument of a tool, a prompt or a form that was written as a flag. */
function asArgument(said: string, help: string): string {
  const [, option] = /^unknown option '--([\w.-]+)/u.exec(said) ?? [];
  const takesArguments = /\b(?:call|prompt|answer)$/u.test(help);
  return option !== undefined && takesArguments ? `write an argument as ${option}=VALUE, or ` : '';
}
