/** Which works a command line asks for. */

import type { Work } from './work.ts';

export interface Wishes {
  /** Parts of names; absent = all that are not optional. */
  readonly only?: readonly string[] | undefined;
  readonly install: boolean;
}

/** `--install` adds to whatever else was chosen. */
export function isChosen(
  { name, isOptional = false }: Pick<Work, 'name' | 'isOptional'>,
  { only, install }: Wishes,
): boolean {
  if (name === 'install' && install) return true;
  return only === undefined ? !isOptional : only.some((part) => name.includes(part));
}
