/**
 * Turns servers that a host passes as objects into entries of its own settings, so that admission,
 * policies and tool filters apply to them.
 */

import type { SettingsReader } from '../../../actors/settings/last-good-settings.ts';
import type { EmbeddedServer } from '../../domain/host/embedded.ts';
import { argumentsError } from '../../domain/user-errors.ts';

export type EmbeddedServers = Readonly<Record<string, EmbeddedServer>>;

type Overlay = Readonly<Record<string, unknown>>;

/**
 * Returns the host's settings including its servers. An entry with the same name adds settings to
 * its server.
 */
export function withEmbedded(overlay: Overlay | undefined, servers: EmbeddedServers): Overlay {
  const entries = entriesOf(overlay);
  // The reader reports settings that are invalid as a whole.
  if (entries === undefined) return overlay ?? {};
  const embedded = Object.entries(servers).map(([name, { settings = {} }]) => {
    const entry = entries.find(([other]) => other === name)?.[1];
    return [name, { ...settings, ...entry, type: 'memory' }] as const;
  });
  const names = new Set(Object.keys(servers));
  const others = entries.filter(([name]) => !names.has(name));
  return { ...overlay, mcpServers: Object.fromEntries([...others, ...embedded]) };
}

/** Refuses a name that two servers share, because only one of them would ever start. */
export function checkEmbedded(overlay: Overlay | undefined, servers: EmbeddedServers): void {
  const taken = entriesOf(overlay)?.find(
    ([name, entry]) => Object.hasOwn(servers, name) && ('command' in entry || 'url' in entry),
  );
  if (taken === undefined) return;
  throw argumentsError(
    `The server "${taken[0]}" is in both "servers" and "settings" of createTroupe; rename one of the two.`,
  );
}

/** Wraps a reader so that settings that the host replaces later keep its servers. */
export function embeddingReader(reader: SettingsReader, servers: EmbeddedServers): SettingsReader {
  if (Object.keys(servers).length === 0) return reader;
  return {
    ...reader,
    setOverlay: (settings) => {
      reader.setOverlay(withEmbedded(settings, servers));
    },
  };
}

type Entries = readonly (readonly [string, object])[];

/** Returns the entries; undefined if `mcpServers` is not an object. */
function entriesOf(overlay: Overlay | undefined): Entries | undefined {
  const entries = overlay?.['mcpServers'] ?? {};
  if (typeof entries !== 'object' || Array.isArray(entries)) return undefined;
  return Object.entries(entries).filter(
    (entry): entry is [string, object] => typeof entry[1] === 'object' && entry[1] !== null,
  );
}
