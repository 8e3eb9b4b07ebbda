/** Returns whether a value is itself a certificate or key, rather than the path of a file. */
export function isPem(value: string): boolean {
  return value.trimStart().startsWith('-----BEGIN ');
}
