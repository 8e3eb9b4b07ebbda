/** The names under which clients of the gateway see the servers' tools and prompts. */

import { createHash } from 'node:crypto';
import { compare } from '../policies/text/compare.ts';

/** A server and its own name for an item. */
export interface Meant {
  readonly server: string;
  readonly name: string;
}

// The limit for tool names in every model API.
const maxNameLength = 64;
// Forty bits in base 36, as for the names that hosts see.
const hashLength = 8;
const keptLength = maxNameLength - hashLength - 1;

/**
 * Names items `{server}__{name}`. Names are unique, have at most 64 characters, and do not depend on other
 * items. A name that had to be changed or cut ends in a hash, as does the later one (by server, then name)
 * of two that would be equal.
 */
export function exposedNames<Named extends Meant>(
  items: readonly Named[],
): ReadonlyMap<string, Named> {
  const sorted = items.toSorted((a, b) => compare(a.server, b.server) || compare(a.name, b.name));
  const named = new Map<string, Named>();
  // Plain names first: a hashed name must never take another item's plain name.
  const unnamed = sorted.filter((item) => {
    const plain = `${item.server}__${item.name}`;
    if (!isFit(plain) || named.has(plain)) return true;
    named.set(plain, item);
    return false;
  });
  for (const item of unnamed) {
    let salt = 0;
    while (named.has(hashedName(item, salt))) salt += 1;
    named.set(hashedName(item, salt), item);
  }
  return new Map([...named].toSorted(([a], [b]) => compare(a, b)));
}

function isFit(name: string): boolean {
  return name.length <= maxNameLength && /^[\w-]+$/u.test(name);
}

function hashedName({ server, name }: Meant, salt: number): string {
  const salted = salt === 0 ? `${server}\0${name}` : `${server}\0${name}\0${salt}`;
  const bits = Number.parseInt(createHash('sha256').update(salted).digest('hex').slice(0, 10), 16);
  const hash = bits.toString(36).padStart(hashLength, '0');
  const readable = `${server}__${name}`.replaceAll(/[^\w-]/gu, '_');
  return `${readable.slice(0, keptLength)}_${hash}`;
}
