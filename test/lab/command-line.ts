/** Parses the command line of a lab program. */

import { closestName } from '../../src/policies/text/closest-name.ts';

/** Describes an invalid command line in one line. */
export class UsageError extends Error {}

/** Parses the command line; for a {@link UsageError}, prints it and exits with 2. */
export function readOrExit<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    const isParseError =
      error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_');
    if (!(error instanceof UsageError) && !isParseError) throw error;
    console.error(error.message.replaceAll('\n', ' '));
    process.exit(2);
  }
}

/** Whether a name matches a pattern with `*` as a wildcard; `F10` also matches `F10/all`. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/gu, '\\$&'));
  return new RegExp(`^${parts.join('.*')}(?:/.*)?$`, 'u').test(name);
}

/**
 * The names that match one of the patterns, in their own order.
 *
 * @throws {UsageError} when a pattern matches no name
 */
export function chosenNames(
  option: string,
  patterns: readonly string[],
  names: readonly string[],
): readonly string[] {
  for (const pattern of patterns) {
    if (names.some((name) => matches(pattern, name))) continue;
    const closest = closestName(pattern, names);
    const hint =
      closest === undefined ? `choose of ${names.join(', ')}` : `did you mean ${closest}?`;
    throw new UsageError(`${option} ${pattern}: there is no such name; ${hint}`);
  }
  return names.filter((name) => patterns.some((pattern) => matches(pattern, name)));
}

/** @throws {UsageError} when the text is not a number above zero */
export function positiveNumber(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new UsageError(`${option} ${text}: must be a number above zero`);
}
