/** Turns whatever was thrown into the one shape of errors that all faces share. */

import { CommanderError } from 'commander';
import { type ErrorDocument, exitCodeOf } from '../../domain/caller-code.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';

/** Long enough for a sentence with two paths in it. */
const longestMessage = 1_000;

/** The document of an error; what nobody foresaw becomes `INTERNAL`. */
export function errorDocumentOf(error: unknown): ErrorDocument {
  if (error instanceof CommanderError) return usageErrorOf(error, 'troupe --help').toJSON();
  if (isErrorDocument(error)) {
    const { code, server, tool, retryable, outcome, retryAfterMs, message } = error;
    return {
      code,
      ...(server === undefined ? {} : { server }),
      ...(tool === undefined ? {} : { tool }),
      retryable,
      outcome,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      message: printableLine(message, longestMessage),
    };
  }
  const text = error instanceof Error ? error.message : String(error);
  return {
    code: 'INTERNAL',
    retryable: false,
    outcome: 'not_executed',
    message: printableLine(
      `unexpected: ${text}; run it again with TROUPE_DEBUG=1 to see where, and please report it`,
      longestMessage,
    ),
  };
}

/** Says whether a value has what an error document needs. */
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

/**
 * Says what commander found wrong, in our words: it writes `error: …` and its guess below.
 *
 * @param help - the command that prints what would be right
 */
export function usageErrorOf(error: CommanderError, help: string): TroupeError {
  // What commander throws after printing its help, because there was nothing to do.
  const text = error.code === 'commander.help' ? 'no command was given' : error.message;
  const [said = '', guess] = text.replace(/^error: /, '').split('\n');
  const meant = guess?.match(/Did you mean (.*)\?\)$/)?.[1];
  const next = meant === undefined ? `see ${help}` : `did you mean ${meant}?`;
  return new TroupeError(
    'USAGE',
    printableLine(`${said.replace(/\.$/, '')}; ${next}`, longestMessage),
  );
}
