/**
 * Fetches a session's complete list: page by page, bounded, and without letting a malformed item
 * affect the others.
 */

import { isRecord } from '../domain/data/is-record.ts';
import { printableLine } from '../domain/data/printable.ts';
import { type Client } from './mcp-client.ts';
import { methods } from './methods.ts';

const maxPages = 64;
const maxItems = 1_000;
// Twice the number of items: a list with more unusable entries than that is not read to its end.
const maxEntries = 2 * maxItems;
// A thousand schemas at their limit would take a quarter of a gigabyte; 64 KB each is still
// generous.
const maxListCharacters = 64 * 1024 * 1024;
// Cursors have a few dozen characters; all of them are kept to detect a loop.
const maxCursorCharacters = 65_536;
// The first few show what is wrong; the rest is similar.
const namedGaps = 5;

/** The item in its stored form. */
export interface ReadItem<Item> {
  readonly item: Item;
  /** The item's key; another item with the same key is dropped. */
  readonly key: string;
  /** The item's approximate size. */
  readonly characters: number;
  /** Fields omitted from the listed item because they are too large. */
  readonly leftOut?: readonly string[];
}

/** A kind of list, and how to read its items. */
export interface ListKind<Item> {
  readonly key: 'listTools' | 'listResources' | 'listTemplates' | 'listPrompts';
  readonly one: string;
  readonly many: string;
  /** Returns the item, or a short reason why it cannot be used. */
  readonly read: (value: unknown) => ReadItem<Item> | string;
}

export interface ItemList<Item> {
  readonly items: readonly Item[];
  /** Number of gaps in the list; zero if it is complete. */
  readonly gapCount: number;
  /** Describes the first gaps. */
  readonly gaps: readonly string[];
}

/**
 * Fetches all pages of one list. Rejects as soon as the signal is aborted.
 */
export async function listAll<Item>(
  client: Pick<Client, 'request'>,
  kind: ListKind<Item>,
  signal: AbortSignal,
): Promise<ItemList<Item>> {
  const list = new GrowingList(kind);
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client.request(kind.key, params, { signal });
    list.addPage(result);
    cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined;
    if (cursor === undefined || list.isFull) break;
    const end = endOf(cursor, seen, page);
    if (end !== undefined) {
      list.addGap(end);
      break;
    }
    seen.add(cursor);
  }
  return list.result();
}

/** Describes a list's gaps in one line. */
export function gapsInWords({ gapCount, gaps }: ItemList<unknown>): string {
  const more = gapCount > gaps.length ? [`and ${gapCount - gaps.length} more`] : [];
  return [...gaps, ...more].join('; ');
}

/** Returns why the page behind this cursor is not read. */
function endOf(cursor: string, seen: ReadonlySet<string>, page: number): string | undefined {
  if (cursor.length > maxCursorCharacters)
    return `a cursor has more than ${maxCursorCharacters} characters`;
  if (seen.has(cursor)) return 'the server repeats a page';
  return page === maxPages ? `only ${maxPages} pages are read` : undefined;
}

class GrowingList<Item> {
  readonly #kind: ListKind<Item>;
  readonly #items = new Map<string, Item>();
  readonly #gaps: string[] = [];
  #gapCount = 0;
  #entries = 0;
  /** Number of entries on all pages so far, read or not. */
  #offered = 0;
  #hasMore = false;
  #characters = 0;
  /** Whether a limit was reached, so the rest is ignored. */
  isFull = false;

  constructor(kind: ListKind<Item>) {
    this.#kind = kind;
  }

  result(): ItemList<Item> {
    return { items: [...this.#items.values()], gapCount: this.#gapCount, gaps: this.#gaps };
  }

  addGap(gap: string): void {
    this.#gapCount += 1;
    if (this.#gaps.length < namedGaps) this.#gaps.push(gap);
  }

  addPage(result: Record<string, unknown>): void {
    const listed = result[methods[this.#kind.key].items];
    if (!Array.isArray(listed)) {
      this.addGap(`a page without a list of ${this.#kind.many}`);
      return;
    }
    this.#offered += listed.length;
    // Some servers write a missing cursor as null.
    this.#hasMore = typeof result['nextCursor'] === 'string';
    for (const [index, candidate] of listed.entries()) {
      this.#add(candidate, index);
      if (this.isFull) return;
    }
    // The list reached its limit at the end of a page, so no further page is fetched.
    if (this.#items.size === maxItems && this.#hasMore) this.#endFull();
  }

  #add(candidate: unknown, index: number): void {
    this.#entries += 1;
    if (this.#items.size >= maxItems) return this.#endFull();
    if (this.#entries > maxEntries) return this.#end(`only ${maxEntries} entries are read`);
    const read = this.#kind.read(candidate);
    if (typeof read === 'string') {
      this.addGap(`${this.#nameOf(candidate, index)}: ${read}`);
      return;
    }
    const { item, key, characters, leftOut = [] } = read;
    if (this.#items.has(key)) {
      this.addGap(`${this.#nameOf(candidate, index)} is listed twice`);
      return;
    }
    if (this.#characters + characters > maxListCharacters)
      return this.#end(`only 64 MB of ${this.#kind.many} are kept`);
    for (const field of leftOut)
      this.addGap(
        `${this.#nameOf(candidate, index)} is listed without "${field}", which is too large`,
      );
    this.#characters += characters;
    this.#items.set(key, item);
  }

  #endFull(): void {
    const all = `${this.#hasMore ? 'more than ' : ''}${this.#offered}`;
    this.#end(`only ${maxItems} of ${all} ${this.#kind.many} are kept`);
  }

  #end(why: string): void {
    this.addGap(why);
    this.isFull = true;
  }

  #nameOf(candidate: unknown, index: number): string {
    const name = isRecord(candidate) ? candidate['name'] : undefined;
    const word = this.#kind.one;
    return typeof name === 'string' && name !== ''
      ? `${word} "${printableLine(name, 64)}"`
      : `${word} number ${index + 1}`;
  }
}
