/** Names with `*`, which stands for any letters or none. Everything else stands for itself. */

export function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[$()+.?[\\\]^{|}]/gu, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'u').test(name);
}
