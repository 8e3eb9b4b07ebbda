import type { DesiredServer, Settings } from '../../domain/settings.ts';

// Every start needs a place, and thousands of servers may start, so places are cached with the settings.
const places = new WeakMap<Settings, ReadonlyMap<string, number>>();

/** Returns a server's position in the settings; an unknown server comes last. */
export function placeOf(settings: Settings | null, server: string): number {
  if (settings === null) return Number.MAX_SAFE_INTEGER;
  let known = places.get(settings);
  if (known === undefined) {
    known = newPlaces(settings);
    places.set(settings, known);
  }
  return known.get(server) ?? Number.MAX_SAFE_INTEGER;
}

function newPlaces({ servers }: Settings): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  let place = 0;
  for (const { name } of servers) found.set(name, place++);
  return found;
}

/** Returns the settings' server with this name. */
export function serverNamed(settings: Settings | null, name: string): DesiredServer | undefined {
  return settings?.servers[placeOf(settings, name)];
}

/**
 * Returns the servers of earlier settings whose names the present ones lack. If all names are where
 * they were, as after most edits, both settings share their places from then on.
 */
export function removedServers(
  before: Settings | null,
  now: Settings | null,
): readonly DesiredServer[] {
  if (before === null || before === now) return [];
  const known = removals.get(before);
  if (known !== undefined && known.now === now) return known.removed;
  const removed = findRemoved(before, now);
  removals.set(before, { now, removed });
  return removed;
}

// All followers of the settings compare the same two versions.
const removals = new WeakMap<
  Settings,
  { readonly now: Settings | null; readonly removed: readonly DesiredServer[] }
>();

/** Computes what is asked about new settings, so that the turn in which they are obeyed need not. */
export function preparePlaces(before: Settings | null, now: Settings): void {
  removedServers(before, now);
  placeOf(now, '');
}

function findRemoved(before: Settings, now: Settings | null): readonly DesiredServer[] {
  const known = places.get(before);
  if (now !== null && editedServers(before, now) !== undefined) {
    if (known !== undefined) places.set(now, known);
    return [];
  }
  return before.servers.filter(({ name }) => serverNamed(now, name) === undefined);
}

/** Returns the servers that differ from before; undefined unless all names are where they were. */
export function editedServers(
  { servers: before }: Settings,
  { servers: now }: Settings,
): readonly DesiredServer[] | undefined {
  if (before === now) return [];
  if (before.length !== now.length) return undefined;
  const edited: DesiredServer[] = [];
  let place = 0;
  for (const server of now) {
    const earlier = before[place++];
    // Unchanged servers keep their object.
    if (server === earlier) continue;
    if (server.name !== earlier?.name) return undefined;
    edited.push(server);
  }
  return edited;
}
