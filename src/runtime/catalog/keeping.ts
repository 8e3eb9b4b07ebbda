import type { CatalogExtra, SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import type { CatalogEntry, CatalogFiles } from '../../../actors/stores/catalogs.ts';
import type { Catalog } from '../../domain/catalog.ts';
import type { Clock } from '../../domain/clock.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import { redact } from '../../policies/text/redact.ts';
import { redactedTools } from '../../policies/tools/schema-words.ts';
import { waitAtMost } from '../wait-once.ts';
import type { EraStore } from './era-store.ts';
import { CatalogLifetimes, type CatalogLifetimesPorts } from './lifetimes.ts';
import { type CatalogStore, keyOf } from './store.ts';

export interface CatalogKeepingPorts {
  readonly catalogs: CatalogStore;
  readonly eras: EraStore;
  readonly clock: Clock;
  /** Absent: nothing is stored beyond the run. */
  readonly files: CatalogFiles | undefined;
  readonly settings: () => Settings | null;
  readonly view: CatalogLifetimesPorts['view'];
  /** This generation's tools are known, and may be shown before it connects. */
  readonly onKnown: (owner: SessionOwner) => void;
  /** They are no longer known. */
  readonly onForgotten: (owner: SessionOwner) => void;
  /** This generation's tools, or another of its lists, were listed again. */
  readonly onListed: (owner: SessionOwner) => void;
}

// A tenth of a second: files are read in a few milliseconds, and a dead network
// folder must not keep servers from starting.
const loadMs = 100;
// Of a stop that takes 5 s at most.
const closeMs = 1_000;

/** Joins the catalogs in memory with those on disk. */
export class CatalogKeeping implements Pick<SessionPorts, 'catalogs'> {
  readonly #ports: CatalogKeepingPorts;
  /** The servers of the last reading, which were already looked up on disk, found or not. */
  #looked: ReadonlySet<string> = new Set();
  /** Secrets of the sessions that listed, and whether their lists are complete. */
  readonly #extras = new Map<string, CatalogExtra>();
  readonly #lifetimes: CatalogLifetimes;

  constructor(ports: CatalogKeepingPorts) {
    this.#ports = ports;
    const { clock, settings, view, catalogs, onForgotten } = ports;
    this.#lifetimes = new CatalogLifetimes({
      clock,
      settings,
      view,
      isExpected: (owner) => this.#looked.has(keyOf(owner)),
      // Dates the file again: its age counts from the end of the session that reported changes.
      onLeft: (owner) => this.#save(owner),
      onForgotten: (owner) => {
        catalogs.forget(owner.server, owner.generation);
        this.#extras.delete(keyOf(owner));
        onForgotten(owner);
      },
    });
  }

  readonly catalogs: SessionPorts['catalogs'] = {
    put: (owner, tools, extra = {}) => {
      const { instructions, completions = false, secrets = [] } = extra;
      const shownTools = redactedTools(tools, secrets);
      this.#extras.set(keyOf(owner), extra);
      this.#lifetimes.keep(owner);
      this.#ports.catalogs.put(owner.server, owner.generation, {
        tools,
        completions,
        ...(shownTools === undefined ? {} : { shownTools }),
        ...(instructions === undefined ? {} : { instructions: redact(instructions, secrets) }),
      });
      // Also for a list with gaps: a server must not evade its pins by announcing a malformed tool.
      this.#ports.onListed(owner);
      this.#save(owner);
    },
    putSide: (owner, lists) => {
      this.#lifetimes.keep(owner);
      this.#ports.catalogs.putSide(owner.server, owner.generation, lists);
      // Instructions arrive with the tools; until then they cannot be pinned as absent.
      if (this.#extras.has(keyOf(owner))) this.#ports.onListed(owner);
      this.#save(owner);
    },
  };

  /** Loads the stored catalogs of servers that are new to this run. */
  async load(servers: readonly DesiredServer[]): Promise<void> {
    const { files, clock } = this.#ports;
    if (files === undefined) return;
    const storable = servers.filter((desired) => this.#mayBeStored(desired));
    const owners = storable
      .filter((desired) => !this.#looked.has(keyOf(ownerOf(desired))))
      .map((desired) => ({ ...ownerOf(desired), maxAgeMs: desired.policy.catalog.ttlMs }));
    // A server that left and comes back is loaded again, because its catalog was forgotten.
    this.#looked = new Set(storable.map((desired) => keyOf(ownerOf(desired))));
    if (owners.length === 0) return;
    const loaded = files.load(owners).then((entries) => {
      for (const entry of entries) this.#restore(entry);
    });
    await waitAtMost(clock, loadMs, loaded);
  }

  /** Servers came, left or changed: forgets the catalogs that are no longer needed. */
  prune(): void {
    this.#lifetimes.prune();
  }

  /** Resolves when all is stored, or a second later. Undefined when there is nothing to store. */
  close(): Promise<void> | undefined {
    const { files, clock } = this.#ports;
    this.#lifetimes.close();
    if (files === undefined) return undefined;
    return waitAtMost(clock, closeMs, files.close());
  }

  #restore({ server, generation, listedAt, catalog, era }: CatalogEntry): void {
    const { eras, clock, catalogs, onKnown } = this.#ports;
    if (era !== undefined) eras.restore(generation, era);
    const owner = { server, generation };
    if (isEmpty(catalog) || !this.#looked.has(keyOf(owner))) return;
    if (catalogs.restore(server, generation, catalog))
      this.#lifetimes.keep(owner, clock.wallNow() - listedAt);
    onKnown(owner);
  }

  #save(owner: SessionOwner): void {
    const { files, settings, catalogs, eras, clock } = this.#ports;
    const wanted = settings()?.servers.find(({ name }) => name === owner.server);
    const extra = this.#extras.get(keyOf(owner));
    // A partial list would hide tools at the next start; the earlier complete one is better.
    if (files === undefined || wanted === undefined || extra?.partial === true) return;
    if (wanted.generation !== owner.generation || !this.#mayBeStored(wanted)) return;
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

/** An empty stored catalog says nothing about the server. */
function isEmpty({ tools, resources, resourceTemplates, prompts }: Catalog): boolean {
  return [tools, resources, resourceTemplates, prompts].every((list) => list.length === 0);
}

function ownerOf({ name, generation }: DesiredServer): SessionOwner {
  return { server: name, generation };
}
