import type { Settings } from '../../domain/settings.ts';

// Every start asks, and thousands may start: remembered for as long as the settings are held.
const places = new WeakMap<Settings, ReadonlyMap<string, number>>();

/** Tells where a server stands in the settings; behind all others when they do not name it. */
export function placeOf(settings: Settings | null, server: string): number {
  if (settings === null) return Number.MAX_SAFE_INTEGER;
  const known =
    places.get(settings) ?? new Map(settings.servers.map(({ name }, place) => [name, place]));
  places.set(settings, known);
  return known.get(server) ?? Number.MAX_SAFE_INTEGER;
}
