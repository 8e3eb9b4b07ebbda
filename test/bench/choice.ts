/** What a command line asks for; whatever it names must exist. Pure. */

import { closestName } from '../../src/policies/text/closest-name.ts';
import { matches } from './pattern.ts';
import type { Work } from './work.ts';

export interface Wishes {
  /** Names, or patterns with `*`; absent = all that are not optional. */
  readonly only?: readonly string[] | undefined;
  readonly install: boolean;
}

type Named = Pick<Work, 'name' | 'isOptional'>;

/** Says in one line what is wrong with a command line. */
export class WrongWish extends Error {}

/** In the order of the works. `--install` adds to whatever else was chosen. */
export function chosenWorks<Some extends Named>(
  works: readonly Some[],
  { only, install }: Wishes,
): readonly Some[] {
  const names = works.map(({ name }) => name);
  for (const pattern of only ?? []) {
    if (!names.some((name) => matches(pattern, name)))
      throw new WrongWish(`--only ${pattern}: there is no such work; ${hint(pattern, names)}`);
  }
  return works.filter(
    ({ name, isOptional = false }) =>
      (install && name === 'install') ||
      (only === undefined ? !isOptional : only.some((pattern) => matches(pattern, name))),
  );
}

/** The baseline is always among them. */
export function chosenContenders(
  names: readonly string[],
  baseline: string,
  wanted: readonly string[] | undefined,
): readonly string[] {
  const unknown = wanted?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const next = closestName(unknown, names);
    const last = next === undefined ? `there are ${names.join(', ')}` : `did you mean ${next}?`;
    throw new WrongWish(`--contender ${unknown}: there is no such contender; ${last}`);
  }
  return names.filter((name) => wanted === undefined || name === baseline || wanted.includes(name));
}

/** Undefined when nobody asked. */
export function chosenRounds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,3}$/u.test(text))
    throw new WrongWish(`--rounds ${text}: must be a whole number from 1 to 9999`);
  return Number(text);
}

function hint(pattern: string, names: readonly string[]): string {
  const closest = closestName(pattern, names);
  if (closest !== undefined) return `did you mean ${closest}?`;
  const parts = pattern.includes('*') ? [] : names.filter((name) => name.includes(pattern));
  if (pattern !== '' && parts.length > 0) return `did you mean *${pattern}*?`;
  return '--list shows them';
}
