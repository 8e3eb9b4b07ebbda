/** The names under which clients of the gateway see the servers' tools and prompts. */

import { createHash } from 'node:crypto';

// The limit for tool names in every model API.
const maxNameLength = 64;
// Forty bits in base 36, as for the names that hosts see.
const hashLength = 8;
const keptLength = maxNameLength - hashLength - 1;

/** An item of one server. */
export interface Named {
  readonly server: string;
  /** The server's own name for it. */
  readonly name: string;
}

/**
 * Names items `{server}__{name}`. Names are unique, have at most 64 characters, and do not depend on other
 * items. A name that had to be changed or cut ends in a hash, as does the later one (by server, then name)
 * of two that would be equal.
 */
export function exposedNames<Item extends Named>(
  items: readonly Item[],
): ReadonlyMap<string, Item> {
  const sorted = items.toSorted((a, b) => compare(a.server, b.server) || compare(a.name, b.name));
  const named = new Map<string, Item>();
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

/** All ways to split a name into a server and an item, most likely first. */
export function readingsOf(
  exposed: string,
  servers: readonly string[],
): readonly { readonly server: string; readonly name: string }[] {
  return servers
    .filter((server) => exposed.startsWith(`${server}__`) && exposed.length > server.length + 2)
    .toSorted((a, b) => b.length - a.length)
    .map((server) => ({ server, name: exposed.slice(server.length + 2) }));
}

function isFit(name: string): boolean {
  return name.length <= maxNameLength && /^[\w-]+$/u.test(name);
}

function hashedName({ server, name }: Named, salt: number): string {
  const salted = salt === 0 ? `${server}\0${name}` : `${server}\0${name}\0${salt}`;
  const bits = Number.parseInt(createHash('sha256').update(salted).digest('hex').slice(0, 10), 16);
  const hash = bits.toString(36).padStart(hashLength, '0');
  const readable = `${server}__${name}`.replaceAll(/[^\w-]/gu, '_');
  return `${readable.slice(0, keptLength)}_${hash}`;
}

// By code unit: locale order differs between machines.
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
