import type { Catalog, ExposedResource } from '../../domain/catalog.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { PinKind } from '../../domain/host/approval.ts';
import { pinKey } from '../../policies/approvals/records.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { compare } from '../../policies/text/compare.ts';
import { madeFrom } from '../../policies/tools/announced.ts';
import type { CatalogStore, CatalogsPorts } from './store.ts';

interface Offer {
  readonly server: string;
  readonly catalog: ExposedResource['catalog'];
  readonly known: Catalog;
}

const nameCharacters = 128;
// The most that is read of any description.
const descriptionCharacters = 16_384;
// As many as tools: more than any model or user reads.
const maxItems = 10_000;

/** What callers see of the servers besides their tools, built from all catalogs. */
export class OfferList {
  readonly #store: CatalogStore;
  readonly #ports: CatalogsPorts;
  #lists: ReturnType<typeof listsOf> | undefined;
  readonly #filtered = new WeakMap<
    Catalog,
    { readonly held: ReadonlySet<string>; readonly rest: Catalog }
  >();
  #announced: ReadonlyMap<string, Offer> = new Map();

  constructor(store: CatalogStore, ports: CatalogsPorts) {
    this.#store = store;
    this.#ports = ports;
  }

  /** Returns the sorted lists; they are the same objects until something may have changed. */
  lists(): ReturnType<typeof listsOf> {
    this.#lists ??= listsOf([...this.#offers().values()]);
    return this.#lists;
  }

  /** Marks the lists as outdated; they are rebuilt when they are next needed. */
  invalidate(): void {
    this.#lists = undefined;
  }

  /**
   * Removes withheld definitions. Returns the same object for the same input, because lists are
   * compared by identity.
   */
  #without(held: ReadonlySet<string>, catalog: Catalog): Catalog {
    if (held.size === 0) return catalog;
    const before = this.#filtered.get(catalog);
    if (before?.held === held) return before.rest;
    const rest = withoutHeld(catalog, held);
    this.#filtered.set(catalog, { held, rest });
    return rest;
  }

  /** Reports the servers whose lists differ from those at the last report. */
  announce(): void {
    const { listeners } = this.#ports;
    const [earlier, present] = [this.#announced, this.#offers()];
    this.#announced = present;
    for (const server of [...new Set([...earlier.keys(), ...present.keys()])].sort()) {
      const [before, after] = [earlier.get(server), present.get(server)];
      if (differ(before, after, 'resources') || differ(before, after, 'resourceTemplates'))
        listeners.emit('resources.changed', { server });
      if (differ(before, after, 'prompts')) listeners.emit('prompts.changed', { server });
    }
  }

  #offers(): ReadonlyMap<string, Offer> {
    const { board, book, approvals } = this.#ports;
    const offers = board()
      .offering()
      .map(({ status }): Offer => {
        const { name: server, generation, catalog } = status;
        const known = this.#without(
          approvals.heldOffers(book.known(server)),
          this.#store.get(server, generation),
        );
        return { server, catalog, known };
      });
    return new Map(offers.map((offer) => [offer.server, offer]));
  }
}

function withoutHeld(catalog: Catalog, held: ReadonlySet<string>): Catalog {
  const { instructions, ...rest } = catalog;
  const shown = <Item>(kind: PinKind, list: readonly Item[], name: (item: Item) => string) => {
    const free = list.filter((item) => !held.has(pinKey({ kind, tool: name(item) })));
    return free.length === list.length ? list : free;
  };
  const isSilent = held.has(pinKey({ kind: 'instructions', tool: '' }));
  return {
    ...rest,
    prompts: shown('prompt', catalog.prompts, ({ name }) => name),
    resources: shown('resource', catalog.resources, ({ uri }) => uri),
    resourceTemplates: shown(
      'resourceTemplate',
      catalog.resourceTemplates,
      ({ uriTemplate }) => uriTemplate,
    ),
    ...(instructions === undefined || isSilent ? {} : { instructions }),
  };
}

/** Compares lists by identity, because the store keeps an unchanged list. */
function differ(
  before: Offer | undefined,
  after: Offer | undefined,
  list: 'resources' | 'resourceTemplates' | 'prompts',
): boolean {
  const [earlier, present] = [before?.known[list] ?? [], after?.known[list] ?? []];
  if (earlier.length === 0 && present.length === 0) return false;
  return earlier !== present || before?.catalog !== after?.catalog;
}

function listsOf(offers: readonly Offer[]) {
  const sorted = offers.toSorted((a, b) => compare(a.server, b.server));
  const all = <Item extends object>(list: (known: Catalog) => readonly Item[], key: keyof Item) =>
    sorted
      .flatMap(({ server, catalog, known }) =>
        list(known)
          .toSorted((a, b) => compare(String(a[key]), String(b[key])))
          .map((item) => madeFrom({ ...item, ...printableWords(item), server, catalog }, item)),
      )
      .slice(0, maxItems);
  return deepFreeze({
    resources: all((known) => known.resources, 'uri'),
    resourceTemplates: all((known) => known.resourceTemplates, 'uriTemplate'),
    prompts: all((known) => known.prompts, 'name'),
    instructions: sorted.flatMap(({ server, catalog, known }) =>
      known.instructions === undefined ? [] : [{ server, catalog, text: known.instructions }],
    ),
  });
}

interface Words {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
}

/** Returns the texts that users and models see; a prompt's name is printable, or it is not listed. */
function printableWords({ name, title, description }: Words): object {
  return defined({
    name: name === undefined ? undefined : printableLine(name, nameCharacters),
    title: title === undefined ? undefined : printableLine(title, nameCharacters),
    description:
      description === undefined ? undefined : printableText(description, descriptionCharacters),
  });
}
