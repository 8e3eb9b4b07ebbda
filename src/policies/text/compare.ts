/** Orders strings by code unit, because the order of a locale differs between machines. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
