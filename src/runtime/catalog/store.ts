import type { SessionOwner, SessionPorts } from '../../../actors/session/ports.ts';
import { type Catalog, emptyCatalog, type SideLists, sideLists } from '../../domain/catalog.ts';
import type { EraVerdict } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalData } from '../../policies/equal-data.ts';
import type { SessionRegistry } from '../session-registry.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { HeldCount } from '../status/next-step.ts';

/** Nothing is known of the server. */
const unknownCatalog: Catalog = {
  ...emptyCatalog,
  unlisted: sideLists,
};

/** The other parts of a troupe that its catalogs use. */
export interface CatalogsPorts extends SharedPorts {
  readonly sessions: SessionRegistry;
  readonly approvals: {
    /** Called when a generation's tools, or another of its lists, were listed again. */
    noteListed(owner: SessionOwner): void;
    /** Returns a server's tools that are neither shown nor called. */
    heldTools(desired: DesiredServer): ReadonlySet<string>;
    /** Returns the number of the server's withheld definitions. */
    heldCount(desired: DesiredServer): HeldCount;
    /** Returns other withheld definitions, by `pinKey`. */
    heldOffers(desired: DesiredServer): ReadonlySet<string>;
  };
}

/**
 * The lists that servers announced, by server and generation. Charts hold only each list's state
 * and origin.
 */
export class CatalogStore {
  readonly #catalogs = new Map<string, Catalog>();
  readonly #onPut: (server: string) => void;

  constructor(onPut: (server: string) => void) {
    this.#onPut = onPut;
  }

  /** Replaces the tools and what arrived with them; the other lists stay. */
  put(server: string, generation: string, head: Omit<Catalog, keyof SideLists>): void {
    const { resources, resourceTemplates, prompts, unlisted } = this.get(server, generation);
    const side = { resources, resourceTemplates, prompts, ...(unlisted && { unlisted }) };
    this.#keep(server, generation, { ...head, ...side });
    this.#onPut(server);
  }

  putSide(server: string, generation: string, lists: Partial<SideLists>): void {
    const { unlisted = [], ...before } = this.get(server, generation);
    const { resources, resourceTemplates, prompts } = before;
    const present: SideLists = { resources, resourceTemplates, prompts };
    const after = { ...present, ...lists };
    const left = unlisted.filter((list) => !Object.hasOwn(lists, list));
    // An equal list keeps its identity, by which others compare.
    if (left.length === unlisted.length && equalData(present, after)) return;
    this.#keep(server, generation, {
      ...before,
      ...(left.length > 0 && { unlisted: left }),
      resources: equalData(resources, after.resources) ? resources : after.resources,
      resourceTemplates: equalData(resourceTemplates, after.resourceTemplates)
        ? resourceTemplates
        : after.resourceTemplates,
      prompts: equalData(prompts, after.prompts) ? prompts : after.prompts,
    });
    this.#onPut(server);
  }

  /** Adds an earlier run's catalog unless this run has its own. Returns whether it was added. */
  restore(server: string, generation: string, catalog: Catalog): boolean {
    if (this.#catalogs.has(keyOf({ server, generation }))) return false;
    this.#keep(server, generation, catalog);
    return true;
  }

  /** Returns an empty catalog for an unknown generation. */
  get(server: string, generation: string): Catalog {
    return this.#catalogs.get(keyOf({ server, generation })) ?? unknownCatalog;
  }

  forget(server: string, generation: string): void {
    this.#catalogs.delete(keyOf({ server, generation }));
  }

  #keep(server: string, generation: string, catalog: Catalog): void {
    // Callers get these very objects.
    this.#catalogs.set(keyOf({ server, generation }), deepFreeze(catalog));
  }
}

/**
 * Returns the key of an owner's catalog. Servers may share a generation and still list different
 * tools.
 */
export function keyOf({ server, generation }: SessionOwner): string {
  return `${generation}:${server}`;
}

type Eras = SessionPorts['eras'];

/** A protocol era and when it was found, as wall time in milliseconds. */
export interface DatedVerdict {
  readonly verdict: EraVerdict;
  readonly at: number;
}

// One day: an updated server still accepts the old handshake, so without an expiry it would never
// be probed again.
const longestUseMs = 86_400_000;
// More than the servers of a large host.
const rememberedVerdicts = 1_000;

/** The protocol era of servers, by generation. A known era saves the probe. */
export class EraStore implements Eras {
  readonly #verdicts = new Map<string, DatedVerdict>();
  readonly #wallNow: () => number;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  readonly get = (generation: string): EraVerdict | undefined => this.dated(generation)?.verdict;

  readonly set = (generation: string, verdict: EraVerdict): void => {
    this.#keep(generation, { verdict, at: this.#wallNow() });
  };

  readonly forget = (generation: string): void => {
    this.#verdicts.delete(generation);
  };

  /** Adds an era found by an earlier run, unless this run has its own. */
  restore(generation: string, dated: DatedVerdict): void {
    if (!this.#verdicts.has(generation)) this.#keep(generation, dated);
  }

  /** Returns the dated era; undefined if there is none or it has expired. */
  dated(generation: string): DatedVerdict | undefined {
    const known = this.#verdicts.get(generation);
    if (known === undefined) return undefined;
    const ageMs = this.#wallNow() - known.at;
    // A date in the future means that the clock was changed, so the age is unknown.
    return ageMs >= 0 && ageMs < longestUseMs ? known : undefined;
  }

  #keep(generation: string, dated: DatedVerdict): void {
    this.#verdicts.delete(generation);
    this.#verdicts.set(generation, dated);
    const [oldest] = this.#verdicts.keys();
    if (this.#verdicts.size > rememberedVerdicts && oldest !== undefined)
      this.#verdicts.delete(oldest);
  }
}
