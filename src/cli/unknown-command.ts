/** What to say about a command that does not exist. */

import { TroupeError } from '../domain/troupe-error.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { printableLine } from '../policies/text/printable.ts';

/** Commands that people look for and this version has not, each with what comes closest. */
const absent: ReadonlyMap<string, string> = new Map([
  ['doctor', 'troupe explain SERVER says what is wrong, and troupe plan what would change'],
  ['login', 'troupe explain SERVER says what the server asks for'],
  ['logout', 'troupe stop SERVER ends its connection'],
]);

const shownLength = 100;

/** The error for it, with the command that was probably meant. */
export function unknownCommand(name: string, known: Iterable<string>): TroupeError {
  const nearest = absent.get(name);
  if (nearest !== undefined) {
    return new TroupeError('USAGE', `${name} is not available in this version; ${nearest}`);
  }
  const closest = closestName(name, known);
  const next = closest === undefined ? 'see troupe --help' : `did you mean ${closest}?`;
  return new TroupeError('USAGE', `unknown command '${printableLine(name, shownLength)}'; ${next}`);
}
