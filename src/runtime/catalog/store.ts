import type { SessionOwner } from '../../../actors/session/ports.ts';
import { type Catalog, emptyCatalog, type SideLists } from '../../domain/catalog.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalData } from '../../policies/equal-data.ts';

/**
 * What servers announced, by server and generation. Charts know only that a list exists and where
 * it comes from; the contents are here.
 */
export class CatalogStore {
  readonly #catalogs = new Map<string, Catalog>();
  readonly #onPut: (server: string) => void;

  constructor(onPut: (server: string) => void) {
    this.#onPut = onPut;
  }

  /** Replaces the tools and what came with them; the other lists stay. */
  put(server: string, generation: string, head: Omit<Catalog, keyof SideLists>): void {
    const { resources, resourceTemplates, prompts } = this.get(server, generation);
    this.#keep(server, generation, { ...head, resources, resourceTemplates, prompts });
    this.#onPut(server);
  }

  putSide(server: string, generation: string, lists: Partial<SideLists>): void {
    const before = this.get(server, generation);
    const { resources, resourceTemplates, prompts } = before;
    const present: SideLists = { resources, resourceTemplates, prompts };
    const after = { ...present, ...lists };
    // An equal list keeps its identity, by which others compare.
    if (equalData(present, after)) return;
    this.#keep(server, generation, {
      ...before,
      resources: equalData(resources, after.resources) ? resources : after.resources,
      resourceTemplates: equalData(resourceTemplates, after.resourceTemplates)
        ? resourceTemplates
        : after.resourceTemplates,
      prompts: equalData(prompts, after.prompts) ? prompts : after.prompts,
    });
    this.#onPut(server);
  }

  /** Adds an earlier run's catalog, unless this run has its own. Returns whether it did. */
  restore(server: string, generation: string, catalog: Catalog): boolean {
    if (this.#catalogs.has(keyOf({ server, generation }))) return false;
    this.#keep(server, generation, catalog);
    return true;
  }

  /** The empty catalog when nothing is known. */
  get(server: string, generation: string): Catalog {
    return this.#catalogs.get(keyOf({ server, generation })) ?? emptyCatalog;
  }

  forget(server: string, generation: string): void {
    this.#catalogs.delete(keyOf({ server, generation }));
  }

  #keep(server: string, generation: string, catalog: Catalog): void {
    // Callers get these objects themselves.
    this.#catalogs.set(keyOf({ server, generation }), deepFreeze(catalog));
  }
}

/** Servers may share a generation and still list different tools. */
export function keyOf({ server, generation }: SessionOwner): string {
  return `${generation}:${server}`;
}
