import { printableLine } from '../../domain/data/printable.ts';

/** Says what a login gives to a server whose metadata names another resource than its address. */
export function wideTokenNote(server: string, resource: string): string {
  const shown = printableLine(resource, 300);
  return `${server} asks for a token for ${shown}, which is not its own address; it can use the token for everything there`;
}
