import type { DesiredServer, Settings } from '../../domain/settings.ts';

// Every start needs a place, and thousands of servers may start, so places are cached with the settings.
const places = new WeakMap<Settings, ReadonlyMap<string, number>>();

/** Returns a server's position in the settings; an unknown server comes last. */
export function placeOf(settings: Settings | null, server: string): number {
  if (settings === null) return Number.MAX_SAFE_INTEGER;
  const known =
    places.get(settings) ?? new Map(settings.servers.map(({ name }, place) => [name, place]));
  places.set(settings, known);
  return known.get(server) ?? Number.MAX_SAFE_INTEGER;
}

/** Returns the settings' server with this name. */
export function serverNamed(settings: Settings | null, name: string): DesiredServer | undefined {
  return settings?.servers[placeOf(settings, name)];
}
