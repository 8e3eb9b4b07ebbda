/** Converts any thrown value into an error document. */

import { CommanderError } from 'commander';
import { type ErrorDocument, exitCodeOf } from '../../domain/caller-code.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { defined } from '../../policies/defined.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { printableLine } from '../../policies/text/printable.ts';

/** Enough for a sentence with two paths. */
const longestMessage = 1_000;

/** Unexpected errors become `INTERNAL`. */
export function errorDocumentOf(error: unknown): ErrorDocument {
  if (error instanceof CommanderError) return usageErrorOf(error, 'troupe --help').toJSON();
  if (isErrorDocument(error)) {
    const { code, server, tool, retryable, outcome, retryAfterMs, message } = error;
    const shown = printableLine(message, longestMessage);
    return defined({ code, server, tool, retryable, outcome, retryAfterMs, message: shown });
  }
  const text = error instanceof Error ? error.message : String(error);
  return {
    code: 'INTERNAL',
    retryable: false,
    outcome: 'not_executed',
    message: printableLine(
      `unexpected error: ${text}; run again with TROUPE_DEBUG=1 for the stack trace, and please report it`,
      longestMessage,
    ),
  };
}

/** Whether a value is an error document. */
export function isErrorDocument(value: unknown): value is ErrorDocument {
  if (typeof value !== 'object' || value === null) return false;
  const { code, message, outcome, retryable } = value as Partial<ErrorDocument>;
  return (
    typeof code === 'string' &&
    Object.hasOwn(exitCodeOf, code) &&
    typeof message === 'string' &&
    typeof outcome === 'string' &&
    typeof retryable === 'boolean'
  );
}

/** Commander's words for an argument that is none of its choices. */
const notAllowed =
  /^command-argument value '(.*)' is invalid for argument '(\w+)'\. Allowed choices are (.*?)\.?$/u;

/**
 * Rewrites commander's message in our style; commander writes `error: …` and its guess on a second line.
 *
 * @param help - the command that prints the help
 */
export function usageErrorOf(error: CommanderError, help: string): TroupeError {
  // Thrown after printing the help, when no command was given.
  const text = error.code === 'commander.help' ? 'no command was given' : error.message;
  const [said = '', guess] = text.replace(/^error: /, '').split('\n');
  const [, value, name, list] = notAllowed.exec(said) ?? [];
  if (value !== undefined && list !== undefined) {
    const closest = closestName(value, list.split(', '));
    const next = closest === undefined ? `use one of ${list}` : `did you mean ${closest}?`;
    return usageError(`${printableLine(value, 100)} is not a ${name}; ${next}`);
  }
  const meant = guess?.match(/Did you mean (.*)\?\)$/)?.[1];
  const next = meant === undefined ? `see ${help}` : `did you mean ${meant}?`;
  return usageError(printableLine(`${said.replace(/\.$/, '')}; ${next}`, longestMessage));
}
