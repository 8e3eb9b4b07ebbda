/**
 * Announcements for screen readers: a summary of recent changes from time to time, because announcing each
 * change would never end.
 */

import type { ServerStatus } from '../../../src/domain/host/status.ts';

const mostNames = 3;

/** One sentence for all servers that changed; undefined when there is nothing to say. */
export function announcement(changed: readonly ServerStatus[]): string | undefined {
  if (changed.length === 0) return undefined;
  const said = changed
    .slice(0, mostNames)
    .map(
      ({ name, state, reason }) =>
        `${name} is ${spoken(state)}${reason === undefined ? '' : `, ${spoken(reason)}`}`,
    );
  const more = changed.length - said.length;
  return `${said.join('; ')}${more > 0 ? `; and ${more} more changed` : ''}.`;
}

/** Spells `backingOff` as `backing off`. */
export function spoken(word: string): string {
  return word.replace(/([a-z])([A-Z])/gu, '$1 $2').toLowerCase();
}
