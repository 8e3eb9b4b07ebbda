/** Reads what the command line of a lab program asks for. */

import { closestName } from '../../src/policies/text/closest-name.ts';

/** Says in one line what is wrong with a command line. */
export class UsageError extends Error {}

/** Runs a reader of the command line; prints its complaint and exits with 2 where it has one. */
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

/** Whether a name fits a pattern, in which `*` stands for any letters; `F10` also fits `F10/all`. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/gu, '\\$&'));
  return new RegExp(`^${parts.join('.*')}(?:/.*)?$`, 'u').test(name);
}

/**
 * The names that fit one of the patterns, in their own order.
 *
 * @throws {UsageError} when a pattern fits none
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
