/** Stores of catalogs for stories about what an earlier run, or an earlier session, knew. */

import type { CatalogFiles } from '../../../actors/stores/catalogs.ts';
import { emptyCatalog } from '../../../src/domain/catalog.ts';
import type { CatalogEntry, CatalogOwner } from '../../../src/policies/tools/stored-catalog.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { type Stage, tool } from '../stage.ts';

/** A store that answers when the test says so. */
export function createStore(entries: readonly Partial<CatalogEntry>[] = []) {
  const looks: string[][] = [];
  const maxAges: (number | null)[] = [];
  const saved: CatalogEntry[] = [];
  let hold: Promise<void> = Promise.resolve();
  const files: CatalogFiles = {
    async load(owners) {
      looks.push(owners.map(({ server }) => server));
      maxAges.push(...owners.map(({ maxAgeMs }) => maxAgeMs));
      await hold;
      return owners.flatMap(({ server, generation }) => entryFor({ server, generation }) ?? []);
    },
    save: (entry) => void saved.push(entry),
    close: () => Promise.resolve(),
  };
  const entryFor = (owner: CatalogOwner): CatalogEntry | undefined => {
    const entry = entries.find(({ server }) => server === owner.server);
    const listedAt = new VirtualClock().wallNow();
    return entry && { listedAt, catalog: emptyCatalog, ...entry, ...owner };
  };
  return {
    looks,
    /** Of the servers that were looked up, in milliseconds. */
    maxAges,
    saved,
    keepCatalogs: () => files,
    /** Nothing is found from now on. */
    hang() {
      hold = new Promise(() => {});
    },
  };
}

export const known = (server: string, ...names: string[]) => ({
  server,
  catalog: { ...emptyCatalog, tools: names.map((name) => tool(name)) },
});

/** What callers see, as `name catalog`. */
export const shownBy = ({ troupe }: Stage): readonly string[] =>
  troupe.tools().map(({ name, catalog }) => `${name} ${catalog}`);
