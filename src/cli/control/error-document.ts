/** Converts any thrown value into an error document. */

import { type ErrorDocument, exitCodeOf } from '../../domain/caller-code.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';

/** Enough for a sentence with two paths. */
const longestMessage = 1_000;

/** Unexpected errors become `INTERNAL`. */
export function errorDocumentOf(error: unknown): ErrorDocument {
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
