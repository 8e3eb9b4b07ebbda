/** Finds mistyped names in `--allow`, which would silently allow nothing. */

import { closestName } from '../policies/text/closest-name.ts';
import type { Launch } from './launch.ts';

/** Returns a note for each unknown name; not an error, because the server may be added later. */
export function unknownAllowed(
  { allow = [] }: Pick<Launch, 'allow'>,
  servers: readonly { readonly name: string }[],
): readonly string[] {
  const names = servers.map((server) => server.name);
  return allow
    .filter((name) => !names.includes(name))
    .map((name) => {
      const closest = closestName(name, names);
      const next = closest === undefined ? 'see troupe plan' : `did you mean ${closest}?`;
      return `--allow names the unknown server ${name}; ${next}`;
    });
}
