import type { CatalogFiles } from '../../actors/catalog-files.ts';
import type { CatalogExtra, SessionOwner, SessionPorts } from '../../actors/session-ports.ts';
import type { Catalog } from '../domain/catalog.ts';
import type { Clock } from '../domain/clock.ts';
import type { DesiredServer } from '../domain/settings.ts';
import type { CatalogStore } from './catalog-store.ts';
import type { EraStore } from './era-store.ts';

export interface CatalogKeepingPorts {
  readonly catalogs: CatalogStore;
  readonly eras: EraStore;
  readonly clock: Clock;
  /** Absent: nothing outlives the run. */
  readonly files: CatalogFiles | undefined;
  readonly desired: (server: string) => DesiredServer | undefined;
  /** Tools of this generation are known, and may be shown before it is connected. */
  readonly onKnown: (owner: SessionOwner) => void;
}

// A tenth of a second: files are read in a few milliseconds, and a dead network
// folder must not keep servers from starting.
const loadMs = 100;
// Every edit of a server is one; to look once more costs nothing.
const rememberedLooks = 10_000;
// Of a stop that takes 5 s at most.
const closeMs = 1_000;

/** Joins what is known of servers in memory with what is stored of them on disk. */
export class CatalogKeeping implements Pick<SessionPorts, 'catalogs'> {
  readonly #ports: CatalogKeepingPorts;
  /** Looked for on disk already, found or not. */
  readonly #looked = new Set<string>();
  /** Secrets of the sessions that listed, and whether all of their tools were listed. */
  readonly #extras = new Map<string, CatalogExtra>();

  constructor(ports: CatalogKeepingPorts) {
    this.#ports = ports;
  }

  readonly catalogs: SessionPorts['catalogs'] = {
    put: (owner, tools, extra = {}) => {
      const { instructions, completions = false } = extra;
      this.#extras.set(owner.server, extra);
      this.#ports.catalogs.put(owner.server, owner.generation, {
        tools,
        completions,
        ...(instructions === undefined ? {} : { instructions }),
      });
      this.#save(owner);
    },
    putSide: (owner, lists) => {
      this.#ports.catalogs.putSide(owner.server, owner.generation, lists);
      this.#save(owner);
    },
  };

  /** Looks for what is stored of servers that are new to this run. */
  async load(servers: readonly DesiredServer[]): Promise<void> {
    const { files, clock } = this.#ports;
    const owners = servers
      .filter((desired) => this.#mayBeStored(desired) && !this.#looked.has(keyOf(ownerOf(desired))))
      .map((desired) => ({ ...ownerOf(desired), maxAgeMs: desired.policy.catalog.ttlMs }));
    if (files === undefined || owners.length === 0) return;
    if (this.#looked.size > rememberedLooks) this.#looked.clear();
    for (const owner of owners) this.#looked.add(keyOf(owner));
    const loaded = files.load(owners).then((entries) => {
      for (const { server, generation, catalog, era } of entries) {
        if (era !== undefined) this.#ports.eras.restore(generation, era);
        if (isEmpty(catalog)) continue;
        this.#ports.catalogs.restore(server, generation, catalog);
        this.#ports.onKnown({ server, generation });
      }
    });
    let timer: unknown;
    const patience = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, loadMs);
    });
    await Promise.race([loaded, patience]);
    clock.clearTimeout(timer);
  }

  /** Settles when what is to be stored is, or a second later. Undefined when there is nothing to do. */
  close(): Promise<void> | undefined {
    const { files, clock } = this.#ports;
    if (files === undefined) return undefined;
    let timer: unknown;
    const patience = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, closeMs);
    });
    return Promise.race([files.close(), patience]).then(() => clock.clearTimeout(timer));
  }

  #save(owner: SessionOwner): void {
    const { files, desired, catalogs, eras, clock } = this.#ports;
    const wanted = desired(owner.server);
    const extra = this.#extras.get(owner.server);
    // Half a list would hide tools at the next start; the whole one of before is better.
    if (files === undefined || wanted === undefined || extra?.partial === true) return;
    if (!this.#mayBeStored(wanted)) return;
    const { server, generation } = owner;
    const era = eras.dated(generation);
    files.save(
      {
        server,
        generation,
        listedAt: clock.wallNow(),
        catalog: catalogs.get(server, generation),
        ...(era === undefined ? {} : { era }),
      },
      extra?.secrets ?? [],
    );
  }

  #mayBeStored({ policy }: DesiredServer): boolean {
    return policy.catalog.cache === 'disk';
  }
}

/** A list without anything is no news of the last time, but a server that was not itself. */
function isEmpty({ tools, resources, resourceTemplates, prompts }: Catalog): boolean {
  return [tools, resources, resourceTemplates, prompts].every((list) => list.length === 0);
}

function ownerOf({ name, generation }: DesiredServer): SessionOwner {
  return { server: name, generation };
}

function keyOf({ server, generation }: SessionOwner): string {
  return `${generation}:${server}`;
}
