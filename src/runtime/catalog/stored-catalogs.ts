import { withinTime } from '../../../actors/host/time-limit.ts';
import type { CatalogExtra, SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import type { CatalogFiles } from '../../../actors/stores/catalogs.ts';
import type { Catalog } from '../../domain/catalog.ts';
import { type Clock, longestTimerMs, startDeadline } from '../../domain/clock.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import { redact } from '../../policies/text/redact.ts';
import { redactedTools } from '../../policies/tools/schema-words.ts';
import type { CatalogEntry } from '../../policies/tools/stored-catalog.ts';
import { type CatalogStore, type CatalogsPorts, type EraStore, keyOf } from './store.ts';

// A tenth of a second: files are read in a few milliseconds, and a dead network
// folder must not keep servers from starting.
const loadMs = 100;
// Part of a stop that takes 5 s at most.
const closeMs = 1_000;

interface Kept {
  readonly owner: SessionOwner;
  /** When the server was last live, in monotonic milliseconds; null if it is live. */
  leftAt: number | null;
}

/**
 * Loads stored catalogs, saves new ones, and decides how long each is remembered.
 *
 * The catalog of a server that was removed from the settings, or has a new generation, is forgotten
 * immediately. Any other that is not live is forgotten after the policy's `catalog.ttlMs` or,
 * oldest first, when there are more than `catalog.maxEntries`. A live catalog is never forgotten.
 */
export class StoredCatalogs implements Pick<SessionPorts, 'catalogs'> {
  readonly #store: CatalogStore;
  readonly #eras: EraStore;
  readonly #ports: CatalogsPorts;
  readonly #clock: Clock;
  /** Catalogs on disk; undefined if nothing is stored beyond the run. */
  readonly #files: CatalogFiles | undefined;
  /** The servers of the last reading, which were already looked up on disk, found or not. */
  #looked: ReadonlySet<string> = new Set();
  /** Secrets of the sessions that listed, and whether their lists are complete. */
  readonly #extras = new Map<string, CatalogExtra>();
  /** The catalogs in memory. */
  readonly #kept = new Map<string, Kept>();
  #endPause = (): void => undefined;
  #isClosed = false;

  constructor(store: CatalogStore, eras: EraStore, ports: CatalogsPorts) {
    this.#store = store;
    this.#eras = eras;
    this.#ports = ports;
    this.#clock = ports.parts.clock;
    this.#files = ports.parts.keepCatalogs?.((list) => ports.problems.set('catalogs', list));
  }

  readonly catalogs: SessionPorts['catalogs'] = {
    put: (owner, tools, extra = {}) => {
      const { instructions, completions = false, secrets = [] } = extra;
      const shownTools = redactedTools(tools, secrets);
      this.#extras.set(keyOf(owner), extra);
      this.#keep(owner);
      this.#store.put(owner.server, owner.generation, {
        tools,
        completions,
        ...(shownTools === undefined ? {} : { shownTools }),
        ...(instructions === undefined ? {} : { instructions: redact(instructions, secrets) }),
      });
      // This includes a list with gaps: a server must not evade its pins by announcing a malformed
      // tool.
      this.#ports.approvals.noteListed(owner);
      this.#save(owner);
    },
    putSide: (owner, lists) => {
      this.#keep(owner);
      this.#store.putSide(owner.server, owner.generation, lists);
      // Instructions arrive with the tools; until then they cannot be pinned as absent.
      if (this.#extras.has(keyOf(owner))) this.#ports.approvals.noteListed(owner);
      this.#save(owner);
    },
  };

  /** Loads the stored catalogs of servers that are new to this run. */
  async load(servers: readonly DesiredServer[]): Promise<void> {
    const files = this.#files;
    if (files === undefined) return;
    const storable = servers.filter((desired) => this.#mayBeStored(desired));
    const owners = storable
      .filter((desired) => !this.#looked.has(keyOf(ownerOf(desired))))
      .map((desired) => ({ ...ownerOf(desired), maxAgeMs: desired.policy.catalog.ttlMs }));
    // A server that was removed and added again is reloaded, because its catalog was forgotten.
    this.#looked = new Set(storable.map((desired) => keyOf(ownerOf(desired))));
    if (owners.length === 0) return;
    const loaded = files.load(owners).then((entries) => {
      for (const entry of entries) this.#restore(entry);
    });
    await withinTime(this.#clock, loadMs, loaded);
  }

  /** Removes unused catalogs that have expired or exceed the limit; called when servers change. */
  prune(): void {
    if (this.#isClosed) return;
    const present = this.#ports.book.settings;
    const unused = [...this.#kept.values()].filter((kept) => this.#isUnused(kept));
    const left: { owner: SessionOwner; leftAt: number; leftMs: number }[] = [];
    for (const kept of unused) {
      const leftMs = this.#leftMs(kept, serverNamed(present, kept.owner.server));
      if (leftMs > 0) left.push({ ...kept, leftMs });
      else this.#forget(kept.owner);
    }
    const surplus = this.#kept.size - (present?.maxCatalogs ?? Number.POSITIVE_INFINITY);
    left.sort((a, b) => a.leftAt - b.leftAt);
    for (const { owner } of left.splice(0, Math.max(0, surplus))) this.#forget(owner);
    this.#endPause();
    const dueInMs = Math.min(...left.map(({ leftMs }) => leftMs));
    // Catalogs without a time limit are never due.
    if (dueInMs === Number.POSITIVE_INFINITY) return;
    const pauseMs = Math.min(dueInMs, longestTimerMs);
    this.#endPause = startDeadline(this.#clock, pauseMs, () => this.prune());
  }

  /**
   * Resolves once everything is stored, or a second later. Returns undefined if there is nothing to
   * store.
   */
  close(): Promise<void> | undefined {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#endPause();
      // When the run ends, every live server leaves.
      for (const { owner, leftAt } of this.#kept.values()) if (leftAt === null) this.#save(owner);
    }
    return this.#files && withinTime(this.#clock, closeMs, this.#files.close());
  }

  #restore({ server, generation, listedAt, catalog, era }: CatalogEntry): void {
    if (era !== undefined) this.#eras.restore(generation, era);
    const owner = { server, generation };
    if (isEmpty(catalog) || !this.#looked.has(keyOf(owner))) return;
    if (this.#store.restore(server, generation, catalog))
      this.#keep(owner, this.#clock.wallNow() - listedAt);
    this.#ports.root().send({ type: 'catalog.listed', ...owner });
  }

  #save(owner: SessionOwner): void {
    const { settings } = this.#ports.root().getSnapshot().context;
    const wanted = serverNamed(settings, owner.server);
    const extra = this.#extras.get(keyOf(owner));
    // A partial list would hide tools at the next start; the earlier complete one is better.
    if (wanted === undefined || extra?.partial === true) return;
    if (wanted.generation !== owner.generation || !this.#mayBeStored(wanted)) return;
    const { server, generation } = owner;
    const era = this.#eras.dated(generation);
    this.#files?.save(
      {
        server,
        generation,
        listedAt: this.#clock.wallNow(),
        catalog: this.#store.get(server, generation),
        ...(era === undefined ? {} : { era }),
      },
      extra?.secrets ?? [],
    );
  }

  /** @param ageMs - time since the server was last live with this catalog; absent if it is live */
  #keep(owner: SessionOwner, ageMs?: number): void {
    const leftAt = ageMs === undefined ? null : this.#clock.now() - ageMs;
    this.#kept.set(keyOf(owner), { owner, leftAt });
  }

  #isUnused(kept: Kept): kept is Kept & { readonly leftAt: number } {
    const status = this.#statusOf(kept.owner);
    if (status?.catalog === 'live') {
      kept.leftAt = null;
      return false;
    }
    // Dates the file again: its age counts from the end of the session that reported changes.
    if (kept.leftAt === null) this.#save(kept.owner);
    kept.leftAt ??= this.#clock.now();
    return true;
  }

  /** Returns the number of milliseconds until the catalog expires. */
  #leftMs({ owner, leftAt }: Kept & { readonly leftAt: number }, desired?: DesiredServer): number {
    if (desired?.generation === owner.generation) {
      const { ttlMs } = desired.policy.catalog;
      return ttlMs === null ? Number.POSITIVE_INFINITY : leftAt + ttlMs - this.#clock.now();
    }
    // A leaving server may still have running calls.
    const isNeeded = this.#statusOf(owner) !== undefined || this.#looked.has(keyOf(owner));
    return isNeeded ? Number.POSITIVE_INFINITY : 0;
  }

  #statusOf({ server, generation }: SessionOwner): ServerStatus | undefined {
    const status = this.#ports.board().view(server)?.status;
    return status?.generation === generation ? status : undefined;
  }

  #forget(owner: SessionOwner): void {
    this.#kept.delete(keyOf(owner));
    this.#store.forget(owner.server, owner.generation);
    this.#extras.delete(keyOf(owner));
    this.#ports.root().send({ type: 'catalog.forgotten', ...owner });
  }

  #mayBeStored({ policy }: DesiredServer): boolean {
    return policy.catalog.cache === 'disk';
  }
}

/** An empty stored catalog is treated like a missing one. */
function isEmpty({ tools, resources, resourceTemplates, prompts }: Catalog): boolean {
  return [tools, resources, resourceTemplates, prompts].every((list) => list.length === 0);
}

function ownerOf({ name, generation }: DesiredServer): SessionOwner {
  return { server: name, generation };
}
