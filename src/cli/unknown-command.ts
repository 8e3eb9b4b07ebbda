/** The error for an unknown command. */

import { TroupeError } from '../domain/troupe-error.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { printableLine } from '../policies/text/printable.ts';

/** Commands that users may look for, with the closest ones in this version. */
const absent: ReadonlyMap<string, string> = new Map([
  ['doctor', 'troupe explain SERVER shows what is wrong, and troupe plan what would change'],
  ['login', 'troupe explain SERVER shows what the server needs'],
  ['logout', 'troupe stop SERVER ends its connection'],
]);

const shownLength = 100;

/** Suggests the command that was probably meant. */
export function unknownCommand(name: string, known: Iterable<string>): TroupeError {
  const nearest = absent.get(name);
  if (nearest !== undefined) {
    return new TroupeError('USAGE', `${name} is not available in this version; ${nearest}`);
  }
  const closest = closestName(name, known);
  const next = closest === undefined ? 'see troupe --help' : `did you mean ${closest}?`;
  return new TroupeError('USAGE', `unknown command '${printableLine(name, shownLength)}'; ${next}`);
}
