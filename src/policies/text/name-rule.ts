// A name of this length and a tool's name still fit into a status line.
const maxLength = 100;

/**
 * Returns whether a server may have this name.
 *
 * Only ASCII letters, digits and `_ . : -` are allowed: names are used in tool names, file
 * names, actor ids and terminals, and names that look the same must be the same. A name does not
 * begin with `-`: in a command to copy, such as `troupe approve --all`, it would be a flag. `__proto__`
 * is refused because it vanishes from persisted objects.
 */
export function isServerName(name: string): boolean {
  return /^(?!-)[\w.:-]{1,100}$/.test(name) && name !== '__proto__';
}

/**
 * Converts an invalid name into a legible one, so that the user can find the refused
 * entry in the status. Allowed names are returned unchanged.
 */
export function legibleServerName(name: string): string {
  if (isServerName(name)) return name;
  if (name === '__proto__') return 'proto';
  const legible = name.slice(0, maxLength).replaceAll(/^-|[^\w.:-]/g, '_');
  return legible === '' ? '_' : legible;
}
