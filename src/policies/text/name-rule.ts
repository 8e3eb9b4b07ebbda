// With a tool's name behind it, a name of this length still fits a status line.
const maxLength = 100;

/**
 * Returns whether a name may be a server's.
 *
 * Letters, digits and `_ . : -` of ASCII only: a name ends up in tool names,
 * file names, actor ids and terminals, and two names that look alike must be
 * alike. `__proto__` is refused because it vanishes from persisted objects.
 */
export function isServerName(name: string): boolean {
  return /^[\w.:-]{1,100}$/.test(name) && name !== '__proto__';
}

/**
 * Converts an invalid name into a legible one, so that the user can find the refused
 * entry in the status. Allowed names are returned unchanged.
 */
export function legibleServerName(name: string): string {
  if (isServerName(name)) return name;
  if (name === '__proto__') return 'proto';
  const legible = name.slice(0, maxLength).replaceAll(/[^\w.:-]/g, '_');
  return legible === '' ? '_' : legible;
}
